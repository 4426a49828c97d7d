"""Verifies documents of `tidegauge attest` against each other and against exports, offline.

    python3 verify_attestation.py --key KEY data/attestations/*.jsonl --export readings.ndjson.gz

It needs Python 3.9 or later and no other package. Exports are NDJSON or CSV of `GET /v1/export`, also compressed with
gzip. It ends with 0 if all is equal, with 1 and the first difference if not, and with 2 after bad usage. A statement
about a day is that of the newest document. Memory: 16 bytes for each reading of one device that has a number.

docs/attestation.md of Tidegauge describes the documents, and what they prove.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import re
import struct
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

Point = tuple[int, int, int, int]
Ranges = list[tuple[int, int]]
Line = dict[str, Any]


class Difference(Exception):
    """Something that is not as the documents state it."""


# Ed25519: RFC 8032, section 5.1, with its formulas for extended coordinates.

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
ROOT_OF_MINUS_1 = pow(2, (PRIME - 1) // 4, PRIME)


def _add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % PRIME
    b = (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c = 2 * p[3] * q[3] * CURVE % PRIME
    d = 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def _multiply(factor: int, p: Point) -> Point:
    product: Point = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            product = _add(product, p)
        p = _add(p, p)
        factor >>= 1
    return product


def _point(encoded: bytes) -> Point | None:
    y = int.from_bytes(encoded, 'little')
    sign = y >> 255
    y &= (1 << 255) - 1
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME != 0:
        x = x * ROOT_OF_MINUS_1 % PRIME
    if (x * x - square) % PRIME != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = PRIME - x
    return x, y, 1, x * y % PRIME


BASE = _point((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, 'little'))


def is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature of a message is one of the public key."""
    if len(key) != 32 or len(signature) != 64:
        return False
    public, r = _point(key), _point(signature[:32])
    s = int.from_bytes(signature[32:], 'little')
    if public is None or r is None or BASE is None or s >= ORDER:
        return False
    hashed = hashlib.sha512(signature[:32] + key + message).digest()
    left = _multiply(s, BASE)
    right = _add(r, _multiply(int.from_bytes(hashed, 'little') % ORDER, public))
    return all((left[each] * right[2] - right[each] * left[2]) % PRIME == 0 for each in (0, 1))


# Documents


class Document(NamedTuple):
    """A document whose signature is valid."""

    number: int
    header: Line
    days: list[Line]
    sha256: str

    def covers(self, device: str, day: str) -> bool:
        """Whether it has a line about that day, unless there are no readings."""
        first, last = self.header['from'], self.header['to']
        return first is not None and first <= day <= last and is_within(self.header['device'], device)


def is_within(limit: str | None, device: str) -> bool:
    """Whether a device is the one of a limit or below it."""
    return limit is None or device == limit or device.startswith(limit + '/')


SIGNATURE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","signature":"([0-9a-f]{128})"\}\n')


class _Unread(NamedTuple):
    path: str
    header: Line
    body: bytes
    sha256: str
    signature: bytes


def _table(line: bytes) -> Line:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise Difference('a line is no object of JSON')
    return value


def _open(path: str) -> _Unread:
    with open(path, 'rb') as file:
        data = file.read()
    start = data.rfind(b'\n', 0, -1) + 1
    end = SIGNATURE.fullmatch(data, start)
    try:
        header = _table(data[: data.index(b'\n')])
    except (ValueError, Difference):
        header = {}
    if end is None or header.get('attestation') != 1 or not isinstance(header.get('number'), int):
        raise Difference(f'{path} is not a complete document of version 1')
    return _Unread(path, header, data[:start], end[1].decode(), bytes.fromhex(end[2].decode()))


