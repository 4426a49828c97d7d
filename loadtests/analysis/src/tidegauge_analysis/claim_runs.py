"""The runs that the check of a claim uses, by condition and group."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegauge_analysis.archive import Json, Run, analysed
from tidegauge_analysis.cells import varying
from tidegauge_analysis.document import Combination, Level, Number
from tidegauge_analysis.families import RunGroup, Scope, block_length, in_blocks
from tidegauge_analysis.metrics import parse_metric
from tidegauge_analysis.summaries import Sample, sample_of

LOAD = 'load'
"""The metric of a claim that is the time of a load."""

NOT_OF_LOADS = ('workload', 'threads', 'target', 'operations', 'consistency', 'distribution', 'fault')
"""Factors that a load does not depend on: they are no conditions for its time."""

FEWEST_DEPLOYMENTS = 3
"""With as many deployments of each group, deployments are the observations when hard factors are compared."""

_SIZE = re.compile(r'(\d+(?:\.\d+)?)(KiB|MiB|GiB)?')
_BYTES = {'KiB': 2.0**10, 'MiB': 2.0**20, 'GiB': 2.0**30}


@dataclass(frozen=True)
class Observation:
    """A run, or the load of a table, with the value of a metric."""

    factors: Combination
    deployment: str
    number: Number
    run: Run | None


@dataclass(frozen=True)
class Condition:
    """Observations with the same levels of all factors that a check does not compare."""

    factors: Combination
    """Those that vary in the study."""
    observations: tuple[Observation, ...]


def unit_of(metric: str) -> str:
    """Unit of the metric of a claim."""
    return 's' if metric == LOAD else parse_metric(metric).unit


def observations_of(scope: Scope, check: Json) -> list[Observation]:
    """Observations with the levels that a check names with `for`."""
    every = all_observations(scope, check['metric'], {*check['where'], *compared_by(check)})
    return [
        one for one in every if all(_is_in(one.factors.get(name), levels) for name, levels in check['where'].items())
    ]


def all_observations(scope: Scope, metric: str, named: set[str]) -> list[Observation]:
    """All observations of a metric.

    :param named: factors that are chosen; without a driver among them, the driver is `raw` where the study has it
    """
    every = _loads(scope) if metric == LOAD else _runs(scope, metric)
    raw = [one for one in every if one.factors.get('driver') == 'raw']
    return raw if raw and 'driver' not in named else every


def compared_by(check: Json) -> list[str]:
    """Factors whose levels a check compares."""
    test = check['test']
    groups = [*test.get('side', []), *(group for side in test.get('sides', []) for group in side)]
    names = [name for group in groups for name in group]
    return list(dict.fromkeys([*names, *([test['factor']] if 'factor' in test else [])]))


def conditions(
    scope: Scope, observations: Iterable[Observation], compared: Sequence[str], ignored: Sequence[str] = ()
) -> list[Condition]:
    """Divide observations by the levels of all factors that vary, without those that are compared.

    A factor that has one level in each compared group, such as a consistency level that one store alone has, is no
    condition.

    :param ignored: factors that have no effect
    """
    observations = list(observations)
    names = [
        name
        for name in varying(scope.archive.study)
        if name not in {*compared, *ignored} and not _is_nested(observations, name, compared)
    ]
    found: dict[tuple[Level, ...], list[Observation]] = {}
    for one in observations:
        found.setdefault(tuple(one.factors.get(name, '') for name in names), []).append(one)
    levels = varying(scope.archive.study)

    def place(key: tuple[Level, ...]) -> list[int]:
        return [levels[name].index(level) for name, level in zip(names, key, strict=True) if level in levels[name]]

    return [Condition(dict(zip(names, key, strict=True)), tuple(found[key])) for key in sorted(found, key=place)]


def matches(factors: Mapping[str, object], group: Mapping[str, object]) -> bool:
    """Whether the levels are those of the group, as far as the group names them."""
    return all(_same(factors.get(name), level) for name, level in group.items())


def samples_of(
    scope: Scope, groups: Sequence[Sequence[Observation]], unit: str, compared: Sequence[str]
) -> list[Sample]:
    """The values of each group, as independent observations.

    Means of deployments where hard factors are compared and each group has enough of them; means of consecutive runs
    where runs depend on their neighbours; else runs.
    """
    samples = [sample_of([one.number for one in group], unit, scope.ledger) for group in groups]
    is_hard = any(name in scope.archive.study['hard'] for name in compared)
    deployments = [_by_deployment(group) for group in groups]
    if is_hard and min(map(len, deployments), default=0) >= FEWEST_DEPLOYMENTS:
        means = [[sample_of(of, unit, scope.ledger).mean().value for of in each.values()] for each in deployments]
        return [sample_of(each, unit, scope.ledger) for each in means]
    gathered = [
        RunGroup('', {}, [one.run for one in group if one.run is not None], sample)
        for group, sample in zip(groups, samples, strict=True)
    ]
    length = max((block_length(group) for group in gathered if group.runs), default=1)
    if length > 1:
        blocks = [in_blocks(group, length, scope.ledger) for group in gathered]
        if min(len(group.runs) for group in blocks) >= 3:
            return [group.sample for group in blocks]
    return samples


def size_of(level: Level) -> float | None:
    """A number, or a size such as 512MiB in bytes; None for other levels and for 0, which has no logarithm."""
    found = _SIZE.fullmatch(str(level))
    if isinstance(level, bool) or found is None:
        return None
    value = float(found.group(1)) * _BYTES.get(found.group(2) or '', 1.0)
    return value if value > 0 else None


def _is_nested(observations: Iterable[Observation], name: str, compared: Sequence[str]) -> bool:
    found: dict[tuple[Level, ...], set[Level]] = {}
    for one in observations:
        group = tuple(one.factors.get(each, '') for each in compared)
        found.setdefault(group, set()).add(one.factors.get(name, ''))
    return all(len(levels) == 1 for levels in found.values()) and len(set().union(*found.values())) > 1


def _by_deployment(group: Sequence[Observation]) -> dict[str, list[Number]]:
    found: dict[str, list[Number]] = {}
    for one in group:
        found.setdefault(one.deployment, []).append(one.number)
    return found


def _runs(scope: Scope, metric: str) -> list[Observation]:
    runs = sorted(
        analysed(scope.archive.runs), key=lambda run: (run.document['block'], run.series, run.driver, run.trial)
    )
    every = [
        Observation(run.factors, str(run.document['deployment']), scope.measured.value(run, metric), run)
        for run in runs
    ]
    return [one for one in every if one.number.value is not None]


def _loads(scope: Scope) -> list[Observation]:
    series = {one.id: one for one in scope.archive.series}
    found = []
    for file, load in scope.archive.loads.items():
        if load['how'] == 'loaded' and load['series'] in series:
            number = scope.ledger.add(load['seconds'], 's', 'field', file=file, path=['seconds'])
            of = series[load['series']]
            found.append(Observation({**of.factors, 'driver': load['driver']}, of.deployment, number, None))
    return found


def _is_in(level: object, levels: Sequence[Level]) -> bool:
    return any(_same(level, each) for each in levels)


def _same(ours: object, named: object) -> bool:
    return ours == named or str(ours).lower() == str(named).lower()
