"""Runs of the same trial with different drivers: what the application adds, and what the method adds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidegauge_analysis.archive import Run, analysed
from tidegauge_analysis.cells import by_levels, label_of, varying
from tidegauge_analysis.contrasts import FEWEST_UNITS
from tidegauge_analysis.document import Combination, DriverDifference, Estimate, Number, Sentence
from tidegauge_analysis.effects import Interval, mean
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.numbers import anchor, estimate_in_words, missing
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.units import Comparison, Observation, compare, mean_of, with_priors

APPLICATION = (('app', 'raw'), ('k6', 'raw'), ('k6', 'app'))
"""What the application adds."""

METHODS = (
    ('raw-again', 'raw'),
    ('raw-connect', 'raw'), ('app-connect', 'app'), ('published', 'raw'), ('published', 'raw-connect'),
)  # fmt: skip
"""What taking turns adds, what a connection for each operation adds, and the rest of a published study's method."""


@dataclass(frozen=True)
class _Cell:
    """Observations with the same levels of all factors but the driver."""

    factors: Combination
    first: list[Observation]
    second: list[Observation]


def driver_differences(scope: Scope, metrics: Sequence[Metric]) -> list[DriverDifference]:
    """Compare the drivers of each combination of the other factors, in the order of the combinations."""
    levels = {name: of for name, of in varying(scope.archive.study).items() if name != 'driver'}
    cells = by_levels(analysed(scope.archive.runs), list(levels), levels)
    found: list[tuple[int, DriverDifference]] = []
    for drivers in (*APPLICATION, *METHODS):
        for metric in metrics:
            there = [(place, _cell(scope, metric, cell, list(levels), drivers)) for place, cell in enumerate(cells)]
            there = [(place, cell) for place, cell in there if cell.first and cell.second]
            compared = with_priors(scope.ledger, [compare(cell.first, cell.second) for _, cell in there])
            found += [
                (place, _difference(scope, metric, drivers, cell, one))
                for (place, cell), one in zip(there, compared, strict=True)
            ]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _cell(scope: Scope, metric: Metric, runs: Sequence[Run], names: Sequence[str], drivers: tuple[str, str]) -> _Cell:
    factors = {name: runs[0].factors[name] for name in names if name in runs[0].factors}
    first, second = (
        scope.observations([run for run in runs if run.driver == driver], metric.name) for driver in drivers
    )
    return _Cell(factors, first, second)


def _difference(
    scope: Scope, metric: Metric, drivers: tuple[str, str], cell: _Cell, one: Comparison
) -> DriverDifference:
    ledger = scope.ledger
    label = label_of(cell.factors, cell.factors) or 'all runs'
    p = missing('', one.reason)
    if one.contrast is not None:
        p = ledger.add(one.contrast.p, '', 'ratio_p', **one.inputs(ledger))
    found = DriverDifference(
        id=anchor('driver', metric.name.replace('.', ' '), label, *drivers),
        metric=metric.name,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        label=label,
        factors=cell.factors,
        first=drivers[0],
        second=drivers[1],
        n=len(one.first),
        kind=one.kind,
        first_mean=mean_of(cell.first, metric.unit, ledger),
        second_mean=mean_of(cell.second, metric.unit, ledger),
        difference=_of_operations(scope, metric, one) or one.difference(metric.unit, ledger),
        ratio=one.ratio(ledger),
        p=p,
        sentence=Sentence(''),
    )
    return replace(found, sentence=_sentence(found))


def _of_operations(scope: Scope, metric: Metric, one: Comparison) -> Estimate | None:
    """The median of the differences of operations that took turns one by one; None for other metrics and plans."""
    is_median = metric.statistic in {'median', 'p50'}
    if not is_median or not one.in_turns or scope.archive.study['repeat'].get('pairing') != 'operation':
        return None
    units = [
        [_paired_median(scope, metric, x, y) for x, y in zip(first, second, strict=True)]
        for first, second in zip(one.first, one.second, strict=True)
        if len(first) == len(second)
    ]
    values = [[number.value for number in unit if number.value is not None] for unit in units]
    if not values or any(len(inside) < len(unit) for inside, unit in zip(values, units, strict=True)):
        return None
    means = [float(np.mean(inside)) for inside in values]
    found = Interval(float(np.mean(means)), -math.inf, math.inf)
    if len(means) >= FEWEST_UNITS:
        found = mean(means)
    of = [scope.ledger.set([number.id for number in unit]) for unit in units]
    return scope.ledger.estimate(found, metric.unit, 'mean_of_units', 0.95, one.reason, of=of)


def _paired_median(scope: Scope, metric: Metric, first: Observation, second: Observation) -> Number:
    """The median difference of two operations of the same turn, in ms."""
    by_turn = []
    for one in (first, second):
        if one.run is None:
            return missing(metric.unit, 'it is no run')
        operations = scope.archive.operations(one.run)
        rows = operations.rows(metric.operation, parts=False)
        by_turn.append(dict(zip(operations.turn[rows].tolist(), operations.latency[rows].tolist(), strict=True)))
    differences = [(latency - by_turn[1][turn]) / 1000 for turn, latency in by_turn[0].items() if turn in by_turn[1]]
    names = [one.run.name for one in (first, second) if one.run is not None]
    return scope.ledger.add(
        float(np.median(differences)) if differences else None, metric.unit, 'paired_median',
        'no two operations of a turn succeeded', first=names[0], second=names[1], operation=metric.operation,
    )  # fmt: skip


def _sentence(found: DriverDifference) -> Sentence:
    start = f'{found.label}, {found.first} against {found.second}'
    value, low, high = found.difference.value, found.difference.low, found.difference.high
    if value.id is None:
        return Sentence(f'{start}: no result, because {value.reason}.')
    times = estimate_in_words(found.ratio)
    ratio = f', or {times} times' if found.ratio.value.id else ''
    if low.id is None:
        return Sentence(f'{start}: a difference of {{{value.id}}}{ratio}, without an interval, because {low.reason}.')
    shown = 'not shown to differ from zero' if _includes_zero(low, high) else 'shown to differ from zero'
    units = f'{found.n} {found.kind}s'
    return Sentence(f'{start}: a difference of {estimate_in_words(found.difference)}{ratio}, {shown} by {units}.')


def _includes_zero(low: Number, high: Number) -> bool:
    return (low.value or 0.0) <= 0 <= (high.value or 0.0)