def read_chain(paths: Iterable[str], key: str, after: str | None = None) -> list[Document]:
    """Reads documents, and checks signatures and chain.

    `key` is the public key of the first one, 64 hexadecimal digits. `after` is the `sha256` of the document before the
    first one; None if that is the first of the chain.
    """
    chain: list[Document] = []
    previous = after
    unread = sorted((_open(path) for path in paths), key=lambda each: each.header['number'])
    for path, header, body, claimed, signature in unread:
        number = header['number']
        if header.get('key') != key:
            raise Difference(f'{path}: the key is {header.get("key")}, and not {key}')
        sha256 = hashlib.sha256(body).hexdigest()
        message = f'tidegauge attestation\n{sha256}\n'.encode()
        if claimed != sha256 or not is_signed(bytes.fromhex(key), message, signature):
            raise Difference(f'{path}: the signature is not valid: the document was changed, or another key signed it')
        expected = chain[-1].number + 1 if chain else 1 if after is None else number
        if number != expected or header['previous'] != previous:
            raise Difference(f'{path}: document {number} does not follow the one before: document {expected} is needed')
        lines = [_table(line) for line in body.splitlines()]
        document = Document(number, header, lines[1:-1], sha256)
        _check_document(document, lines[-1])
        chain.append(document)
        previous = sha256
        key = header.get('nextKey', key)
    return chain


def _check_document(document: Document, totals: Line) -> None:
    """Checks a document against itself: order, totals, and gaps against numbers."""
    where = f'document {document.number}'
    count = {'days': 0, 'readings': 0, 'missing': 0, 'arrived': 0, 'unjudged': 0, 'late': 0, 'deleted': 0, 'changed': 0}
    last = ('', '')
    for line in document.days:
        place = (line['device'], line['day'])
        if place <= last or not document.covers(*place):
            raise Difference(f'{where}: the line of {place[0]} {place[1]} is not in its place')
        last = place
        count['days'] += 1
        count['readings'] += line['count']
        count['deleted'] += line.get('deleted', 0)
        count['changed'] += 1 if 'was' in line else 0
        for boot in line.get('boots', []):
            count['late'] += boot['late'] or 0
            for kind in ('missing', 'arrived', 'unjudged'):
                count[kind] += sum(to - first + 1 for first, to in boot.get(kind, []))
    if count != totals:
        raise Difference(f'{where}: the totals are not those of its lines')
    start = 0
    for index, line in enumerate(document.days):
        if index + 1 == len(document.days) or document.days[index + 1]['device'] != line['device']:
            _check_gaps(where, document.days[start : index + 1])
            start = index + 1


def _check_gaps(where: str, days: list[Line]) -> None:
    """Checks that the gaps of a device are the numbers that no day of the document has."""
    segments: dict[str, list[tuple[int, str, int]]] = {}
    listed: dict[tuple[str, str], Ranges] = {}
    before: dict[str, int] = {}
    unlisted = set()
    for line in days:
        for boot in line.get('boots', []):
            name = boot['boot']
            if boot['numbers'] is None:
                unlisted.add(name)
                continue
            segments.setdefault(name, []).extend((first, line['day'], to) for first, to in boot['numbers'])
            before.setdefault(name, boot.get('before', boot['numbers'][0][0]))
            gaps = [(a, b) for kind in ('missing', 'arrived', 'unjudged') for a, b in boot.get(kind, [])]
            if gaps:
                listed[line['day'], name] = _merged(gaps)
    for name, numbers in segments.items():
        if name in unlisted:
            continue
        numbers.sort()
        covered = min(before[name], numbers[0][0])
        gaps_of_days: dict[str, Ranges] = {}
        for first, day, to in numbers:
            if covered + 1 < first <= covered + 2**32:
                gaps_of_days.setdefault(day, []).append((covered + 1, first - 1))
            covered = max(covered, to)
        for line in days:
            if listed.get((line['day'], name), []) != gaps_of_days.get(line['day'], []):
                place = f'{line["device"]} {line["day"]}'
                raise Difference(f'{where}: {place}: the gaps of boot {name} are not those of its numbers')


def _merged(ranges: Ranges) -> Ranges:
    merged: Ranges = []
    for first, to in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(to, merged[-1][1]))
        else:
            merged.append((first, to))
    return merged


