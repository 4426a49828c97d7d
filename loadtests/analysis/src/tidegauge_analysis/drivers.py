"""Runs of the same trial with different drivers, in pairs: what the application adds, and what the method adds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tidegauge_analysis.archive import Run, analysed
from tidegauge_analysis.cells import by_levels, label_of, varying
from tidegauge_analysis.document import Combination, DriverDifference, Estimate, Number, Sentence
from tidegauge_analysis.effects import Interval, mean, paired_difference
from tidegauge_analysis.families import Scope
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.numbers import anchor, interval_in_words, missing, no_estimate
from tidegauge_analysis.summaries import Sample, sample_of

APPLICATION = (('app', 'raw'), ('k6', 'raw'), ('k6', 'app'))
"""What the application adds."""

METHODS = (('raw-connect', 'raw'), ('app-connect', 'app'), ('published', 'raw'), ('published', 'raw-connect'))
"""What a connection for each operation adds, and the rest of the method of a published study."""


@dataclass(frozen=True)
class _Pairs:
    runs: list[tuple[Run, Run]]
    first: Sample
    second: Sample


def driver_differences(scope: Scope, metrics: Sequence[Metric]) -> list[DriverDifference]:
    """Compare the drivers of each combination of the other factors."""
    levels = {name: of for name, of in varying(scope.archive.study).items() if name != 'driver'}
    found: list[DriverDifference] = []
    for cell in by_levels(analysed(scope.archive.runs), list(levels), levels):
        factors = {name: cell[0].factors[name] for name in levels if name in cell[0].factors}
        for first, second in (*APPLICATION, *METHODS):
            together = _pairs_of(cell, first, second)
            found.extend(
                _difference(scope, metric, factors, (first, second), together)
                for metric in metrics
                if _is_measured(scope, metric, together)
            )
    return found


def _is_measured(scope: Scope, metric: Metric, together: Sequence[tuple[Run, Run]]) -> bool:
    """Whether any run has the metric: a workload does not have all operations."""
    return any(scope.measured.value(run, metric.name).value is not None for pair in together for run in pair)


def _pairs_of(runs: Sequence[Run], first: str, second: str) -> list[tuple[Run, Run]]:
    by_trial = {(run.series, run.trial, run.driver): run for run in runs}
    found = []
    for (series, trial, driver), run in by_trial.items():
        other = by_trial.get((series, trial, second))
        if driver == first and other is not None:
            found.append((run, other))
    return sorted(found, key=lambda pair: (int(pair[0].document['block']), pair[0].series, pair[0].trial))


def _difference(
    scope: Scope, metric: Metric, factors: Combination, drivers: tuple[str, str], together: list[tuple[Run, Run]]
) -> DriverDifference:
    ledger, confidence = scope.ledger, 0.95
    numbers = [
        (scope.measured.value(one, metric.name), scope.measured.value(two, metric.name)) for one, two in together
    ]
    kept = [
        (runs, pair)
        for runs, pair in zip(together, numbers, strict=True)
        if pair[0].value is not None and pair[1].value is not None
    ]
    pairs = _Pairs(
        [runs for runs, _ in kept],
        sample_of([pair[0] for _, pair in kept], metric.unit, ledger),
        sample_of([pair[1] for _, pair in kept], metric.unit, ledger),
    )
    differences = [
        ledger.add(one.value - two.value, metric.unit, 'difference', first=one.id, second=two.id)
        for one, two in zip(pairs.first.numbers, pairs.second.numbers, strict=True)
        if one.value is not None and two.value is not None
    ]
    sample = sample_of(differences, metric.unit, ledger)
    label = label_of(factors, factors) or 'all runs'
    difference = _mean_difference(pairs, sample, metric, numbers)
    found = DriverDifference(
        id=anchor('driver', metric.name.replace('.', ' '), label, *drivers),
        metric=metric.name,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        label=label,
        factors=factors,
        first=drivers[0],
        second=drivers[1],
        n=len(kept),
        first_mean=pairs.first.mean(),
        second_mean=pairs.second.mean(),
        difference=difference,
        ratio=_ratio(pairs, scope, confidence),
        p=_p(sample),
        over_deployments=_over_deployments(pairs, sample),
        pairs=differences,
        sentence=Sentence(''),
    )
    return DriverDifference(**{**found.__dict__, 'sentence': _sentence(found)})


def _mean_difference(
    pairs: _Pairs, sample: Sample, metric: Metric, numbers: Sequence[tuple[Number, Number]]
) -> Estimate:
    if not sample.numbers:
        reasons = [number.reason for pair in numbers for number in pair if number.reason]
        return no_estimate(metric.unit, reasons[0] if reasons else 'there are no pairs of runs')
    if len(sample.numbers) > 1:
        # The same as `sample.mean`, from the observations: it checks that they belong together.
        paired_difference(pairs.first.values, pairs.second.values)
    return sample.mean()


def _ratio(pairs: _Pairs, scope: Scope, confidence: float) -> Estimate:
    """Geometric mean of the paired ratios: the exponential of the mean of logarithms, with Student's interval."""
    x, y = pairs.first.values, pairs.second.values
    if not x or min(x) <= 0 or min(y) <= 0:
        return no_estimate('', 'there is no pair of positive values')
    logs = np.log(np.array(x) / np.array(y))
    found = mean(logs, confidence) if len(x) > 1 else Interval(float(logs[0]), -math.inf, math.inf)
    interval = Interval(
        math.exp(found.value),
        math.exp(found.low) if math.isfinite(found.low) else -math.inf,
        math.exp(found.high) if math.isfinite(found.high) else math.inf,
    )
    return scope.ledger.estimate(
        interval,
        '',
        'geometric_ratio',
        confidence,
        'a single pair has no interval',
        first=pairs.first.name,
        second=pairs.second.name,
    )


def _p(sample: Sample) -> Number:
    values = np.array(sample.values)
    if len(values) < 2:
        return missing('', 'fewer than two pairs')
    if np.ptp(values) == 0:
        return missing('', 'the differences do not vary')
    return sample.ledger.add(float(stats.ttest_1samp(values, 0).pvalue), '', 'mean_p', of=sample.name)


def _over_deployments(pairs: _Pairs, sample: Sample) -> Estimate:
    deployments: dict[str, list[Number]] = {}
    for (run, _), number in zip(pairs.runs, sample.numbers, strict=True):
        deployments.setdefault(str(run.document['deployment']), []).append(number)
    if len(deployments) < 2:
        return no_estimate(sample.unit, 'there is a single deployment of this combination')
    means = [sample_of(of, sample.unit, sample.ledger).mean().value for of in deployments.values()]
    return sample_of(means, sample.unit, sample.ledger).mean()


def _sentence(found: DriverDifference) -> Sentence:
    start = f'{found.label}, {found.first} against {found.second}'
    value, low, high = found.difference.value, found.difference.low, found.difference.high
    if value.id is None:
        return Sentence(f'{start}: no result, because {value.reason}.')
    ratio = f', or {{{found.ratio.value.id}}} times' if found.ratio.value.id else ''
    if low.id is None:
        return Sentence(f'{start}: a difference of {{{value.id}}}{ratio}, without an interval, because {low.reason}.')
    shown = 'not shown to differ from zero' if _includes_zero(low, high) else 'shown to differ from zero'
    return Sentence(
        f'{start}: a difference of {interval_in_words(value, low, high)}{ratio}, {shown} by {found.n} pairs of runs.'
    )


def _includes_zero(low: Number, high: Number) -> bool:
    return (low.value or 0.0) <= 0 <= (high.value or 0.0)
