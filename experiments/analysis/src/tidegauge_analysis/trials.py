"""Series of trials in order: warm-up, shape and dependence."""

from collections.abc import Sequence

import numpy as np

from tidegauge_analysis.archive import Run, Series, Status
from tidegauge_analysis.cells import label_of, varying
from tidegauge_analysis.document import Number, Trial, TrialSeries
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.numbers import anchor, missing
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.series import classify, mser
from tidegauge_analysis.summaries import Sample, sample_of


def trial_series(scope: Scope, metrics: Sequence[Metric]) -> list[TrialSeries]:
    """Describe the trials of every series and driver."""
    wanted = {Status.ANALYSED, Status.WARM_UP, Status.INVALID}
    found: list[TrialSeries] = []
    for series in scope.archive.series:
        for driver in series.drivers:
            runs = sorted(
                (
                    run
                    for run in scope.archive.runs
                    if run.series == series.id and run.driver == driver and run.status in wanted
                ),
                key=lambda run: run.trial,
            )
            if runs:
                found.extend(_series(scope, metric, series, driver, runs) for metric in metrics)
    return found


def _series(scope: Scope, metric: Metric, series: Series, driver: str, runs: list[Run]) -> TrialSeries:
    numbers = [scope.measured.value(run, metric.name) for run in runs]
    whole = sample_of(numbers, metric.unit, scope.ledger)
    kept = [number for run, number in zip(runs, numbers, strict=True) if run.status is Status.ANALYSED]
    steady = sample_of(kept, metric.unit, scope.ledger)
    factors = {**series.factors, 'driver': driver}
    names = [name for name in varying(scope.archive.study) if name in factors]
    shape, why = _shape(whole, metric)
    return TrialSeries(
        id=anchor('series', series.id, driver, metric.name.replace('.', ' ')),
        series=series.id,
        deployment=series.deployment,
        block=series.block,
        metric=metric.name,
        unit=metric.unit,
        driver=driver,
        label=label_of(factors, names) or series.id,
        factors={name: factors[name] for name in names},
        trials=[
            Trial(run.name, run.trial, number, run.status is Status.WARM_UP, run.valid)
            for run, number in zip(runs, numbers, strict=True)
        ],
        fixed_warmup=series.warmup,
        mser_warmup=_mser(whole),
        shape=shape,
        shape_reason=why,
        lag_one=steady.lag_one(),
        effective_size=steady.effective_size(),
    )


def _mser(sample: Sample) -> Number:
    batch = 1 if len(sample.numbers) < 80 else 5
    if len(sample.numbers) < 2 * batch or np.ptp(sample.values) == 0:
        return missing('trials', 'the trials are too few, or do not vary')
    cut = mser(sample.values, batch)
    return sample.ledger.add(
        cut, 'trials', 'mser', 'the series has no steady state to cut to', of=sample.name, batch=batch
    )


def _shape(sample: Sample, metric: Metric) -> tuple[str | None, str]:
    """Classify the whole series, with its warm-up, and explain the class."""
    try:
        found = classify(sample.values, higher_is_better=metric.higher_is_better)
    except ValueError as error:
        return None, str(error)
    explained = {
        'flat': 'no change beyond 5 % and no trend',
        'warming': f'the first {found.warm_up} trials are worse than the rest by {abs(found.change):.1%}',
        'slowing': f'the first {found.warm_up} trials are better than the rest by {abs(found.change):.1%}',
        'oscillating': f'neighbours alternate: their autocorrelation is {found.lag_one:.2f}',
        'no steady state': f'the trials keep changing, by {found.change:+.1%} over the series',
    }
    return str(found.shape), explained[str(found.shape)]