Statements = dict[tuple[str, str], tuple[int, Line]]


def statements_of(chain: list[Document]) -> Statements:
    """The newest line about each device and day, with the number of its document."""
    stated: Statements = {}
    for document in chain:
        lines = {(line['device'], line['day']): line for line in document.days}
        for place, (number, earlier) in stated.items():
            if not document.covers(*place):
                continue
            line = lines.get(place)
            where = f'document {document.number}: {place[0]} {place[1]}'
            if line is None:
                raise Difference(f'{where}: it has no line, although document {number} has one')
            expected = {'document': number, 'count': earlier['count'], 'digest': earlier['digest']}
            if line.get('was', expected) != expected or ('was' in line) != (line['digest'] != earlier['digest']):
                raise Difference(f'{where}: the change since document {number} is not stated')
        stated.update((place, (document.number, line)) for place, line in lines.items())
    return stated


# Exports


class Reading(NamedTuple):
    """A line of an export. Times are microseconds since 1970."""

    device: str
    metric: str
    time: int
    value: Any
    received: int
    quality: str
    boot: str | None
    seq: int | None


QUALITIES = ('ok', 'skewed', 'unsynced')
TIME = re.compile(r'(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6})Z', re.ASCII)
FIELD = re.compile(r'("(?:[^"]|"")*"|[^,"]*)(,|\Z)')
COLUMNS = ['device', 'metric', 'time', 'value', 'text', 'received', 'quality', 'boot', 'seq', 'unit']
EPOCH = date(1970, 1, 1).toordinal()


@lru_cache(maxsize=1000)
def _day_number(name: str) -> int:
    return date.fromisoformat(name).toordinal() - EPOCH


@lru_cache(maxsize=1000)
def _day_name(number: int) -> str:
    return date.fromordinal(number + EPOCH).isoformat()


def _microseconds(text: str) -> int:
    match = TIME.fullmatch(text)
    if match is None:
        raise ValueError(f'{text} is no time')
    minutes = (_day_number(match[1]) * 24 + int(match[2])) * 60 + int(match[3])
    return (minutes * 60 + int(match[4])) * 1_000_000 + int(match[5])


def _reading(time: str, received: str, row: Line) -> Reading:
    """Raises ValueError or TypeError if a field cannot be one of a reading."""
    device, metric, value, quality = (row[each] for each in ('device', 'metric', 'value', 'quality'))
    boot, seq = row.get('boot'), row.get('seq')
    for text in (device, metric, quality, '' if boot is None else boot, value if isinstance(value, str) else ''):
        text.encode()
    if quality not in QUALITIES:
        raise ValueError(f'{quality} is no quality')
    if not isinstance(value, (str, float)):
        raise ValueError('its value is no number and no text')
    if seq is not None and not float(seq).is_integer():
        raise ValueError(f'{seq} is no number of a reading')
    number = None if seq is None else int(seq)
    return Reading(device, metric, _microseconds(time), value, _microseconds(received), quality, boot, number)


def readings_of(path: str) -> Iterator[Reading]:
    """The readings of an export."""
    with open(path, 'rb') as file:
        is_compressed = file.read(2) == b'\x1f\x8b'
        file.seek(0)
        stream: Any = gzip.GzipFile(fileobj=file) if is_compressed else file
        buffered = io.BufferedReader(stream)
        yield from _ndjson(buffered, path) if buffered.peek(1)[:1] == b'{' else _csv(buffered, path)


def _ndjson(stream: BinaryIO, path: str) -> Iterator[Reading]:
    for number, line in enumerate(stream, 1):
        try:
            # The integer -0 has no sign in Python.
            row = json.loads(line, parse_int=float)
            if 'complete' in row and 'device' not in row:
                if row['complete'] is not True:
                    raise Difference(f'{path}: the export is not complete: {row.get("error")}')
                continue
            yield _reading(row['time'], row['received'], row)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise Difference(f'{path}: line {number} is no reading: {error}') from None


