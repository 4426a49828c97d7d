"""Reads a results directory: what was planned, which runs count, and their operations."""

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge_analysis.problems import InputError

Json = dict[str, Any]

COLUMNS = ('start_us', 'operation', 'latency_us', 'status', 'thread', 'part', 'turn')
"""Of the CSV file of a run. Times are whole microseconds, of a clock that stands still between the turns of the run."""

OPERATIONS = (
    'READ', 'UPDATE', 'INSERT', 'SCAN', 'READ-MODIFY-WRITE',
    'SELECT-ONE', 'SELECT-SOME', 'UPDATE-SOME', 'QUERY',
)  # fmt: skip
"""Of YCSB, on devices, and over readings."""

NEEDED = (
    'run',
    'deployment',
    'series',
    'seriesAttempt',
    'block',
    'trial',
    'attempt',
    'driver',
    'factors',
    'warmup',
    'valid',
    'checks',
    'nodes',
    'csv',
)
"""Keys that a document of a run must have."""

ROWS_AT_ONCE = 500_000
LARGEST_DOCUMENT = 64 * 1024 * 1024
"""A JSON file beyond this many bytes is not read."""

REPAIR = 'bring the file back from a copy, or run the study again, which repeats its series'
"""What to do about a file that has changed."""


class ArchiveError(InputError):
    """The archive is damaged or is no archive. The message names the file."""


class Status(StrEnum):
    """What became of a run."""

    ANALYSED = 'analysed'
    WARM_UP = 'warm-up'
    INVALID = 'invalid'
    REPEATED = 'repeated'
    SUPERSEDED = 'superseded'
    UNFINISHED = 'unfinished'


@dataclass(frozen=True)
class Operations:
    """The operations of one run, in the order of the file."""

    start: NDArray[np.int64]
    """Microseconds from the start of the run."""
    latency: NDArray[np.int64]
    """Microseconds."""
    operation: NDArray[np.str_]
    status: NDArray[np.str_]
    part: NDArray[np.int64]
    turn: NDArray[np.int64]
    """Turn of the run, from 1: other runs have theirs between two of them."""

    def rows(self, operation: str | None = None, *, succeeded: bool = True, parts: bool = True) -> NDArray[np.bool_]:
        """Mark the operations of this type that succeeded, or that failed.

        :param operation: None: all types, without the parts of a read-modify-write, which is one operation
        :param parts: of one type: also the read and the update inside a read-modify-write, as YCSB reports them
        """
        chosen: NDArray[np.bool_] = (self.status == 'OK') == succeeded
        if operation is not None:
            chosen &= self.operation == operation
        return chosen if operation is not None and parts else chosen & (self.part == 0)

    @property
    def seconds(self) -> float:
        """Time from the start of the first operation to the end of the last one; 0 without operations."""
        whole = self.part == 0
        if not whole.any():
            return 0.0
        return float((self.start[whole] + self.latency[whole]).max() - self.start[whole].min()) / 1e6


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    document: Json
    """`runs/<run>.json`."""
    status: Status
    json_sha256: str

    @property
    def name(self) -> str:
        """Name of the run and of its files."""
        return str(self.document['run'])

    @property
    def series(self) -> str:
        """Series that the run belongs to."""
        return str(self.document['series'])

    @property
    def trial(self) -> int:
        """Number of the trial in its series, from 1."""
        return int(self.document['trial'])

    @property
    def series_attempt(self) -> int:
        """Attempt of the series that the run belongs to, from 1."""
        return int(self.document['seriesAttempt'])

    @property
    def driver(self) -> str:
        """`raw`, `app` or `k6`."""
        return str(self.document['driver'])

    @property
    def valid(self) -> bool:
        """Whether every validity rule held."""
        return is_valid(self.document)

    @property
    def factors(self) -> Json:
        """Levels of all factors, with the driver."""
        return {**self.document['factors'], 'driver': self.driver}


