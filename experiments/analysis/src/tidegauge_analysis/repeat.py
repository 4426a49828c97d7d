"""Reports how much the figures of repeated runs vary: `python -m tidegauge_analysis.repeat OUT.html RUN.json...`.

Each file has the figures of one run of the same command, as `--json` writes them.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy import stats

from tidegauge_analysis.document import Estimate, Number
from tidegauge_analysis.numbers import interval_in_words
from tidegauge_analysis.page import Block, Page, Section, to_html
from tidegauge_analysis.plots import values_by_run
from tidegauge_analysis.present import Json
from tidegauge_analysis.problems import InputError, reported
from tidegauge_analysis.series import lag_one
from tidegauge_analysis.tables import Cell, Column, Table

ABOUT_THE_RUN = {'machine', 'date', 'version', 'commit', 'modified', 'seed', 'parts', 'thresholds', 'setup'}
"""Fields that describe the run and are no results."""

LONGEST_LIST = 64
"""Longer lists are raw data of one run; their summary is elsewhere in the document."""

MOST_PANELS = 8
ENOUGH_FOR_LAG = 10
_UNITS = (
    (r'(PerSecond|[Tt]hroughput)$', '/s'),
    (r'(Micros|MicrosPerMessage|MicrosPerRead|\(us\))$', 'µs'),
    (r'(Ms|millis)$', 'ms'),
    (r'([sS]econds)$', 's'),
    (r'MiB$', 'MiB'),
    (r'[bB]ytes$', 'bytes'),
    (r'\.(latency|intended)\.(?!count$)\w+$', 'µs'),
)
_MAIN = re.compile(r'^(?!.*\.intended\.).*([Tt]hroughput|PerSecond|p50|p99(?!9)|mean|AverageLatency|99thPercentile)')


def leaves(value: object, path: str = '') -> Iterator[tuple[str, float]]:
    """All numbers of a document with their paths. An element of a list is named by its text, if that is unique."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path, float(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if path or key not in ABOUT_THE_RUN:
                yield from leaves(inner, f'{path}.{key}' if path else key)
    elif isinstance(value, list) and len(value) <= LONGEST_LIST:
        names = [_name_of(inner) for inner in value]
        unique = None not in names and len(set(names)) == len(names)
        for at, (inner, name) in enumerate(zip(value, names, strict=True)):
            yield from leaves(inner, f'{path}[{name if unique else at}]')


def unit_of(path: str) -> str:
    """The unit of a figure, from the ending of its name; empty: not known."""
    return next((unit for pattern, unit in _UNITS if re.search(pattern, path)), '')


def make_page(documents: Sequence[Json], names: Sequence[str], command: str, *, quick: bool) -> Page:
    """The report of repeated runs. Runs that are marked as invalid are left out.

    :raises ValueError: fewer than two runs are valid, or the runs have no number in common
    """
    kept = [
        (name, document) for name, document in zip(names, documents, strict=True) if document.get('valid') is not False
    ]
    if len(kept) < 2:
        raise ValueError(f'{len(kept)} of {len(documents)} runs are valid, and a spread needs two')
    found = [dict(leaves(document)) for _, document in kept]
    paths = [path for path in found[0] if all(path in one for one in found)]
    if not paths:
        raise ValueError('the runs have no number in common: they are not of the same command')
    ledger = _Ledger()
    rows = {path: ledger.row(path, [one[path] for one in found], [name for name, _ in kept]) for path in paths}
    varying = [path for path in paths if len({one[path] for one in found}) > 1]
    stamp = 'quick results' if quick else ''
    main = [path for path in varying if _MAIN.search(path)][:MOST_PANELS] or varying[:MOST_PANELS]
    values = {path: [one[path] for one in found] for path in main}
    drawing = values_by_run(values, {path: unit_of(path) for path in main}, 'runs', stamp)
    dependent = [
        path
        for path in varying
        if len(kept) >= ENOUGH_FOR_LAG
        and abs(lag_one([one[path] for one in found])) > stats.norm.ppf(0.975) / np.sqrt(len(kept))
    ]
    constant = len(paths) - len(varying)
    notes = [
        f'{len(documents) - len(kept)} of {len(documents)} runs are invalid and were left out.'
        if len(kept) < len(documents)
        else f'All {len(kept)} runs count.',
        f'{constant} of {len(paths)} figures are the same in every run.',
        *_about_dependence(len(kept), dependent),
    ]
    table = _table('main', 'The main figures, with 95 % intervals of the mean', {p: rows[p] for p in main}, stamp)
    rest = _table('all', 'All figures that vary', {path: rows[path] for path in varying}, stamp)
    first = documents[0]
    facts = [
        (key, str(first[key])) for key in ('store', 'api', 'date', 'version', 'commit') if first.get(key) is not None
    ]
    machine = [(key, str(value)) for key, value in first.get('machine', {}).items()]
    sections = [
        Section('figures', 'Figures', [Block(tables=[table]), Block(tables=[rest], folded='All figures that vary')]),
        Section('environment', 'Environment', [Block(facts=[*facts, *machine])]),
    ]
    return Page(
        title=command,
        kind=f'{len(documents)} runs of',
        name=command,
        stamp=stamp,
        stamp_reason='Sizes are small, to show that it works. Do not quote the figures.' if quick else '',
        question='How much do the figures vary from run to run?',
        answer=[f'{path}: the mean is {_in_words(rows[path]["mean"])}.' for path in main[:2]],
        picture=drawing,
        limits=[],
        summary=[],
        facts=facts,
        notes=notes,
        sections=sections,
        numbers={'format': 1, 'sets': ledger.sets, 'numbers': ledger.entries, 'files': {}},
        has_files=False,
    )


