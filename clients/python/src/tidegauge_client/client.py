"""The client."""

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

from tidegauge_client.errors import SendError, TidegaugeError
from tidegauge_client.export import export
from tidegauge_client.http import Http, Query, retry
from tidegauge_client.kept import KeptReadings, answers
from tidegauge_client.live import Gap, NewReadings, follow
from tidegauge_client.sending import batches, with_times
from tidegauge_client.types import (
    Aggregate,
    Delivery,
    Device,
    DeviceWithUnits,
    Figure,
    NewReading,
    Reading,
    Time,
    time_text,
)


class Client:
    """A client of one Tidegauge API.

    `token` is an API key or the API token. `timeout` is the longest silence of a connection, and `retry_for` is how
    long a request that fails temporarily is repeated, both in seconds. `context` trusts a private authority:
    `ssl.create_default_context(cafile='ca.pem')`.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retry_for: float = 60.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._http = Http(url, token, timeout, context)
        self._retry_for = retry_for

    def request(
        self, method: str, path: str, query: Query | None = None, body: Mapping[str, object] | None = None
    ) -> Any:  # noqa: ANN401
        """Send a request for any operation of the API once. Return the JSON of the answer, None for an empty one.

        A list in the query is repeated. Parts of the path must be quoted: `urllib.parse.quote`. Raise ProblemError or
        UnreachableError.
        """
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        return self._http.request(method, path, query or {}, data)

    def readings(  # noqa: PLR0913
        self,
        device: str | None = None,
        *,
        metric: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        order: Literal['asc', 'desc'] = 'desc',
        site: str | None = None,
        city: str | None = None,
        kind: str | None = None,
        year: int | None = None,
        page_size: int = 1000,
    ) -> Iterator[Reading]:
        """Yield all readings in [since, until) of a device, or of the registered devices that match, page by page."""
        query = {
            'device': device,
            'metric': metric,
            **_range(since, until),
            'order': order,
            **_filters(site, city, kind, year),
        }
        yield from self._pages('/v1/readings', 'readings', query, page_size)

    def export(  # noqa: PLR0913
        self,
        *devices: str,
        prefix: str | None = None,
        metrics: Sequence[str] = (),
        since: Time | None = None,
        until: Time | None = None,
        site: str | None = None,
        city: str | None = None,
        kind: str | None = None,
        year: int | None = None,
    ) -> Iterator[Reading]:
        """Yield all readings in [since, until) by device, metric and time, from one long answer.

        Without `devices`, those of the registered devices that match. After a broken connection it continues after the
        last reading. It ends only when the API has reported that the export is complete.
        """
        query = {
            'device': devices or None,
            'prefix': prefix,
            'metric': metrics or None,
            **_range(since, until),
            **_filters(site, city, kind, year),
        }
        return export(self._http, query, self._retry_for)

    def delete_readings(
        self, device: str, *, metric: str | None = None, since: Time | None = None, until: Time | None = None
    ) -> int | None:
        """Delete the readings of a device in [since, until), and return their number.

        At least one of `since` and `until` is required. It sends as many requests as it takes. Return None if the store
        does not count. The count does not include what a failed request deleted.
        """
        query = {
            'device': device,
            'metric': metric,
            **_range(since, until),
        }
        total: int | None = 0
        while True:
            answer = retry(self._retry_for, lambda: self._http.request('DELETE', '/v1/readings', query))
            total = None if total is None or answer['deleted'] is None else total + answer['deleted']
            if answer['complete']:
                return total

    def latest(self, *devices: str) -> list[Reading]:
        """Return the newest reading of each metric of up to 200 devices."""
        answer = self._get('/v1/readings/latest', {'device': devices})
        readings: list[Reading] = answer['readings']
        return readings

    def latest_of(  # noqa: PLR0913
        self,
        prefix: str | None = None,
        *,
        metrics: Sequence[str] = (),
        site: str | None = None,
        city: str | None = None,
        kind: str | None = None,
        year: int | None = None,
        page_size: int = 1000,
    ) -> Iterator[Reading]:
        """Yield the newest reading of each metric of the registered devices that match, page by page.

        Without arguments, of all registered devices. With a `prefix`, of this device and all devices below it.
        """
        query = {'prefix': prefix, 'metric': metrics or None, **_filters(site, city, kind, year)}
        yield from self._pages('/v1/readings/latest', 'readings', query, page_size)

    def aggregates(
        self,
        devices: Sequence[str],
        metrics: Sequence[str],
        *,
        since: Time,
        until: Time | None = None,
        bucket: str,
        figures: Sequence[Figure] = (),
    ) -> list[Aggregate]:
        """Return figures of up to 50 series in [since, until), in buckets such as `5m`.

        The n-th metric belongs to the n-th device; a single device or metric belongs to all. Default of `figures`:
        count, min, max, mean and sum.
        """
        query = {
            'device': devices,
            'metric': metrics,
            **_range(since, until),
            'bucket': bucket,
            'fn': ','.join(figures) or None,
        }
        series: list[Aggregate] = self._get('/v1/readings/series', query)['series']
        return series

    def devices(
        self,
        *,
        site: str | None = None,
        city: str | None = None,
        kind: str | None = None,
        year: int | None = None,
        page_size: int = 1000,
    ) -> Iterator[Device]:
        """Yield all devices that match, by name."""
        yield from self._pages('/v1/devices', 'devices', _filters(site, city, kind, year), page_size)

    def device(self, name: str) -> DeviceWithUnits:
        """Return one device with its units. Raise ProblemError with status 404 when it is not registered."""
        found: DeviceWithUnits = self._get(f'/v1/devices/{quote(name)}', {})
        return found

    def send(
        self,
        readings: Sequence[NewReading],
        *,
        device: str | None = None,
        metric: str | None = None,
        batch_bytes: int = 512 * 1024,
        keep: KeptReadings | None = None,
    ) -> Delivery:
        """Store readings, in batches. Repeat a batch until the API has answered. Each reading is stored once.

        `device` and `metric` are those of readings that name none. `keep` keeps them for `send_missing`. Raise
        ValueError for a value that JSON cannot hold, before anything is sent, and SendError with the readings that were
        not sent.
        """
        timed = with_times(readings)
        if keep is not None:
            for reading in timed:
                keep.add(reading, device, metric)
        total = Delivery(received=0, stored=0, duplicate=0, quarantined=0)
        query = {'device': device, 'metric': metric}
        for first, body in batches(timed, batch_bytes):
            try:
                part = retry(self._retry_for, partial(self._http.request, 'POST', '/v1/readings', query, body))
            except TidegaugeError as error:
                raise SendError(error, total, timed[first:]) from error
            total = Delivery(
                received=total['received'] + part['received'],
                stored=total['stored'] + part['stored'],
                duplicate=total['duplicate'] + part['duplicate'],
                quarantined=total['quarantined'] + part['quarantined'],
            )
        return total

    def send_missing(self, kept: KeptReadings, *, device: str | None = None) -> Delivery:
        """Send readings again that the API lacks and that `send` kept. Declare the others gone.

        Call it from time to time, for example once a minute. With a `device`, only for this device and all below it.
        """
        missing = self._get('/v1/ledger/missing', {'device': device, 'limit': 1000})['missing']
        readings, declarations = answers(kept, missing)
        total = self.send(readings)
        if declarations:
            body = json.dumps(declarations).encode()
            retry(self._retry_for, lambda: self._http.request('POST', '/v1/readings', {}, body))
        return total

    def live(
        self, *, device: str | None = None, metric: str | None = None, last_event_id: str | None = None
    ) -> Iterator[NewReadings | Gap]:
        """Yield readings as they are committed, of a device and all devices below it, until the caller leaves its loop.

        The stream continues after a lost connection. Readings that the API no longer has are reported as a Gap.
        """
        return follow(self._http, {'device': device, 'metric': metric}, last_event_id)

    def _get(self, path: str, query: Query) -> Any:  # noqa: ANN401
        return retry(self._retry_for, lambda: self._http.request('GET', path, query))

    def _pages(self, path: str, field: str, query: Query, page_size: int) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._get(path, {**query, 'limit': page_size, 'cursor': cursor})
            yield from page[field]
            cursor = page['next']
            if cursor is None:
                return


def _range(since: Time | None, until: Time | None) -> dict[str, object]:
    return {
        'from': None if since is None else time_text(since),
        'to': None if until is None else time_text(until),
    }


def _filters(site: str | None, city: str | None, kind: str | None, year: int | None) -> dict[str, object]:
    return {'site': site, 'city': city, 'kind': kind, 'year': year}
