"""Exports: all readings that match, continued after a broken connection."""

import json
import time
from collections.abc import Iterator

from tidegauge_client.errors import TidegaugeError
from tidegauge_client.http import Http, Query, is_temporary, next_delay, wait_before
from tidegauge_client.types import Reading

# Largest line, bytes. A text has at most 4096 characters.
_MAX_LINE = 2**20


def export(http_: Http, query: Query, retry_for: float) -> Iterator[Reading]:
    """Yield all readings, and continue after the last one when the connection breaks.

    Raise ProblemError when the API refuses the request, and UnreachableError when nothing arrives for `retry_for`
    seconds.
    """
    position: dict[str, object] = {}
    delay = next_delay(0)
    deadline = time.monotonic() + retry_for
    while True:
        try:
            for reading in _part(http_, {**query, **position}):
                yield reading
                position = {
                    'afterDevice': reading['device'],
                    'afterMetric': reading['metric'],
                    'afterTime': reading['time'],
                }
                delay = next_delay(0)
                deadline = time.monotonic() + retry_for
        except TidegaugeError as error:
            wait = wait_before(delay, error)
            if not is_temporary(error) or time.monotonic() + wait > deadline:
                raise
        else:
            return
        time.sleep(wait)
        delay = next_delay(delay)


def _part(http_: Http, query: Query) -> Iterator[Reading]:
    """Yield the readings of one answer. Raise UnreachableError when it is not complete."""
    rows = 0
    with http_.open('GET', '/v1/export', query, None, {}) as answer:
        while True:
            line = answer.readline(_MAX_LINE + 1)
            if not line.endswith(b'\n'):
                raise ConnectionError(f'the export ended after {rows} readings, without its last line')
            document = json.loads(line)
            if 'complete' not in document:
                rows += 1
                yield document
            elif document['complete'] and document['rows'] == rows:
                return
            else:
                reason = document.get('error', f'{rows} of {document["rows"]} readings arrived')
                raise ConnectionError(f'the export failed after {rows} readings: {reason}')