@dataclass(frozen=True)
class Series:
    """A planned series with its deployment."""

    id: str
    deployment: str
    block: int
    drivers: tuple[str, ...]
    trials: int
    warmup: int
    factors: Json
    """Hard, easy and fixed levels, without the driver."""


@dataclass(frozen=True)
class Archive:
    """A results directory."""

    path: Path
    plan: Json
    series: tuple[Series, ...]
    runs: tuple[Run, ...]
    """Every run that has ended, in the order of the journal, with those that do not count."""
    loads: dict[str, Json]
    """How tables were loaded, by the path of the document in the archive."""
    environment: Json
    versions: dict[str, dict[str, str]]
    failures: tuple[str, ...]
    """Deployments that failed, and continued results, in words."""
    deployment_seconds: float
    journal: tuple[Json, ...]

    @property
    def study(self) -> Json:
        """The study of the plan."""
        study: Json = self.plan['study']
        return study

    @property
    def missing(self) -> list[tuple[Series, int]]:
        """Planned series with analysed trials that are missing, and their number."""
        found = []
        for series in self.series:
            expected = len(series.drivers) * (series.trials - series.warmup)
            there = sum(run.series == series.id and run.status is Status.ANALYSED for run in self.runs)
            if there < expected:
                found.append((series, expected - there))
        return found

    @property
    def partial(self) -> bool:
        """Planned runs were not done. A run that stayed invalid was done."""
        done = sum(run.status in {Status.ANALYSED, Status.WARM_UP, Status.INVALID} for run in self.runs)
        return done < self.planned

    @property
    def planned(self) -> int:
        """Runs that the plan has, the warm-up included."""
        return sum(series.trials * len(series.drivers) for series in self.series)

    def operations(self, run: Run) -> Operations:
        """Read the operations of a run.

        :raises ArchiveError: the file is missing, has another checksum than in the run's document, or another form
        """
        return read_operations(csv_path(self.path, run.name), run.document['csv'])


def csv_path(results: Path, run: str) -> Path:
    """Path of the operations of a run."""
    return results / 'runs' / f'{run}.csv.gz'


def is_valid(document: Mapping[str, Any]) -> bool:
    """Decide on validity: a run is valid when each of its checks holds. This function alone decides."""
    return bool(document['valid']) and all(check['ok'] for check in document['checks'])


def analysed(runs: Iterable[Run], *, with_invalid: bool = False) -> list[Run]:
    """Choose the runs that are analysed. This function alone drops warm-up, and runs that do not count.

    :param with_invalid: also keep invalid runs that have no valid repetition
    """
    wanted = {Status.ANALYSED, Status.INVALID} if with_invalid else {Status.ANALYSED}
    return [run for run in runs if run.status in wanted]


def read_archive(path: Path) -> Archive:
    """Read a results directory, complete or partial.

    :raises ArchiveError: a file is missing, damaged or differs from its checksum in the journal
    """
    if not (path / 'plan.json').is_file():
        raise ArchiveError(f'{path} is no results directory: it has no plan.json')
    plan = read_json(path / 'plan.json')
    if plan.get('format') != 2:
        raise ArchiveError(
            f'{path / "plan.json"}: format {plan.get("format")}, and this version reads 2: '
            'use the version that wrote it'
        )
    journal = _read_journal(path / 'journal.jsonl')
    for entry in journal:
        if entry['event'] == 'opened' and entry['plan'] != plan['hash']:
            raise ArchiveError(
                f'{path / "journal.jsonl"}: it belongs to plan {entry["plan"]}, and plan.json is {plan["hash"]}'
            )
    skipped = {entry['deployment'] for entry in journal if entry['event'] == 'deployment-skipped'}
    series = _planned(plan, path / 'plan.json', skipped)
    opened = [entry['environment'] for entry in journal if entry['event'] == 'opened']
    return Archive(
        path=path,
        plan=plan,
        series=series,
        runs=_runs(path, journal, {one.id for one in series}),
        loads={f'loads/{file.name}': read_json(file) for file in sorted((path / 'loads').glob('*.json'))},
        environment=opened[-1] if opened else {},
        versions={
            entry['deployment']: entry['versions']
            for entry in journal
            if entry['event'] in {'deployment-ready', 'deployment-ended'}
        },
        failures=_failures(journal),
        deployment_seconds=sum(float(entry['seconds']) for entry in journal if entry['event'] == 'deployment-ended'),
        journal=tuple(journal),
    )


