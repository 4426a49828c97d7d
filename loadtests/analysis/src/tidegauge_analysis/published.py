"""Published numbers beside ours."""

import csv
from collections.abc import Sequence
from pathlib import Path

from tidegauge_analysis.archive import Archive, ArchiveError, Json, Run, analysed
from tidegauge_analysis.document import Combination, Estimate, PublishedRow
from tidegauge_analysis.families import Scope
from tidegauge_analysis.metrics import Metric, parse_metric
from tidegauge_analysis.numbers import Ledger, missing, no_estimate
from tidegauge_analysis.summaries import sample_of

MILLISECONDS = {'s': 1000.0, 'ms': 1.0, 'us': 0.001, 'µs': 0.001}
OWN_COLUMNS = ('metric', 'value', 'unit', 'flag')
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
            absent = [column for column in OWN_COLUMNS[:2] if column not in (reader.fieldnames or [])]
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
    """Put each published number beside the mean of our runs with the same levels."""
    runs = analysed(scope.archive.runs)
    return [
        _row(scope.ledger, file, index, row, runs, scope)
        for file, rows in published.items()
        for index, row in enumerate(rows)
    ]


def _row(ledger: Ledger, file: str, index: int, row: Json, runs: Sequence[Run], scope: Scope) -> PublishedRow:  # noqa: PLR0913, PLR0917
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
    number = ledger.add(value, unit, 'cell', 'the publication has no number', file=file, row=index, column='value')
    ours, note = _ours(factors, row['metric'], runs, scope)
    scale = _scale(unit, ours.value.unit)
    ratio = missing('', note or f'{unit} and {ours.value.unit} cannot be compared')
    if number.value and ours.value.value is not None and scale is not None:
        inputs: Json = {'first': ours.value.id, 'second': number.id, 'scale': scale}
        ratio = ledger.add(ours.value.value / (number.value * scale), '', 'scaled_ratio', **inputs)
        note = note or _position(number.value * scale, ours)
    return PublishedRow(
        source=row['source'],
        factors=factors,
        metric=row['metric'],
        unit=unit,
        published=number,
        flag=row.get('flag') or '',
        ours=ours,
        ratio=ratio,
        note=note or ratio.reason or '',
    )


def _ours(factors: Combination, name: str, runs: Sequence[Run], scope: Scope) -> tuple[Estimate, str]:
    try:
        metric = parse_metric(name)
    except ValueError as error:
        return no_estimate('', str(error)), str(error)
    same = [run for run in runs if all(_equal(run.factors.get(key), level) for key, level in factors.items())]
    if not same:
        reason = 'there is no run with these levels'
        return no_estimate(metric.unit, reason), reason
    sample = sample_of([scope.measured.value(run, metric.name) for run in same], metric.unit, scope.ledger)
    return sample.mean(), '' if sample.numbers else 'our runs have no value of this metric'


def _equal(ours: object, published: object) -> bool:
    return str(ours).lower() == str(published).lower()


def _scale(published: str, ours: str) -> float | None:
    """Factor from the published unit to ours, or None where they measure different things."""
    if published == ours:
        return 1.0
    if published in MILLISECONDS and ours in MILLISECONDS:
        return MILLISECONDS[published] / MILLISECONDS[ours]
    return None


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
