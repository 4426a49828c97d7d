"""Compare two results directories: `python -m tidegauge_analysis.compare_results A B [--json FILE]`.

States whether they are comparable and what differs, and decides for each group whether B differs from A.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tidegauge_analysis.archive import read_archive
from tidegauge_analysis.comparable import differences_of
from tidegauge_analysis.contrasts import FEWEST_UNITS
from tidegauge_analysis.document import Analysis, Family, Group, write_json
from tidegauge_analysis.numbers import ratio_in_words
from tidegauge_analysis.problems import reported
from tidegauge_analysis.report import analyse
from tidegauge_analysis.units import judge_unpaired


@dataclass(frozen=True)
class GroupChange:
    """A group in both results."""

    family: str
    metric: str
    unit: str
    group: str
    n: tuple[int, int]
    """Deployments of A and of B."""
    means: tuple[float | None, float | None]
    ratio: float | None
    """B over A."""
    low: float | None
    high: float | None
    verdict: str
    """`different`, `equivalent`, `undecided` or `none`."""
    reason: str | None
    """Why there is no verdict."""


@dataclass(frozen=True)
class ResultsComparison:
    """What two results have in common, and how they differ."""

    comparable: bool
    same_plan: bool
    obstacles: list[str]
    """Why they are not comparable."""
    differences: list[str]
    """What differs and can be the cause of other figures: versions, machine, repetitions."""
    groups: list[GroupChange] = field(default_factory=list)
    only_in_one: list[str] = field(default_factory=list)
    format: int = 1


def compare_results(first: Path, second: Path) -> ResultsComparison:
    """Compare two results directories. The level and the margin are those of the first.

    :raises ArchiveError: one of them is no results directory, or a file is missing or damaged
    """
    archives = read_archive(first), read_archive(second)
    obstacles, differences = differences_of(*archives)
    documents = analyse(first)[0], analyse(second)[0]
    groups, alone = ([], []) if obstacles else _groups(*documents)
    if not obstacles and not groups:
        obstacles.append('they have no group in common')
    same = archives[0].plan['hash'] == archives[1].plan['hash']
    return ResultsComparison(not obstacles, same, obstacles, differences, groups, alone)


def _groups(first: Analysis, second: Analysis) -> tuple[list[GroupChange], list[str]]:
    one, two = _by_name(first), _by_name(second)
    alone = [f'{family}, {group}: only in A' for family, group in one if (family, group) not in two]
    alone += [f'{family}, {group}: only in B' for family, group in two if (family, group) not in one]
    study = first.study
    return [
        _change(family, group, two[key][1], study.alpha, study.margin)
        for key, (family, group) in one.items()
        if key in two
    ], alone


def _by_name(document: Analysis) -> dict[tuple[str, str], tuple[Family, Group]]:
    return {(family.title, group.label): (family, group) for family in document.families for group in family.groups}


def _change(family: Family, one: Group, two: Group, alpha: float, margin: float) -> GroupChange:
    """Deployments are the observations: those of A and those of B were not made in turns."""
    x, y = _by_deployment(one), _by_deployment(two)
    ratio = low = high = reason = None
    verdict = 'none'
    if min(len(x), len(y)) < FEWEST_UNITS:
        reason = f'each needs {FEWEST_UNITS} deployments, which show how much deployments differ'
    try:
        wide, verdict = judge_unpaired(y, x, margin, alpha)
    except ValueError as error:
        reason = str(error)
    else:
        ratio, low, high = wide.value, _finite(wide.low), _finite(wide.high)
        if verdict == 'none' and reason is None:
            reason = 'the observations do not vary'
    means = one.mean.value.value, two.mean.value.value
    return GroupChange(
        family.title, family.metric, family.unit, one.label, (len(x), len(y)), means, ratio, low, high, verdict, reason
    )


def _by_deployment(group: Group) -> list[float]:
    """The geometric mean of each block of a group, or the values where one is not positive."""
    blocks: dict[int, list[float]] = {}
    for each in group.values:
        if each.value.value is not None:
            blocks.setdefault(each.block, []).append(each.value.value)
    return [
        math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0 for values in blocks.values()
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def to_text(found: ResultsComparison) -> str:
    """The comparison for a terminal."""
    lines = []
    if found.obstacles:
        lines.append('The results are not comparable:')
        lines.extend(f'  {text}' for text in found.obstacles)
    else:
        plan = 'They have the same plan.' if found.same_plan else 'Their plans differ.'
        lines.append(f'The results are comparable: runs of both do the same. {plan}')
    if found.differences:
        lines.append('What differs:')
        lines.extend(f'  {text}' for text in found.differences)
    elif not found.obstacles:
        lines.append('The machine, the versions and the repetitions are the same.')
    family = None
    for group in found.groups:
        if group.family != family:
            family = group.family
            lines += ['', f'{family}, {group.unit}']
        lines.append(f'  {_line(group)}')
    lines.extend(f'{text}' for text in ['', *found.only_in_one] if found.only_in_one)
    return '\n'.join(lines) + '\n'


def _line(group: GroupChange) -> str:
    means = ' and '.join('none' if mean is None else f'{mean:.5g}' for mean in group.means)
    start = f'{group.group}: A and B have {means} ({group.n[0]} and {group.n[1]} deployments)'
    if group.ratio is not None:
        start += f'; {ratio_in_words(group.ratio, group.low, group.high)}'
    return f'{start}; no verdict, because {group.reason}' if group.verdict == 'none' else f'{start}: {group.verdict}'


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 comparable, 1 not comparable or damaged, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='compare_results', description='Compare two results directories.')
    parser.add_argument('first', metavar='A', type=Path)
    parser.add_argument('second', metavar='B', type=Path)
    parser.add_argument('--json', metavar='FILE', type=Path, help='also write the comparison as JSON')
    given = parser.parse_args(arguments)
    found = compare_results(given.first, given.second)
    if given.json is not None:
        write_json(given.json, asdict(found))
    sys.stdout.write(to_text(found))
    return 0 if found.comparable else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
