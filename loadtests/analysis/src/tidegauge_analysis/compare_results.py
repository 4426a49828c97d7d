"""Compare two results directories: `python -m tidegauge_analysis.compare_results A B [--json FILE]`.

States whether they are comparable and what differs, and decides for each group whether B differs from A.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tidegauge_analysis.archive import read_archive
from tidegauge_analysis.comparable import differences_of
from tidegauge_analysis.document import Analysis, Family, Group, write_json
from tidegauge_analysis.effects import ratio_of_means
from tidegauge_analysis.numbers import ratio_in_words
from tidegauge_analysis.problems import reported
from tidegauge_analysis.report import analyse
from tidegauge_analysis.verdict import decide


@dataclass(frozen=True)
class GroupChange:
    """A group in both results."""

    family: str
    metric: str
    unit: str
    group: str
    n: tuple[int, int]
    """Of A and of B."""
    means: tuple[float | None, float | None]
    ratio: float | None
    """B over A."""
    low: float | None
    high: float | None
    verdict: str
    """`different`, `equivalent`, `undecided` or `none`."""
    further_runs: int | None
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
    x, y = ([each.value.value for each in group.values if each.value.value is not None] for group in (one, two))
    ratio = low = high = further = reason = None
    verdict = 'none'
    try:
        decision = decide(y, x, margin, alpha)
        interval = ratio_of_means(y, x, 1 - alpha)
    except ValueError as error:
        reason = str(error).replace('group first', 'B').replace('group second', 'A')
    else:
        verdict, further = str(decision.decision), decision.further_runs
        ratio, low, high = interval.value, _finite(interval.low), _finite(interval.high)
    means = one.mean.value.value, two.mean.value.value
    sizes = len(x), len(y)
    return GroupChange(
        family.title, family.metric, family.unit, one.label, sizes, means, ratio, low, high, verdict, further, reason
    )


def _finite(value: float) -> float | None:
    return value if abs(value) != float('inf') else None


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
    start = f'{group.group}: A and B have {means} (n = {group.n[0]} and {group.n[1]})'
    if group.ratio is None:
        return f'{start}; no verdict, because {group.reason}'
    text = f'{start}; {ratio_in_words(group.ratio, group.low, group.high)}: {group.verdict}'
    if group.verdict == 'undecided':
        more = 'no practical number of' if group.further_runs is None else f'about {group.further_runs}'
        text += f'; {more} further runs of each would decide'
    return text


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
