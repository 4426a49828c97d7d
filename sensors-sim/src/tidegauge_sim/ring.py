"""The last messages on disk, for requests to send some of them again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tidegauge_sim.devices import Message

# docs/nothing-missing.md describes the messages.
REQUESTS = 'tidegauge/resend'
RING_BYTES = 64 * 1024 * 1024
# Of a row besides its topic and payload.
ROW_BYTES = 150
ROWS_AT_ONCE = 1_000
MAX_REQUEST_BYTES = 4_096
MAX_RANGES = 64
MAX_NUMBER = 2**53 - 1
_SIZE = f'length(topic) + length(payload) + {ROW_BYTES}'

SCHEMA = """
pragma journal_mode = wal;
pragma synchronous = normal;
create table if not exists sent (id integer primary key, device, boot, seq, topic, payload);
create unique index if not exists numbers on sent (device, boot, seq);
"""


class Kept(NamedTuple):
    """A message that was kept, or a declaration."""

    topic: str
    payload: bytes


class Request(NamedTuple):
    """Readings of a device that are missing: inclusive ranges of sequence numbers of a boot."""

    device: str
    boot: str
    ranges: list[tuple[int, int]]


class Ring:
    """The last messages of a process, in a SQLite file that a kill leaves complete."""

    def __init__(self, path: Path, limit: int = RING_BYTES) -> None:
        """`limit` is the size of the messages, bytes."""
        self._limit = limit
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(SCHEMA)
        size = f'select coalesce(sum({_SIZE}), 0) from sent'  # noqa: S608
        self._bytes: int = self._db.execute(size).fetchone()[0]
        self._new: list[tuple[str, str, int, str, bytes]] = []

    def add(self, message: Message) -> None:
        """Keep a message from the next `commit` on."""
        device = device_of(message.topic)
        self._new.append((device, message.boot, message.seq, message.topic, message.payload))

    def commit(self) -> None:
        """Write the new messages. Call it before they are sent."""
        if not self._new:
            return
        self._bytes += sum(len(row[3]) + len(row[4]) + ROW_BYTES for row in self._new)
        with self._db:
            self._db.execute('begin')
            columns = 'device, boot, seq, topic, payload'
            insert = f'insert or ignore into sent ({columns}) values (?, ?, ?, ?, ?)'  # noqa: S608
            self._db.executemany(insert, self._new)
            while self._bytes > self._limit:
                self._drop()
        self._new.clear()

    def newest(self) -> list[Kept]:
        """The newest message of each boot. When it is received again, a loss before it is seen."""
        rows = self._db.execute('select topic, payload, max(seq) from sent group by device, boot')
        return [Kept(topic, payload) for topic, payload, _ in rows]

    def answer(self, request: Request) -> Iterator[Kept]:
        """The messages of a request that were kept, and a declaration if it has older numbers."""
        device, boot, ranges = request
        where = 'device = ? and boot = ? and seq between ? and ? order by seq'
        wanted = f'select topic, payload from sent where {where} limit {ROWS_AT_ONCE}'  # noqa: S608
        for first, last in ranges:
            rows = self._db.execute(wanted, (device, boot, first, last))
            yield from (Kept(*row) for row in rows.fetchall())
        lowest, topic = self._db.execute(
            'select min(seq), topic from sent where device = ? and boot = ?', (device, boot)
        ).fetchone()
        if lowest is None or ranges[0][0] < lowest:
            root = 'sensors' if topic is None else topic.partition('/')[0]
            yield Kept(f'{root}/{device}/kept', json.dumps({'boot': boot, 'kept': lowest}).encode())

    def close(self) -> None:
        """Write the new messages and close the file."""
        self.commit()
        self._db.close()

    def _drop(self) -> None:
        """Drop the oldest messages, at least one and not many more than needed."""
        last = freed = 0
        oldest = f'select id, {_SIZE} from sent order by id limit {ROWS_AT_ONCE}'  # noqa: S608
        for number, size in self._db.execute(oldest).fetchall():
            if freed >= self._bytes - self._limit:
                break
            last, freed = number, freed + size
        self._db.execute('delete from sent where id <= ?', (last,))
        # Copies were counted and not inserted.
        self._bytes = self._bytes - freed if last else 0


def device_of(topic: str) -> str:
    """The device of a topic like sensors/{device}/{metric}."""
    return topic.partition('/')[2].rpartition('/')[0]


def request_filter(template: str) -> str:
    """The filter for the requests to all devices of a topic template."""
    levels = template.partition('{device}')[0].split('/')[1:-1]
    return '/'.join([REQUESTS, *levels, '#'])


def parse_request(payload: bytes) -> Request | None:
    """Read a request. None: it is something else."""
    if len(payload) > MAX_REQUEST_BYTES:
        return None
    try:
        content = json.loads(payload)
        device, boot, ranges = content['device'], content['boot'], content['ranges'][:MAX_RANGES]
        pairs = [(int(first), int(last)) for first, last in ranges]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if not isinstance(device, str) or not isinstance(boot, str) or not pairs:
        return None
    if not all(0 <= first <= last <= MAX_NUMBER for first, last in pairs):
        return None
    return Request(device, boot, sorted(pairs))