def _csv(stream: BinaryIO, path: str) -> Iterator[Reading]:
    record, number = '', 0
    for line in io.TextIOWrapper(stream, encoding='utf-8', newline=''):
        record += line
        if record.count('"') % 2 == 1:
            continue
        number += 1
        fields, record = _fields(record.rstrip('\r\n')), ''
        if (number == 1 and fields == COLUMNS) or (fields and str(fields[0]).startswith('# complete')):
            continue
        try:
            if len(fields) != len(COLUMNS):
                raise ValueError('it does not have the columns of an export')
            row: Line = dict(zip(COLUMNS, fields))
            if row['value'] is not None and row['text'] is not None:
                raise ValueError('it has a number and a text')
            row['value'] = row['text'] if row['value'] is None else float(row['value'])
            row['seq'] = None if row['seq'] is None else float(row['seq'])
            yield _reading(row['time'], row['received'], row)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise Difference(f'{path}: row {number} is no reading: {error}') from None
    if record:
        raise Difference(f'{path}: the export ends within a row')


def _fields(record: str) -> list[str | None]:
    """Splits a row. A field without quotes and characters is None, and in quotes an empty text."""
    fields: list[str | None] = []
    at = 0
    while True:
        match = FIELD.match(record, at)
        if match is None:
            return []
        text = match[1]
        fields.append(text[1:-1].replace('""', '"') if text.startswith('"') else text or None)
        if match[2] == '':
            return fields
        at = match.end()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack('>I', len(encoded)) + encoded


def _encoded(reading: Reading) -> bytes:
    """A reading as docs/copy.md defines it, with 0 as the time of receipt."""
    is_text = isinstance(reading.value, str)
    shape = QUALITIES.index(reading.quality) | (4 if is_text else 0) | (0 if reading.boot is None else 8)
    seq = -1 if reading.seq is None else reading.seq
    head = struct.pack('>dddB', reading.time, 0, seq, shape)
    boot = b'' if reading.boot is None else _text(reading.boot)
    return head + boot + (_text(reading.value) if is_text else struct.pack('>d', reading.value))


class Day:
    """The readings of one device on one day."""

    def __init__(self) -> None:
        self.count = 0
        self.digest = bytes(32)
        self.times: list[int] = []
        self.received: list[int] = []
        self.delay: list[int] = []
        self.quality = dict.fromkeys(QUALITIES, 0)
        self.boots: dict[str, tuple[Any, Any]] = {}
        self._series: Any = None
        self._series_count = 0

    def add(self, reading: Reading) -> None:
        """Adds the next reading of a series."""
        if self._series is None:
            self._series = hashlib.sha256()
        self._series.update(_encoded(reading))
        self._series_count += 1
        for bounds, value in (
            (self.times, reading.time),
            (self.received, reading.received),
            (self.delay, reading.received - reading.time),
        ):
            bounds[:] = [min(value, *bounds), max(value, *bounds)] if bounds else [value, value]
        self.quality[reading.quality] += 1
        if reading.boot is not None and reading.seq is not None:
            numbers, received = self.boots.setdefault(reading.boot, (array('d'), array('d')))
            numbers.append(reading.seq)
            received.append(reading.received)

    def end_series(self, metric: str) -> None:
        """Ends the readings of a metric."""
        if self._series is None:
            return
        part = self.digest + _text(metric) + struct.pack('>d', self._series_count) + self._series.digest()
        self.digest = hashlib.sha256(part).digest()
        self.count += self._series_count
        self._series, self._series_count = None, 0


def _numbers_of(numbers: Any, received: Any) -> tuple[Ranges, int]:
    """The numbers of a boot as ranges, and how many readings came after one with a higher number."""
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    ranges = _merged([(int(numbers[index]), int(numbers[index])) for index in order])
    late, higher, same, number = 0, float('inf'), float('inf'), -1.0
    for index in reversed(order):
        if numbers[index] != number:
            number, higher, same = numbers[index], min(higher, same), float('inf')
        late += 1 if received[index] > higher else 0
        same = min(same, received[index])
    return ranges, late


