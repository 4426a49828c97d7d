"""Batches of readings."""

import json
import math
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime

from tidegauge_client.types import NewReading, time_text

# The API accepts 10,000 readings in a payload.
_BATCH_READINGS = 5000

_lock = threading.Lock()
_last_time = 0


def with_times(readings: Sequence[NewReading]) -> list[NewReading]:
    """Return the readings with a time each, so that a repeated reading is a duplicate and is stored once.

    Raise ValueError for a value that JSON cannot hold.
    """
    return [_with_time(reading, index) for index, reading in enumerate(readings)]


def batches(readings: Sequence[NewReading], most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the index of the first reading of each batch, and its JSON: at most `most_bytes`, or one reading."""
    texts = [json.dumps(reading, separators=(',', ':'), allow_nan=False).encode() for reading in readings]
    first, size = 0, 2
    for index, text in enumerate(texts):
        size += len(text) + 1
        if index > first and (size > most_bytes or index - first == _BATCH_READINGS):
            yield first, b'[' + b','.join(texts[first:index]) + b']'
            first, size = index, 3 + len(text)
    if texts:
        yield first, b'[' + b','.join(texts[first:]) + b']'


def _with_time(reading: NewReading, index: int) -> NewReading:
    value = reading.get('v')
    if not isinstance(value, (int, float, str)) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(
            f'readings[{index}]["v"] is {value!r}: a value is a finite number, True, False or a text. '
            'Leave the reading out instead'
        )
    if 't' not in reading:
        return {**reading, 't': _now()}
    return {**reading, 't': time_text(reading['t'])} if isinstance(reading['t'], datetime) else reading


def _now() -> int:
    """Return the time in microseconds. No two calls return the same, because a time identifies a reading."""
    global _last_time  # noqa: PLW0603 all clients of the process share it
    with _lock:
        _last_time = max(_last_time + 1, time.time_ns() // 1000)
        return _last_time
