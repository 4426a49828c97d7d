"""Compare the runs of two files of load tests: `python -m tidegauge_analysis.compare_runs A.json B.json`.

Each file is what `npm run loadtest` writes with `--json`: one run, or with `--repeat` several.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidegauge_analysis.contrasts import FEWEST_UNITS
from tidegauge_analysis.numbers import ratio_in_words
from tidegauge_analysis.present import Json
from tidegauge_analysis.problems import InputError, reported, why_unreadable
from tidegauge_analysis.repeat import leaves, unit_of
from tidegauge_analysis.units import judge_unpaired

MARGIN = 0.05
"""A difference of 5 % does not matter, as in the shipped experiments."""

ALPHA = 0.05

_THE_WORK = ('parts', 'api')
_SURROUNDINGS = ('version', 'commit', 'modified', 'store', 'machine', 'seed')
_FIGURES = ('throughput', 'mean', 'p50', 'p95', 'p99')


class RunsError(InputError):
    """A file is no file of load tests, or has no run that counts."""


def read_runs(file: Path) -> list[Json]:
    """The valid runs of a file.

    :raises RunsError: it cannot be read, has other content, or has no valid run
    """
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise RunsError(f'{file} cannot be read: {why_unreadable(error)}') from error
    runs = content if isinstance(content, list) else [content]
    if not runs or not all(isinstance(run, dict) and {'parts', 'summary', 'valid'} <= run.keys() for run in runs):
        raise RunsError(f'{file} has no figures of npm run loadtest: name a file that --json has written')
    valid = [run for run in runs if run['valid']]
    if not valid:
        raise RunsError(f'{file} has no valid run: repeat it, until its output has no line INVALID')
    return valid


def compare_runs(first: Sequence[Json], second: Sequence[Json]) -> list[str]:
    """The comparison as lines: what differs in the runs, then B over A for each main figure of both."""
    one, two = first[0], second[0]
    lines = [f'A has {len(first)} valid runs, B has {len(second)}.']
    if list(_differences(one, two, _THE_WORK)):
        lines.append('They do different work, so the ratios say nothing about the versions:')
    lines += [f'  {text}' for text in _differences(one, two, (*_THE_WORK, *_SURROUNDINGS))]
    if min(len(first), len(second)) < FEWEST_UNITS:
        lines.append(f'Fewer than {FEWEST_UNITS} runs have no interval: repeat both with --repeat 5.')
    figures = [[dict(leaves(run['summary'])) for run in runs] for runs in (first, second)]
    for path in figures[0][0]:
        if not _is_main(path) or not all(path in each for runs in figures for each in runs):
            continue
        values = [[each[path] for each in runs] for runs in figures]
        lines.append(_line(path, *values))
    return lines


def _is_main(path: str) -> bool:
    return path.rpartition('.')[2] in _FIGURES and '.failed.' not in path


def _differences(one: Json, two: Json, fields: Sequence[str]) -> Iterator[str]:
    for field in fields:
        yield from _differing(field, one.get(field), two.get(field))


def _differing(path: str, one: object, two: object) -> Iterator[str]:
    """The values that differ, with their paths."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted({*one, *two}):
            yield from _differing(f'{path}.{key}', one.get(key), two.get(key))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for at, (x, y) in enumerate(zip(one, two, strict=True)):
            yield from _differing(f'{path}[{at}]', x, y)
    elif one != two:
        yield f'{path}: {json.dumps(one)} in A, {json.dumps(two)} in B'


def _line(path: str, one: list[float], two: list[float]) -> str:
    means = [sum(values) / len(values) for values in (one, two)]
    unit = unit_of(path)
    start = f'{path}: {means[0]:.5g} and {means[1]:.5g}{unit and " "}{unit}'
    try:
        wide, verdict = judge_unpaired(two, one, MARGIN, ALPHA)
    except ValueError as error:
        return f'{start}; no ratio, because {error}'
    if verdict == 'none':
        return f'{start}; B is {wide.value:.3f} times A'
    return f'{start}; {ratio_in_words(wide.value, wide.low, wide.high)}: {verdict}'


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 compared, 1 a file cannot be used, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='compare_runs', description='Compare the runs of two files of load tests.')
    parser.add_argument('first', metavar='A', type=Path)
    parser.add_argument('second', metavar='B', type=Path)
    given = parser.parse_args(arguments)
    lines = compare_runs(read_runs(given.first), read_runs(given.second))
    sys.stdout.write('\n'.join(lines) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