def compare_day(place: tuple[str, str], day: Day, number: int, line: Line) -> list[str]:
    """Compares a day of an export with a line of a document. Returns notes."""
    where = f'{place[0]} {place[1]}: document {number}'
    stated = {boot['boot']: boot for boot in line.get('boots', [])}
    found = {boot: _numbers_of(*arrivals) for boot, arrivals in day.boots.items()}
    for boot in sorted(set(stated) | set(found)):
        ranges = found.get(boot, ([], 0))[0]
        attested = [(a, b) for a, b in stated[boot]['numbers'] or ranges] if boot in stated else []
        lacking, extra = _first_outside(attested, ranges), _first_outside(ranges, attested)
        if lacking is not None:
            raise Difference(f'{where} has number {lacking} of boot {boot}, the export does not')
        if extra is not None:
            raise Difference(f'{where} does not have number {extra} of boot {boot}, the export does')
    if line['count'] != day.count:
        raise Difference(f'{where} has {line["count"]} readings, the export {day.count}')
    times = [_microseconds(each) for each in line['times']]
    if times != day.times:
        raise Difference(f'{where} has readings from {line["times"][0]} to {line["times"][1]}, the export others')
    if line['quality'] != day.quality:
        raise Difference(f'{where} has the qualities {line["quality"]}, the export {day.quality}')
    if line['digest'] != day.digest.hex():
        raise Difference(f'{where} has another value, text, time, metric or number of a reading: the digests differ')
    is_equal = [_microseconds(each) for each in line['received']] == day.received and line['delay'] == day.delay
    if not is_equal or any(stated[boot]['late'] not in (None, found[boot][1]) for boot in found):
        return [f'{where} has other times of receipt: some stores change them when a message is received again']
    return []


def _first_outside(ranges: Ranges, others: Ranges) -> int | None:
    """The first number of ranges that is in none of the others. Both are ascending."""
    starts = [first for first, _ in others]
    for first, to in ranges:
        index = bisect_right(starts, first) - 1
        if index < 0 or others[index][1] < first:
            return first
        if others[index][1] < to:
            return others[index][1] + 1
    return None


class Selection(NamedTuple):
    """Which days are compared. Others are counted."""

    first: str
    last: str
    device: str | None

    def has(self, device: str, day: str) -> bool:
        """Whether a day is compared."""
        return self.first <= day <= self.last and is_within(self.device, device)


class Result(NamedTuple):
    """What was compared without a difference."""

    days: int
    readings: int
    ignored: int
    notes: list[str]


def compare(chain: list[Document], exports: Iterable[str], selection: Selection) -> Result:
    """Compares exports with the newest statement about each day. A day is in one export only."""
    stated = statements_of(chain)
    seen = set()
    notes: list[str] = []
    readings, ignored = 0, 0
    for path in exports:
        for device, days, others in _devices_of(path, selection):
            ignored += others
            for day, found in sorted(days.items()):
                place = (device, day)
                if place in seen:
                    raise Difference(f'{device} {day}: two exports have readings of this day')
                seen.add(place)
                if not any(document.covers(*place) for document in chain):
                    raise Difference(f'{device} {day}: the export has readings, and no document is about this day')
                number, line = stated.get(place, (0, {'count': 0}))
                if line['count'] == 0:
                    raise Difference(f'{device} {day}: the documents have no readings, the export {found.count}')
                notes += compare_day(place, found, number, line)
                readings += found.count
    for place, (number, line) in sorted(stated.items()):
        if line['count'] > 0 and selection.has(*place) and place not in seen:
            raise Difference(f'{place[0]} {place[1]}: document {number} has {line["count"]} readings, the export none')
    return Result(len(seen), readings, ignored, notes)