def read_json(path: Path) -> Json:
    """Read one JSON object.

    :raises ArchiveError: the file is missing, too large, or not a JSON object
    """
    try:
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise ArchiveError(f'{path}: larger than {LARGEST_DOCUMENT} bytes, which no file of an archive is')
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ArchiveError(f'{path}: cannot be read: {error.strerror}') from error
    except ValueError as error:
        raise ArchiveError(f'{path}: is not JSON: {error}') from error
    if not isinstance(value, dict):
        raise ArchiveError(f'{path}: has no JSON object')
    return value


def read_operations(path: Path, expected: Mapping[str, Any]) -> Operations:
    """Read the CSV file of a run, some rows at a time.

    :param expected: `sha256` of the file and its number of `rows`
    :raises ArchiveError: the file is missing, or differs from what is expected
    """
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise ArchiveError(f'{path}: cannot be read: {error.strerror}') from error
    digest = hashlib.sha256(packed).hexdigest()
    if digest != expected['sha256']:
        raise ArchiveError(
            f'{path}: its SHA-256 is {digest}, and the document of the run has {expected["sha256"]}: {REPAIR}'
        )
    try:
        with gzip.open(io.BytesIO(packed), 'rt', encoding='utf-8') as lines:
            header = lines.readline().strip()
            if header != ','.join(COLUMNS):
                raise ArchiveError(f'{path}: its columns are {header[:80]!r}, and should be {",".join(COLUMNS)!r}')
            chunks = _chunks(lines)
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveError(f'{path}: cannot be unpacked: {error}') from error
    except ValueError as error:
        raise ArchiveError(f'{path}: {error}') from error
    rows = np.concatenate(chunks)
    if len(rows) != expected['rows']:
        raise ArchiveError(f'{path}: has {len(rows)} rows, and the document of the run has {expected["rows"]}')
    return Operations(*(rows[name] for name in ('start_us', 'latency_us', 'operation', 'status', 'part', 'turn')))


_ROW = np.dtype(
    [
        ('start_us', np.int64),
        ('operation', 'U17'),
        ('latency_us', np.int64),
        ('status', 'U24'),
        ('thread', np.int32),
        ('part', np.int64),
        ('turn', np.int64),
    ]
)


def _chunks(lines: io.TextIOBase) -> list[NDArray[Any]]:
    chunks: list[NDArray[Any]] = [np.empty(0, _ROW)]
    while True:
        text = lines.readlines(ROWS_AT_ONCE * 32)
        if not text:
            return chunks
        chunks.append(np.loadtxt(text, dtype=_ROW, delimiter=',', comments=None, ndmin=1))


