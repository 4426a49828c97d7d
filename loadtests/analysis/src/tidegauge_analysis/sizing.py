"""How many boards a rate and a retention need: `python -m tidegauge_analysis.sizing RESULTS [OPTIONS]`.

Reads RESULTS/report/analysis.json of an experiment in which `nodes` or `threads` varies, fits the Universal Scalability
Law to the throughput of each combination of the other factors, and prints tables in Markdown.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge_analysis.cells import label_of
from tidegauge_analysis.document import Combination, Json
from tidegauge_analysis.effects import Interval
from tidegauge_analysis.present import show
from tidegauge_analysis.problems import InputError, reported, why_unreadable
from tidegauge_analysis.usl import FEWEST_SIZES, ScalabilityFit, fit_scalability

RATES = (10.0, 100.0, 1000.0, 10_000.0)
"""Operations per second."""

RETENTION_DAYS = 365.0
DISK_BYTES = 32e9
USABLE = 0.5
"""Share of a disk for data: compaction and backups need the rest."""

SECONDS_PER_DAY = 86_400

FARTHEST_PEAK = 10
"""Times the largest measured size. The curve does not show a peak beyond it."""
NEGLIGIBLE = 1e-9
"""Parameters of the law below it are 0: the fit keeps them positive."""


@dataclass(frozen=True)
class Scaling:
    """Throughput over nodes or threads, with the same levels of all other factors."""

    factors: Combination
    throughput: dict[float, list[float]]
    """Of each run, by the number of nodes or threads."""
    bytes_per_record: float | None
    """On all disks together, with the copies; the largest of all sizes."""


@dataclass(frozen=True)
class Need:
    """Boards for one rate."""

    for_rate: int | None
    """None: no number of boards reaches the rate, by the law."""
    for_retention: int | None
    """None: the bytes of a record were not measured."""
    is_extrapolated: bool

    @property
    def boards(self) -> int | None:
        """Boards for both."""
        if self.for_rate is None:
            return None
        return max(self.for_rate, self.for_retention or 1)


def scalings(analysis: Json, over: str = 'nodes') -> list[Scaling]:
    """Throughput over a factor, `nodes` or `threads`, of each combination of the others, from `analysis.json`.

    Combinations with one size are left out.
    """
    found: dict[str, tuple[Combination, dict[float, list[float]]]] = {}
    for family in analysis['families']:
        if family['metric'] != 'throughput':
            continue
        for group in family['groups']:
            levels = {**analysis['study']['fixed'], **family['per'], **group['factors']}
            if over not in {*family['per'], *group['factors']}:
                continue
            shown = {name: level for name, level in {**family['per'], **group['factors']}.items() if name != over}
            shown.setdefault('rf', levels.get('rf', 1))
            _, by_size = found.setdefault(json.dumps(shown, sort_keys=True), (shown, {}))
            values = [value['value']['value'] for value in group['values']]
            by_size.setdefault(float(levels[over]), []).extend(values)
    return [
        Scaling(factors, by_size, _bytes(analysis, factors)) for factors, by_size in found.values() if len(by_size) > 1
    ]


def need(
    fit: ScalabilityFit, scaling: Scaling, rate: float, retention_days: float, disk_bytes: float = DISK_BYTES
) -> Need:
    """Boards for a rate of writes that are kept for some days.

    The number for the rate is the smallest whose lower bound of throughput reaches it, and not below the copies.
    """
    for_rate = fit.smallest_for(rate)
    copies = int(float(scaling.factors.get('rf', 1)))
    for_retention = None
    if scaling.bytes_per_record is not None:
        stored = rate * retention_days * SECONDS_PER_DAY * scaling.bytes_per_record
        for_retention = max(copies, math.ceil(stored / (disk_bytes * USABLE)))
    for_rate = None if for_rate is None else max(for_rate, copies)
    return Need(for_rate, for_retention, for_rate is not None and fit.is_extrapolation(for_rate))


def markdown(analysis: Json, rates: Sequence[float], retention_days: float, disk_bytes: float) -> str:
    """The tables of a results directory, or why a combination has none."""
    curves = [(over, scaling) for over in ('nodes', 'threads') for scaling in scalings(analysis, over)]
    laws: dict[str, list[str]] = {'nodes': [], 'threads': []}
    needs, left_out = [], []
    for over, scaling in curves:
        label = label_of(scaling.factors, scaling.factors)
        sizes = sorted(scaling.throughput)
        try:
            fit = fit_scalability(sizes, [scaling.throughput[size] for size in sizes])
        except ValueError as problem:
            left_out.append(f'- {label}, over {over}: {problem}')
            continue
        laws[over].append(_law_row(label, fit, scaling, over))
        if over == 'nodes':
            cells = [_cell(need(fit, scaling, rate, retention_days, disk_bytes)) for rate in rates]
            needs.append(f'| {label} | {" | ".join(cells)} |')
    parts = [
        _table(['combination', f'measured {over}', f'one of the {over} (gamma)', 'contention (alpha)',
                'exchange (beta)', 'peak', 'error of the fit'], rows)
        for over, rows in laws.items() if rows
    ]  # fmt: skip
    if needs:
        note = (
            f'Boards for the rate / boards for {retention_days:g} days of records on {show(disk_bytes, "bytes")} '
            f'disks, of which {USABLE:.0%} hold data. *Italic*: beyond the measured nodes, an extrapolation by the law.'
        )
        parts += [_table(['combination', *(f'{show(rate)} operations/s' for rate in rates)], needs), note]
    if not parts:
        parts = [
            f'No combination has {FEWEST_SIZES} numbers of nodes or threads with two runs each, which the law needs.'
        ]
    if left_out:
        parts += ['Left out:', '\n'.join(left_out)]
    return '\n\n'.join(parts) + '\n'


def _table(header: Sequence[str], rows: Sequence[str]) -> str:
    return '\n'.join([f'| {" | ".join(header)} |', '| --- |' + ' --- |' * (len(header) - 1), *rows])


def _law_row(label: str, fit: ScalabilityFit, scaling: Scaling, over: str) -> str:
    """The residual error is a share of the largest mean, so that rows can be compared."""
    peak = _peak(fit, over)
    measured = ', '.join(f'{size:g}' for size in sorted(scaling.throughput))
    largest = max(sum(values) / len(values) for values in scaling.throughput.values())
    parts = [_interval(each) for each in (fit.gamma, fit.alpha, fit.beta)]
    return f'| {label} | {measured} | {" | ".join(parts)} | {peak} | {fit.residual_error / largest:.0%} |'


def _peak(fit: ScalabilityFit, over: str) -> str:
    if fit.law.peak is None or fit.law.peak > FARTHEST_PEAK * fit.largest:
        return 'none'
    return f'{fit.law.peak:.1f} {over}'


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 done, 1 the results have no report, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='tidegauge_analysis.sizing', description='Boards for rates and retention.')
    parser.add_argument('results', type=Path)
    parser.add_argument('--rate', type=float, action='append', help='operations per second; can be repeated')
    parser.add_argument('--retention-days', type=float, default=RETENTION_DAYS)
    parser.add_argument('--disk-bytes', type=float, default=DISK_BYTES)
    given = parser.parse_args(arguments)
    path = given.results / 'report' / 'analysis.json'
    try:
        analysis: Json = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        advice = f'make the report first: npm run study -- report {given.results}'
        raise InputError(f'{path}: cannot be read: {why_unreadable(error)}: {advice}') from error
    sys.stdout.write(markdown(analysis, given.rate or RATES, given.retention_days, given.disk_bytes))
    return 0


def _bytes(analysis: Json, factors: Combination) -> float | None:
    found = [
        each['bytes_per_record']['value']['value']
        for each in analysis['resources']
        if all(each['factors'].get(name, level) == level for name, level in factors.items())
    ]
    return max((value for value in found if value is not None), default=None)


def _interval(interval: Interval) -> str:
    value, low, high = (0 if abs(each) < NEGLIGIBLE else each for each in (interval.value, interval.low, interval.high))
    return f'{show(value)} ({show(low)} to {show(high)})'


def _cell(found: Need) -> str:
    for_rate = 'not reached' if found.for_rate is None else str(found.for_rate)
    if found.is_extrapolated:
        for_rate = f'*{for_rate}*'
    return f'{for_rate} / {"unknown" if found.for_retention is None else found.for_retention}'


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