def _devices_of(path: str, selection: Selection) -> Iterator[tuple[str, dict[str, Day], int]]:
    """The selected days of each device of an export, and the number of other readings."""
    last: tuple[str, str, int] = ('', '', -1)
    days: dict[str, Day] = {}
    ignored = 0
    for reading in readings_of(path):
        place = (reading.device, reading.metric, reading.time)
        if place <= last:
            raise Difference(f'{path}: {place[0]} {place[1]} after {last[0]} {last[1]}: a reading is not in its order')
        if place[:2] != last[:2]:
            for each in days.values():
                each.end_series(last[1])
        if place[0] != last[0] and last[0]:
            yield last[0], days, ignored
            days, ignored = {}, 0
        last = place
        day = _day_name(reading.time // 86_400_000_000)
        if selection.has(reading.device, day):
            days.setdefault(day, Day()).add(reading)
        else:
            ignored += 1
    for each in days.values():
        each.end_series(last[1])
    if last[0]:
        yield last[0], days, ignored


def _summary(chain: list[Document]) -> str:
    first, last = chain[0], chain[-1]
    lines = [line for _, line in statements_of(chain).values()]
    boots = [boot for line in lines for boot in line.get('boots', [])]
    numbers = {
        kind: sum(to - start + 1 for boot in boots for start, to in boot.get(kind, []))
        for kind in ('missing', 'arrived', 'unjudged')
    }
    return (
        f'documents {first.number} to {last.number}, the last made {last.header["made"]}, sha256 {last.sha256}\n'
        f'{len(lines)} days of devices, {sum(line["count"] for line in lines)} readings, '
        f'{numbers["missing"]} numbers missing, {numbers["arrived"]} arrived and not stored, '
        f'{numbers["unjudged"]} unjudged, {sum(line.get("deleted", 0) for line in lines)} readings deleted'
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code."""
    parser = argparse.ArgumentParser(description='Verifies documents of tidegauge attest, and exports against them.')
    parser.add_argument('documents', nargs='+', help='all documents of the chain')
    parser.add_argument('--key', required=True, help='the public key of the first document, from its owner')
    parser.add_argument('--export', action='append', default=[], metavar='FILE', help='NDJSON or CSV, also with gzip')
    parser.add_argument('--after', metavar='SHA256', help='of the document before the first one, if that is not 1')
    parser.add_argument('--newest', metavar='SHA256', help='the last document that you know: it must be in the chain')
    parser.add_argument('--until', type=int, metavar='NUMBER', help='leave out later documents: for an older export')
    parser.add_argument('--from', dest='first', default='', metavar='DAY', help='the first day to compare')
    parser.add_argument('--to', dest='last', default='9999', metavar='DAY', help='the last day to compare')
    parser.add_argument('--device', help='compare only this device and those below it')
    options = parser.parse_args(arguments)
    if not re.fullmatch('[0-9a-f]{64}', options.key):
        parser.error('--key must be 64 hexadecimal digits')
    try:
        chain = read_chain(options.documents, options.key, options.after)
        if options.newest is not None and options.newest not in [document.sha256 for document in chain]:
            raise Difference(f'the document with sha256 {options.newest} is not in the chain: its end is missing')
        if options.until is not None:
            chain = [document for document in chain if document.number <= options.until]
        if not chain:
            parser.error('--until leaves no document')
        print(_summary(chain))
        if options.export:
            result = compare(chain, options.export, Selection(options.first, options.last, options.device))
            for note in result.notes:
                print(f'note: {note}')
            print(f'{result.days} days of devices and {result.readings} readings of the export are equal', end='')
            print(f', {result.ignored} readings are of other days' if result.ignored else '')
    except Difference as difference:
        print(f'first difference: {difference}')
        return 1
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeError) as error:
        print(f'first difference: a file is damaged: {error}')
        return 1
    except OSError as error:
        print(f'cannot be read: {error}', file=sys.stderr)
        return 2
    print('verified')
    return 0


if __name__ == '__main__':
    sys.exit(main())
