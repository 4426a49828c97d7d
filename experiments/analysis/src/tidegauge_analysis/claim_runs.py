"""The runs that the check of a claim uses, by condition."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegauge_analysis.archive import Json, analysed
from tidegauge_analysis.cells import varying
from tidegauge_analysis.document import Combination, Level
from tidegauge_analysis.metrics import parse_metric
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.units import Observation

LOAD = 'load'
"""The metric of a claim that is the time of a load."""

NOT_OF_LOADS = ('workload', 'threads', 'target', 'operations', 'consistency', 'distribution', 'fault')
"""Factors that a load does not depend on: they are no conditions for its time."""

_SIZE = re.compile(r'(\d+(?:\.\d+)?)(KiB|MiB|GiB)?')
_BYTES = {'KiB': 2.0**10, 'MiB': 2.0**20, 'GiB': 2.0**30}


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
    every = _loads(scope) if metric == LOAD else scope.observations(analysed(scope.archive.runs), metric)
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


def _loads(scope: Scope) -> list[Observation]:
    series = {one.id: one for one in scope.archive.series}
    found = []
    for file, load in scope.archive.loads.items():
        if load['how'] == 'loaded' and load['series'] in series:
            number = scope.ledger.add(load['seconds'], 's', 'field', file=file, path=['seconds'])
            of = series[load['series']]
            factors = {**of.factors, 'driver': load['driver']}
            turn = f'load {of.id}/{load["trial"]}'
            found.append(Observation(factors, of.block, turn, number))
    return found


def _is_in(level: object, levels: Sequence[Level]) -> bool:
    return any(_same(level, each) for each in levels)


def _same(ours: object, named: object) -> bool:
    return ours == named or str(ours).lower() == str(named).lower()
