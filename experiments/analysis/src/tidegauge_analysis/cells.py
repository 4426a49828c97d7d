"""Measures every run, and the latencies of runs with the same levels of all factors."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidegauge_analysis.archive import OPERATIONS, Archive, Json, Operations, Run, Status, analysed
from tidegauge_analysis.document import Combination, Estimate, Histogram, Latencies, Level, Number, Quantile, Timeline
from tidegauge_analysis.effects import Interval
from tidegauge_analysis.metrics import Metric, measure
from tidegauge_analysis.numbers import Ledger, anchor
from tidegauge_analysis.quantiles import quantile
from tidegauge_analysis.series import effective_size

QUANTILES = {0.5: 'p50', 0.9: 'p90', 0.95: 'p95', 0.99: 'p99', 0.999: 'p99.9'}

BINS_PER_DECADE = 20
MOST_SECONDS = 300
"""A timeline has at most this many bins: seconds, or longer ones for long runs."""

MEASURED = frozenset({Status.ANALYSED, Status.WARM_UP, Status.INVALID})


@dataclass(frozen=True)
class Cell:
    """Levels of all factors that vary, and the runs with them."""

    factors: Combination
    label: str
    runs: tuple[Run, ...]
    """Analysed runs, invalid ones without a valid repetition, and the warm-up."""


@dataclass(frozen=True)
class Measured:
    """Metrics of every run that can be in a figure, and latencies of every cell."""

    values: dict[tuple[str, str], Number]
    """By run and metric."""
    latencies: list[Latencies]
    succeeded: dict[str, dict[str, int]]
    """Successful operations of each run, by their type."""
    disagreements: list[str]
    """Runs whose document disagrees with its operations, in words."""

    def value(self, run: Run, metric: str) -> Number:
        """The metric of a run."""
        return self.values[run.name, metric]


def varying(study: Json) -> dict[str, list[Level]]:
    """Factors with several levels, in the order of the experiment file."""
    every = {**study['hard'], **study['easy']}
    return {name: list(levels) for name, levels in every.items() if len(levels) > 1}


def label_of(factors: Combination, names: Iterable[str]) -> str:
    """Describe a combination of levels: words as they are, numbers with the name of their factor."""
    parts = []
    for name in names:
        level = factors.get(name)
        bare = isinstance(level, str) and name in {'store', 'driver'}
        parts.append(str(level) if bare else f'{name} {_spelled(level)}')
    return ', '.join(parts)


def _spelled(level: Level | None) -> str:
    if isinstance(level, bool):
        return 'yes' if level else 'no'
    return str(level)


def by_levels(runs: Iterable[Run], names: Sequence[str], levels: dict[str, list[Level]]) -> list[list[Run]]:
    """Group runs by their levels of these factors, in the order of the experiment file."""
    groups: dict[tuple[Level, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(tuple(run.factors.get(name, '') for name in names), []).append(run)

    def place(key: tuple[Level, ...]) -> tuple[int, ...]:
        known = [levels.get(name, []) for name in names]
        return tuple(
            order.index(level) if level in order else len(order) for order, level in zip(known, key, strict=True)
        )

    return [groups[key] for key in sorted(groups, key=place)]


def cells_of(archive: Archive) -> list[Cell]:
    """Group the runs by the levels of all factors that vary."""
    levels = varying(archive.study)
    names = list(levels)
    found = []
    for runs in by_levels([run for run in archive.runs if run.status in MEASURED], names, levels):
        factors = {name: runs[0].factors[name] for name in names if name in runs[0].factors}
        found.append(Cell(factors, label_of(factors, factors) or 'all runs', tuple(runs)))
    return found


def measure_all(archive: Archive, metrics: Sequence[Metric], ledger: Ledger) -> Measured:
    """Read the operations of each run once, one cell at a time.

    :raises ArchiveError: a file of operations is missing or damaged
    """
    measured = Measured({}, [], {}, [])
    for cell in cells_of(archive):
        read: dict[str, Operations] = {}
        for run in cell.runs:
            operations = archive.operations(run)
            for metric in metrics:
                measured.values[run.name, metric.name] = measure(metric, run, operations, ledger)
            measured.succeeded[run.name] = {name: int(operations.rows(name, parts=False).sum()) for name in OPERATIONS}
            measured.disagreements.extend(_disagreements(run, operations))
            if run.status is Status.ANALYSED:
                read[run.name] = operations
        kept = analysed(cell.runs)
        if kept:
            measured.latencies.extend(_latencies(cell, kept, [read[run.name] for run in kept], ledger))
    return measured


def _disagreements(run: Run, operations: Operations) -> list[str]:
    done = int(operations.rows().sum())
    found = []
    if done != run.document['done']:
        found.append(
            f'Run {run.name}: its document has {run.document["done"]} successful operations, and its file has {done}'
        )
    seconds = float(run.document['seconds'])
    if abs(operations.seconds - seconds) > max(0.05, 0.02 * seconds):
        found.append(
            f'Run {run.name}: its document has a duration of {seconds:.3f} s, and its operations last '
            f'{operations.seconds:.3f} s. Throughput is computed from the operations.'
        )
    return found


def _latencies(cell: Cell, runs: list[Run], read: list[Operations], ledger: Ledger) -> list[Latencies]:
    found = []
    names = ledger.set([run.name for run in runs])
    for operation in OPERATIONS:
        marked = [(each, each.rows(operation)) for each in read]
        values = np.concatenate([each.latency[rows] for each, rows in marked]) / 1000
        if len(values) == 0:
            continue
        ordered = np.sort(values)
        size = max(1.0, min(float(len(values)), effective_size(values))) if len(values) > 1 else 1.0
        inputs = {'runs': names, 'operation': operation}
        effective = ledger.add(size, 'operations', 'latency_effective_size', **inputs) if len(values) > 1 else None
        found.append(
            Latencies(
                id=anchor('latency', cell.label, operation),
                label=cell.label,
                factors=cell.factors,
                operation=operation,
                runs=[run.name for run in runs],
                operations=ledger.add(len(values), 'operations', 'operations', ok=True, **inputs),
                failed=ledger.add(
                    sum(int(each.rows(operation, succeeded=False).sum()) for each in read),
                    'operations',
                    'operations',
                    ok=False,
                    **inputs,
                ),
                mean=ledger.add(float(values.mean()), 'ms', 'latency_mean', **inputs),
                minimum=ledger.add(float(ordered[0]), 'ms', 'latency_minimum', **inputs),
                maximum=ledger.add(float(ordered[-1]), 'ms', 'latency_maximum', **inputs),
                quantiles=[_quantile(at, ordered, size, effective, inputs, ledger) for at in QUANTILES],
                histogram=_histogram(ordered, inputs, ledger),
                timeline=_timeline(marked, inputs, ledger),
            )
        )
    return found


def _quantile(  # noqa: PLR0913, PLR0917
    at: float, ordered: NDArray[np.float64], size: float, effective: Number | None, inputs: Json, ledger: Ledger
) -> Quantile:
    found = quantile([ordered], at, size=size) if effective else Interval(float(ordered[0]), -math.inf, math.inf)
    few = f'too few operations lie beyond the {QUANTILES[at]}'
    name = None if effective is None else effective.id
    value = ledger.add(found.value, 'ms', 'latency_quantile', at=at, **inputs)
    bounds = [
        ledger.add(bound, 'ms', f'latency_quantile_{which}', few, at=at, confidence=0.95, size=name, **inputs)
        for which, bound in (('low', found.low), ('high', found.high))
    ]
    return Quantile(at, QUANTILES[at], Estimate(value, bounds[0], bounds[1], 0.95))


def _histogram(ordered: NDArray[np.float64], inputs: Json, ledger: Ledger) -> Histogram:
    # Latencies are whole microseconds; zero would have no place on a logarithmic axis.
    low = math.floor(math.log10(max(float(ordered[0]), 0.001)) * BINS_PER_DECADE)
    high = math.floor(math.log10(max(float(ordered[-1]), 0.001)) * BINS_PER_DECADE) + 1
    edges = [10 ** (step / BINS_PER_DECADE) for step in range(low, high + 1)]
    edges[0] = min(edges[0], float(ordered[0]))
    edges[-1] = max(edges[-1], float(np.nextafter(ordered[-1], math.inf)))
    counts = np.bincount(np.searchsorted(edges, ordered, side='right') - 1, minlength=len(edges) - 1)
    return Histogram(edges, ledger.add_list(counts.tolist(), 'operations', 'histogram', edges=edges, **inputs))


def _timeline(marked: list[tuple[Operations, NDArray[np.bool_]]], inputs: Json, ledger: Ledger) -> Timeline:
    longest = max(each.seconds for each, _ in marked)
    width = float(max(1, math.ceil(longest / MOST_SECONDS)))
    bins = max(1, math.ceil(longest / width))
    starts = np.concatenate([each.start[rows] for each, rows in marked])
    values = np.concatenate([each.latency[rows] for each, rows in marked]) / 1000
    index = (starts / (width * 1e6)).astype(np.int64)
    inside = (starts >= 0) & (index < bins)
    index, values = index[inside], values[inside]
    counts = np.bincount(index, minlength=bins)
    sums = np.bincount(index, weights=values, minlength=bins)
    lasting = [sum(each.seconds >= (number + 1) * width for each, _ in marked) for number in range(bins)]
    order = np.lexsort((values, index))
    ends = np.cumsum(counts)
    high = [
        float(values[order[int(end) - int(count) + math.ceil(int(count) * 0.99) - 1]]) if count else None
        for end, count in zip(ends, counts, strict=True)
    ]

    given = {'width': width, 'bins': bins, **inputs}
    throughput = [int(count) / width / n if n else None for count, n in zip(counts, lasting, strict=True)]
    means = [float(total) / int(count) if count else None for total, count in zip(sums, counts, strict=True)]
    return Timeline(
        width,
        [number * width for number in range(bins)],
        ledger.add_list(throughput, 'ops/s', 'timeline', what='throughput', **given),
        ledger.add_list(means, 'ms', 'timeline', what='mean', **given),
        ledger.add_list(high, 'ms', 'timeline', what='p99', **given),
    )
