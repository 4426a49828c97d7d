"""Published numbers beside ours."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge_analysis.archive import Archive, ArchiveError, Json
from tidegauge_analysis.cells import label_of
from tidegauge_analysis.claim_runs import all_observations, conditions, matches, unit_of
from tidegauge_analysis.document import Combination, Estimate, ExtremeRow, PublishedRow
from tidegauge_analysis.metrics import Metric, parse_metric
from tidegauge_analysis.numbers import missing, no_estimate
from tidegauge_analysis.parts import parts_of
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.second_machine import NO_SECOND, SLOWDOWNS, SPEEDUP, slowdowns_of
from tidegauge_analysis.summaries import sample_of
from tidegauge_analysis.units import Observation, compare, mean_of

UNITS = (
    {'h': 3_600_000.0, 'min': 60_000.0, 's': 1000.0, 'ms': 1.0, 'us': 0.001, 'µs': 0.001},
    {'W': 1.0, 'kJ/h': 1000 / 3600},
    {'': 1.0, '%': 0.01},
)
"""Units that can be converted into each other, each with its size in one of them."""

RATIO, DIFFERENCE = ' / ', ' - '
"""Between two levels of a factor in a published number."""

OWN_COLUMNS = ('metric', 'statistic', 'value', 'unit', 'flag', 'note')
SHOWN = ('ok', 'derived')
"""Flags of numbers that are in the report. Others stay in the file."""

NO_RUN = 'there is no run with these levels'
MOST_ROWS = 10_000


def find_published(archive: Archive) -> dict[str, list[Json]]:
    """Read the rows of each file of published numbers in the archive, by its path there.

    :raises ArchiveError: a file has not the columns that it needs
    """
    found: dict[str, list[Json]] = {}
    for entry in archive.study['published']:
        path = _in_archive(archive.path, entry['file'])
        if path is None:
            found[entry['file']] = []
            continue
        with path.open(encoding='utf-8', newline='') as lines:
            reader = csv.DictReader(lines)
            absent = [column for column in ('metric', 'value') if column not in (reader.fieldnames or [])]
            if absent:
                raise ArchiveError(f'{path}: the column {absent[0]} is missing')
            rows = list(reader)[:MOST_ROWS]
        found[str(path.relative_to(archive.path))] = [{**row, 'source': entry['source']} for row in rows]
    return found


def metrics_of(published: dict[str, list[Json]]) -> list[Metric]:
    """Metrics that published numbers have, as far as they are ours too."""
    found = []
    for row in (row for rows in published.values() for row in rows):
        try:
            found.append(parse_metric(row['metric']))
        except ValueError:
            continue
    return found


def published_rows(scope: Scope, published: dict[str, list[Json]]) -> list[PublishedRow]:
    """Put each published number beside ours. Damaged and missing numbers are left out."""
    found = []
    for file, rows in published.items():
        shown = [
            _row(scope, file, index, row)
            for index, row in enumerate(rows)
            if (row.get('flag') or 'ok').split()[0] in SHOWN
        ]
        found += [
            _from_published(scope, row, shown) if row.statistic == 'greatest from published' else row for row in shown
        ]
    return found


def _from_published(scope: Scope, row: PublishedRow, rows: Sequence[PublishedRow]) -> PublishedRow:
    """The greatest distance of our means from the other published numbers of this metric."""
    distances = []
    for other in rows:
        scale = scale_between(other.unit, other.ours.value.unit)
        is_one = other.metric == row.metric and matches(other.factors, row.factors)
        is_one = is_one and not other.statistic.startswith('greatest')
        if is_one and scale and other.published.value is not None and other.ours.value.value is not None:
            distance = abs(other.ours.value.value - other.published.value * scale)
            inputs: Json = {'first': other.ours.value.id, 'second': other.published.id, 'scale': scale}
            distances.append(scope.ledger.add(distance, other.ours.value.unit, 'scaled_distance', **inputs))
    unit = unit_of(row.metric)
    if not distances:
        return replace(row, ours=no_estimate(unit, NO_RUN), ratio=missing('', NO_RUN), note=NO_RUN)
    greatest = sample_of(distances, unit, scope.ledger).maximum()
    none = missing(unit, 'the greatest of several has no interval')
    ratio = missing('', 'the units cannot be compared')
    scale = scale_between(row.unit, unit)
    if row.published.value and greatest.value is not None and scale:
        inputs = {'first': greatest.id, 'second': row.published.id, 'scale': scale}
        ratio = scope.ledger.add(greatest.value / (row.published.value * scale), '', 'scaled_ratio', **inputs)
    return replace(row, ours=Estimate(greatest, none, none, 0.95), ratio=ratio, note=row.note.split(';')[0])


def scale_between(published: str, ours: str) -> float | None:
    """Factor from the published unit to ours, or None where they measure different things."""
    if published == ours:
        return 1.0
    for units in UNITS:
        if published in units and ours in units:
            return units[published] / units[ours]
    return None


def is_ratio_of(factors: Combination, first: Combination, second: Combination) -> bool:
    """Whether a published number is the ratio of these two groups, and has their other levels."""
    pairs = {name: level for name, level in factors.items() if RATIO in str(level)}
    rest = {name: level for name, level in factors.items() if name not in pairs}
    return (
        bool(pairs)
        and matches(first, rest)
        and all(_same_pair(str(level), first.get(name), second.get(name)) for name, level in pairs.items())
    )


def _same_pair(named: str, first: object, second: object) -> bool:
    return [part.strip().lower() for part in named.split(RATIO)] == [str(first).lower(), str(second).lower()]


def _row(scope: Scope, file: str, index: int, row: Json) -> PublishedRow:
    factors: Combination = {
        name: level
        for name, level in row.items()
        if name not in {*OWN_COLUMNS, 'source'} and level not in {'', '-', None}
    }
    unit = row.get('unit') or ''
    try:
        value: float | None = float(row['value'])
    except (TypeError, ValueError):
        value = None
    number = scope.ledger.add(
        value, unit, 'cell', 'the publication has no number', file=file, row=index, column='value'
    )
    ours, note = _ours(scope, factors, row['metric'], row.get('statistic') or '')
    scale = scale_between(unit, ours.value.unit)
    ratio = missing('', note or f'{unit} and {ours.value.unit} cannot be compared')
    if number.value and ours.value.value is not None and scale is not None:
        inputs: Json = {'first': ours.value.id, 'second': number.id, 'scale': scale}
        ratio = scope.ledger.add(ours.value.value / (number.value * scale), '', 'scaled_ratio', **inputs)
        note = '; '.join(part for part in (note, _position(number.value * scale, ours)) if part)
    return PublishedRow(
        source=row['source'],
        factors=factors,
        metric=row['metric'],
        statistic=row.get('statistic') or '',
        unit=unit,
        published=number,
        flag=row.get('flag') or '',
        ours=ours,
        ratio=ratio,
        note='; '.join(part for part in (row.get('note') or '', note or ratio.reason or '') if part),
    )


def _ours(scope: Scope, factors: Combination, metric: str, statistic: str) -> tuple[Estimate, str]:
    """Our estimate, or the reason why there is none."""
    if metric in {*SLOWDOWNS, SPEEDUP}:
        return _slowdown(scope, factors, metric, statistic)
    try:
        unit = unit_of(metric)
    except ValueError:
        reason = f'this experiment does not measure {metric}'
        return no_estimate('', reason), reason
    pair = next((name for name, level in factors.items() if RATIO in str(level) or DIFFERENCE in str(level)), None)
    where = {name: level for name, level in factors.items() if name != pair}
    there = _in_first_part(scope, metric, factors, where)
    if not there:
        return no_estimate(unit, NO_RUN), NO_RUN
    if pair is None:
        workload = {name: level for name, level in factors.items() if name == 'workload'}
        note = _extreme(factors, _in_first_part(scope, metric, factors, workload), statistic)
        return mean_of(there, unit, scope.ledger), note
    return _of_two_levels(scope, _between(scope, there, pair, str(factors[pair]), unit), unit, statistic)


def _in_first_part(scope: Scope, metric: str, factors: Combination, where: Combination) -> list[Observation]:
    """Observations with these levels, of the first part that has some: parts differ in factors that `where` lacks."""
    every = [one for one in all_observations(scope, metric, {*factors}) if matches(one.factors, where)]
    found = ([one for one in every if part.covers(one.factors)] for part in parts_of(scope.archive))
    return next((observations for observations in found if observations), [])


def extreme_rows(scope: Scope, rows: Sequence[PublishedRow]) -> list[ExtremeRow]:
    """Put each published lowest or highest value beside ours, with the groups in which they occur."""
    return [
        _extreme_row(scope, row)
        for row in rows
        if row.statistic in {'lowest', 'highest'} and row.metric not in SLOWDOWNS
    ]


def _extreme_row(scope: Scope, row: PublishedRow) -> ExtremeRow:
    condition = {name: level for name, level in row.factors.items() if name == 'workload'}
    there = _in_first_part(scope, row.metric, condition, condition)
    groups: dict[str, list[Observation]] = {}
    for one in there:
        part = next(part for part in parts_of(scope.archive) if part.covers(one.factors))
        names = [name for name in part.study['analyse']['groups'] if name in one.factors]
        groups.setdefault(label_of(one.factors, names), []).append(one)
    choose = min if row.statistic == 'lowest' else max
    means = {label: mean_of(members, row.ours.value.unit, scope.ledger) for label, members in groups.items()}
    chosen = choose(means, key=lambda label: means[label].value.value or 0.0) if means else ''
    return ExtremeRow(
        source=row.source,
        condition=label_of(condition, condition),
        metric=row.metric,
        statistic=row.statistic,
        published=row.published,
        published_group=label_of(row.factors, [name for name in row.factors if name != 'workload']),
        ours=means.get(chosen, no_estimate(row.ours.value.unit, NO_RUN)),
        group=chosen,
    )


def _slowdown(scope: Scope, factors: Combination, metric: str, statistic: str) -> tuple[Estimate, str]:
    """The slowdown of a group, or of several: their mean, or the lowest or highest of them."""
    if scope.second is None:
        return no_estimate('%', NO_SECOND), NO_SECOND
    of, _ = SLOWDOWNS[metric if metric in SLOWDOWNS else 'slowdown']
    every = slowdowns_of(scope, parse_metric(of), inverse=metric == SPEEDUP)
    groups = [each for each in every if matches(each.factors, factors)]
    if 'driver' not in factors:
        groups = [each for each in groups if each.factors.get('driver') == 'raw'] or groups
    ratios = sample_of([each.ratio.value for each in groups], '%', scope.ledger)
    if not ratios.values:
        return no_estimate('%', NO_RUN), NO_RUN
    if statistic in {'lowest', 'highest'}:
        none = missing('%', f'the {statistic} of several has no interval')
        value = ratios.minimum() if statistic == 'lowest' else ratios.maximum()
        return Estimate(value, none, none, 0.95), ''
    return (groups[0].ratio if len(groups) == 1 else ratios.mean()), ''


def _of_two_levels(scope: Scope, found: list[Estimate], unit: str, statistic: str) -> tuple[Estimate, str]:
    if not found:
        return no_estimate(unit, NO_RUN), NO_RUN
    if statistic == 'greatest':
        values = sample_of([estimate.value for estimate in found], unit, scope.ledger)
        none = missing(unit, 'the greatest of several has no interval')
        return Estimate(values.maximum(), none, none, 0.95), ''
    if len(found) > 1:
        reason = 'these runs differ in other factors too, which the published number does not name'
        return no_estimate(unit, reason), reason
    return found[0], ''


def _between(scope: Scope, there: Sequence[Observation], factor: str, named: str, unit: str) -> list[Estimate]:
    """Ratio or difference of the two levels, for each combination of the other factors."""
    sign = RATIO if RATIO in named else DIFFERENCE
    levels = [part.strip() for part in named.split(sign)]
    found = []
    for condition in conditions(scope, there, [factor]):
        first, second = (
            [one for one in condition.observations if matches(one.factors, {factor: level})] for level in levels
        )
        both = compare(first, second)
        if not both.first:
            continue
        if sign == RATIO:
            found.append(both.ratio(scope.ledger))
            continue
        difference = both.difference(unit, scope.ledger)
        is_negative = (difference.value.value or 0.0) < 0
        found.append(compare(second, first).difference(unit, scope.ledger) if is_negative else difference)
    return found


def _extreme(factors: Combination, every: Sequence[Observation], statistic: str) -> str:
    """Which group is the lowest or the highest here, where the published number is that of its workload."""
    if statistic not in {'lowest', 'highest'}:
        return ''
    names = [name for name in factors if name != 'workload']
    means: dict[str, list[float]] = {}
    for one in every:
        if matches(one.factors, {name: level for name, level in factors.items() if name == 'workload'}):
            label = label_of(one.factors, [name for name in names if name in one.factors])
            means.setdefault(label, []).append(one.number.value or 0.0)
    choose = min if statistic == 'lowest' else max
    return f'the {statistic} here is {choose(means, key=lambda label: sum(means[label]) / len(means[label]))}'


def _position(value: float, ours: Estimate) -> str:
    low, high = ours.low.value, ours.high.value
    if low is None or high is None:
        return 'ours has no interval'
    if value < low:
        return 'the published number is below our interval'
    return 'the published number is above our interval' if value > high else 'the published number is in our interval'


def _in_archive(results: Path, file: str) -> Path | None:
    """Find the copy of the file in the results directory; nothing outside it is read."""
    for path in (results / 'published' / Path(file).name, results / file):
        inside = path.resolve().is_relative_to(results.resolve())
        if inside and path.is_file():
            return path
    return None
