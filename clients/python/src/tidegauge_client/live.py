"""The live stream: server-sent events that continue after a lost connection."""

import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tidegauge_client.errors import TidegaugeError, UnreachableError
from tidegauge_client.http import Http, Query, is_temporary, next_delay, wait_before
from tidegauge_client.types import Reading

# The API sends a comment every 15 s. A stream that is silent for longer than this is broken. Seconds.
_SILENT = 45.0
# Largest line of an event, bytes.
_MAX_LINE = 64 * 2**20


@dataclass(frozen=True)
class NewReadings:
    """Readings that were just committed, and the id of the event."""

    readings: list[Reading]
    id: str | None


@dataclass(frozen=True)
class Gap:
    """The number of readings that this client missed; None when it is unknown."""

    missed: int | None
    id: str | None


def follow(http_: Http, query: Query, last_event_id: str | None) -> Iterator[NewReadings | Gap]:
    """Yield events until the caller leaves its loop. Raise ProblemError when the API refuses the request."""
    stream = _Stream(http_, query, last_event_id)
    delay = next_delay(0)
    was_open = False
    while True:
        failure: TidegaugeError | None = None
        try:
            for event in stream.events():
                delay = next_delay(0)
                if event is not None:
                    yield event
                # Without an id, the API cannot continue the stream.
                elif was_open and stream.position is None:
                    yield Gap(None, None)
                was_open = True
        except TidegaugeError as error:
            if not is_temporary(error):
                raise
            failure = error
        time.sleep(wait_before(delay, failure))
        delay = next_delay(delay)


class _Stream:
    """Connections of a stream. `position` is the id of the last event or comment."""

    def __init__(self, http_: Http, query: Query, position: str | None) -> None:
        self._http = http_
        self._query = query
        self.position = position

    def events(self) -> Iterator[NewReadings | Gap | None]:
        """Yield None when a connection is open, then its events, until it ends."""
        headers = {} if self.position is None else {'Last-Event-ID': self.position}
        opened = self._http.open('GET', '/v1/live', self._query, None, headers, _SILENT)
        with contextlib.ExitStack() as stack:
            answer = stack.enter_context(opened)
            yield None
            fields: dict[str, str] = {}
            while line := _line(answer):
                name, _, value = line.rstrip('\r\n').partition(':')
                if line.strip('\r\n'):
                    fields[name] = value.removeprefix(' ')
                    continue
                # The end of an event. Comments carry an id too, which keeps the position current.
                self.position = fields.get('id', self.position)
                event = _event(fields)
                fields = {}
                if event is not None:
                    yield event


def _line(answer: http.client.HTTPResponse) -> str:
    """Return the next line, or an empty text at the end of the stream."""
    line = answer.readline(_MAX_LINE + 1)
    if len(line) > _MAX_LINE:
        raise UnreachableError(f'an event of the live stream is longer than {_MAX_LINE} bytes')
    return line.decode()


def _event(fields: dict[str, str]) -> NewReadings | Gap | None:
    name, data, position = fields.get('event'), fields.get('data'), fields.get('id')
    if data is None:
        return None
    if name == 'readings':
        return NewReadings(json.loads(data)['readings'], position)
    return Gap(json.loads(data)['missed'], position) if name == 'gap' else None