class _Ledger:
    """Gives each number its id, and keeps its formula and inputs."""

    def __init__(self) -> None:
        self.entries: list[Json] = []
        self.sets: dict[str, list[str]] = {}

    def number(self, value: float | None, unit: str, formula: str, inputs: Json) -> Number:
        if value is None or not np.isfinite(value):
            return Number(None, None, unit, 'the runs do not determine it')
        name = f'n{len(self.entries) + 1}'
        self.entries.append({'id': name, 'value': value, 'unit': unit, 'formula': formula, 'inputs': inputs})
        return Number(name, value, unit)

    def row(self, path: str, values: list[float], names: Sequence[str]) -> Json:
        unit = unit_of(path)
        raw = [
            self.number(value, unit, 'field', {'file': name, 'path': path})
            for value, name in zip(values, names, strict=True)
        ]
        members = f's{len(self.sets) + 1}'
        self.sets[members] = [number.id for number in raw if number.id is not None]
        array, of = np.array(values), {'of': members}
        mean, sd = float(array.mean()), float(array.std(ddof=1))
        half = float(stats.t.ppf(0.975, len(values) - 1)) * sd / np.sqrt(len(values))
        bounds = {**of, 'confidence': 0.95}
        estimate = Estimate(
            self.number(mean, unit, 'mean', of),
            self.number(mean - half, unit, 'mean_low', bounds),
            self.number(mean + half, unit, 'mean_high', bounds),
            0.95,
        )
        others = {
            'median': self.number(float(np.median(array)), unit, 'median', of),
            'sd': self.number(sd, unit, 'sd', of),
            'minimum': self.number(float(array.min()), unit, 'minimum', of),
            'maximum': self.number(float(array.max()), unit, 'maximum', of),
            'lag': self.number(lag_one(array) if sd > 0 else None, '', 'lag_one', of),
        }
        return {'mean': asdict(estimate), **{key: asdict(number) for key, number in others.items()}}


def _table(name: str, caption: str, rows: dict[str, Json], stamp: str) -> Table:
    titles = ['Mean', 'Median', 'sd', 'Minimum', 'Maximum', 'Lag-1 autocorrelation']
    cells: list[list[Cell]] = [
        [path, row['mean'], row['median'], row['sd'], row['minimum'], row['maximum'], row['lag']]
        for path, row in rows.items()
    ]
    return Table(name, caption, [Column('Figure', text=True), *map(Column, titles)], cells, stamp)


def _about_dependence(runs: int, dependent: Sequence[str]) -> list[str]:
    if runs < ENOUGH_FOR_LAG:
        return [f'{runs} runs are too few to check whether a run depends on the one before it.']
    if dependent:
        shown = ', '.join(dependent[:5]) + (', …' if len(dependent) > 5 else '')
        return [f'Runs depend on the run before them, so that the intervals are too narrow: {shown}.']
    return ['No figure shows that a run depends on the run before it.']


def _in_words(mean: Json) -> str:
    return interval_in_words(*(Number(**mean[part]) for part in ('value', 'low', 'high')))


def _name_of(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    texts = [inner for inner in value.values() if isinstance(inner, str)]
    return ' '.join(texts) or None


@reported
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program. Exit codes: 0 written, 1 the files cannot be reported, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='python -m tidegauge_analysis.repeat', description=__doc__)
    parser.add_argument('--command', default='repeated runs', help='the command that was repeated')
    parser.add_argument('--quick', action='store_true', help='mark the report as not to be quoted')
    parser.add_argument('out', type=Path, help='the report, an HTML file')
    parser.add_argument('runs', type=Path, nargs='+', help='the figures of each run, as JSON')
    given = parser.parse_args(arguments)
    try:
        documents = [json.loads(file.read_text(encoding='utf-8')) for file in given.runs]
        page = make_page(documents, [file.name for file in given.runs], given.command, quick=given.quick)
        given.out.write_text(to_html(page), encoding='utf-8')
    except ValueError as error:
        raise InputError(f'{given.out} was not written: {error}') from error
    return 0


if __name__ == '__main__':
    sys.exit(main())