def _read_journal(path: Path) -> list[Json]:
    """Read the entries. A last line without its end is what a crash left: it does not count."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ArchiveError(f'{path}: cannot be read: {error.strerror}') from error
    entries = []
    for number, line in enumerate(text.split(b'\n')[:-1], start=1):
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict) or not isinstance(entry.get('event'), str):
                raise ArchiveError(f'{path}: line {number} has no event')
        except ValueError as error:
            raise ArchiveError(f'{path}: line {number} is not JSON: {error}') from error
        entries.append(entry)
    return entries


def _planned(plan: Json, path: Path, skipped: set[str]) -> tuple[Series, ...]:
    """Find the series of the plan, without those that nothing undecided needed."""
    try:
        fixed = plan['study']['fixed']
        return tuple(
            Series(
                id=series['id'],
                deployment=deployment['id'],
                block=deployment['block'],
                drivers=tuple(series['drivers']),
                trials=series['trials'],
                warmup=series['warmup'],
                factors={**fixed, **deployment['hard'], **series['easy']},
            )
            for deployment in plan['deployments']
            if deployment['id'] not in skipped
            for series in deployment['series']
        )
    except (KeyError, TypeError) as error:
        raise ArchiveError(f'{path}: is not a plan: {error} is missing or wrong') from error


def _runs(path: Path, journal: list[Json], planned: set[str]) -> tuple[Run, ...]:
    """Find the runs that ended, and which of them count: those of the complete attempt of their series."""
    complete, still_open = _attempts(journal)
    ended = _ended(path, journal, complete)
    trials: dict[tuple[str, int, str], list[Run]] = {}
    for run in ended:
        if run.series not in planned:
            raise ArchiveError(f'{path / "runs" / run.name}.json: its series {run.series} is not in the plan')
        if (run.series, run.series_attempt) in complete:
            trials.setdefault((run.series, run.trial, run.driver), []).append(run)
    counting = {_that_counts(attempts).name for attempts in trials.values()}

    def status(run: Run) -> Status:
        attempt = (run.series, run.series_attempt)
        if attempt not in complete:
            return Status.UNFINISHED if attempt in still_open else Status.SUPERSEDED
        if run.document['warmup']:
            return Status.WARM_UP
        if run.name not in counting:
            return Status.REPEATED
        return Status.ANALYSED if run.valid else Status.INVALID

    return tuple(replace(run, status=status(run)) for run in ended)


def _ended(path: Path, journal: list[Json], complete: set[tuple[str, int]]) -> list[Run]:
    """Read the documents of the runs that ended."""
    found = []
    for entry in journal:
        if entry['event'] == 'run-ended':
            try:
                found.append(_read_run(path, entry))
            except ArchiveError:
                # A series is also repeated when its files were damaged: the void attempt can lack them.
                if (entry['series'], entry['seriesAttempt']) in complete:
                    raise
    return found


def _attempts(journal: list[Json]) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Find the attempts of series that are complete, and those that have not ended."""
    last: dict[str, tuple[int, str]] = {}
    for entry in journal:
        if entry['event'] in {'series-started', 'series-ended', 'series-void'}:
            last[entry['series']] = entry['attempt'], entry['event']
    found = [
        {(series, attempt) for series, (attempt, event) in last.items() if event == wanted}
        for wanted in ('series-ended', 'series-started')
    ]
    return found[0], found[1]


def _that_counts(attempts: list[Run]) -> Run:
    """Choose the first valid attempt of a trial, or the last one where none is valid."""
    in_order = sorted(attempts, key=lambda run: int(run.document['attempt']))
    return next((run for run in in_order if run.valid), in_order[-1])


def _read_run(path: Path, entry: Json) -> Run:
    file = path / 'runs' / f'{entry["run"]}.json'
    document = read_json(file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != entry['sha256']['json']:
        raise ArchiveError(f'{file}: its SHA-256 is {digest}, and the journal has {entry["sha256"]["json"]}: {REPAIR}')
    for key in NEEDED:
        if key not in document:
            raise ArchiveError(f'{file}: {key} is missing')
    if document['run'] != entry['run']:
        raise ArchiveError(f'{file}: is the document of run {document["run"]}')
    if document['csv']['sha256'] != entry['sha256']['csv']:
        raise ArchiveError(f'{file}: its CSV file has another SHA-256 than the journal')
    return Run(document, Status.UNFINISHED, digest)


def _failures(journal: list[Json]) -> tuple[str, ...]:
    found = [
        f'Deployment {entry["deployment"]} failed: {entry["reason"]}'
        for entry in journal
        if entry['event'] == 'deployment-failed'
    ]
    found += [
        f'Series {entry["series"]} was repeated whole: {entry["reason"]}'
        for entry in journal
        if entry['event'] == 'series-void'
    ]
    found += [
        f'The results were continued with --force although this differs: {"; ".join(entry["differs"])}'
        for entry in journal
        if entry['event'] == 'opened' and entry.get('differs')
    ]
    return tuple(found)
