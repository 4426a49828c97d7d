"""Latency over throughput, and the load at which a store is overloaded."""

from collections.abc import Sequence

from tidegauge_analysis.archive import Run
from tidegauge_analysis.cells import by_levels, label_of, varying
from tidegauge_analysis.document import Curve, CurvePoint, Estimate, Sentence
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.numbers import anchor, estimate_in_words, missing
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.summaries import sample_of

REACHED = 0.98
"""Smallest share of a target rate that counts as reached, where the experiment file has none."""


def curves(scope: Scope, metrics: Sequence[Metric]) -> list[Curve]:
    """Draw each latency metric over the achieved throughput, where the target rate or the number of threads varies."""
    found: list[Curve] = []
    for part in scope.parts():
        levels = varying(part.study)
        for by in ('target', 'threads'):
            if by not in levels:
                continue
            rest = [name for name in levels if name != by]
            for runs in by_levels(part.analysed(), rest, levels):
                found.extend(_curve(part, metric, by, rest, runs) for metric in metrics if metric.is_latency)
    return found


def _curve(scope: Scope, metric: Metric, by: str, rest: list[str], runs: list[Run]) -> Curve:
    factors = {name: runs[0].factors[name] for name in rest if name in runs[0].factors}
    label, name = label_of(factors, factors) or 'all runs', scope.part_name
    loads: dict[float, list[Run]] = {}
    for run in runs:
        loads.setdefault(float(run.factors[by]), []).append(run)
    # A target of 0 is no target: as fast as possible, beyond all targets.
    order = sorted(loads, key=lambda load: (by == 'target' and load == 0, load))
    points = [_point(scope, metric, load, by, loads[load]) for load in order]
    overload, text = _overload(points, by, _limit(scope), float(scope.analyse['margin']))
    return Curve(
        id=anchor('curve', *([name] if name else []), by, metric.name.replace('.', ' '), label),
        label=label,
        factors=factors,
        by=by,
        latency_metric=metric.name,
        unit=metric.unit,
        points=points,
        overload=overload,
        sentence=Sentence(f'{metric.title}, {label}: {text}'),
        part=name,
    )


def _limit(scope: Scope) -> float:
    limit = scope.archive.study['valid'].get('target')
    return REACHED if limit is None else float(limit)


def _point(scope: Scope, metric: Metric, load: float, by: str, runs: list[Run]) -> CurvePoint:
    def of(name: str, unit: str) -> Estimate:
        return sample_of([scope.measured.value(run, name) for run in runs], unit, scope.ledger).mean()

    target = missing('ops/s', 'there is no target rate: operations follow each other as fast as possible')
    rate = runs[0].factors.get('target', 0)
    if by == 'target' and load > 0:
        target = scope.ledger.add(
            float(rate), 'ops/s', 'field', file=f'runs/{runs[0].name}.json', path=['factors', 'target']
        )
    return CurvePoint(load, target, of('throughput', 'ops/s'), of(metric.name, metric.unit))


def _overload(points: Sequence[CurvePoint], by: str, limit: float, margin: float) -> tuple[int | None, str]:
    """Find the first overloaded point: the target is missed, or more threads raise latency and not throughput."""
    best = 0.0
    for index, point in enumerate(points):
        achieved, latency = point.achieved.value, point.latency.value
        if achieved.value is None:
            continue
        if by == 'target' and point.load > 0 and achieved.value < limit * point.load:
            return index, (
                f'overloaded from a target of {point.load:g} operations per second, of which '
                f'{estimate_in_words(point.achieved)} were achieved, less than {limit * 100:g} %.'
            )
        before = points[index - 1].latency.value.value if index else None
        rises = before is not None and latency.value is not None and latency.value > before * (1 + margin)
        if by == 'threads' and index and achieved.value < best * (1 + margin) and rises:
            return index, (
                f'overloaded from {point.load:g} threads: throughput is {estimate_in_words(point.achieved)}, no more '
                f'than {margin * 100:g} % above that of fewer threads, and latency rises to '
                f'{estimate_in_words(point.latency)}.'
            )
        best = max(best, achieved.value)
    what = 'the target was reached at each rate' if by == 'target' else 'more threads gave more throughput throughout'
    return None, f'no overload in the measured range: {what}.'
