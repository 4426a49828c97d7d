"""Requests with the standard library, and their repetition."""

import contextlib
import http.client
import json
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from tidegauge_client.errors import ProblemError, TidegaugeError, UnreachableError

T = TypeVar('T')
Query = Mapping[str, object]

# Largest answer, bytes. A page has about 4 MiB.
_MAX_ANSWER = 64 * 2**20
# The server or a proxy is overloaded, restarts, or did not answer in time.
_TEMPORARY = {408, 429, 502, 503, 504}
_FIRST_DELAY, _MAX_DELAY = 0.25, 10.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Makes a redirection an error, because urllib would send the token to the other host."""

    def redirect_request(self, *_: object) -> None:
        return None


class Http:
    """Sends requests to one API."""

    def __init__(self, url: str, token: str | None, timeout: float, context: ssl.SSLContext | None) -> None:
        address = urllib.parse.urlsplit(url)
        if address.scheme not in {'http', 'https'} or not address.hostname:
            raise ValueError(f'{url!r} is no address of an API: use one such as http://127.0.0.1:8080')
        self._url = url.rstrip('/')
        self._headers = {} if token is None else {'Authorization': f'Bearer {token}'}
        self._timeout = timeout
        self._opener = urllib.request.build_opener(
            _NoRedirect(),
            urllib.request.HTTPSHandler(context=context),
        )

    def request(self, method: str, path: str, query: Query, body: bytes | None = None) -> Any:  # noqa: ANN401
        """Send a request once. Return the JSON of the answer, None for an empty one."""
        headers = {} if body is None else {'Content-Type': 'application/json'}
        with self.open(method, path, query, body, headers) as answer:
            data = answer.read(_MAX_ANSWER + 1)
        if len(data) > _MAX_ANSWER:
            raise UnreachableError(f'the answer for {path} is longer than {_MAX_ANSWER} bytes')
        return json.loads(data) if data else None

    @contextlib.contextmanager
    def open(
        self,
        method: str,
        path: str,
        query: Query,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: float | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and give its answer to read. Reading raises UnreachableError too, inside the `with` block."""
        parts = [(name, value) for name, value in query.items() if value is not None]
        text = urllib.parse.urlencode(parts, doseq=True)
        url = f'{self._url}{path}{"?" if text else ""}{text}'
        request = urllib.request.Request(  # noqa: S310 the scheme is checked above
            url, data=body, headers={**self._headers, **headers}, method=method
        )
        try:
            with self._opener.open(request, timeout=timeout or self._timeout) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                raise _problem_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f'{self._url}: {error}') from error


def retry(retry_for: float, request: Callable[[], T]) -> T:
    """Repeat a request that fails temporarily. Begin no try later than `retry_for` seconds after the first one."""
    deadline = time.monotonic() + retry_for
    delay = _FIRST_DELAY
    while True:
        try:
            return request()
        except TidegaugeError as error:
            wait = wait_before(delay, error)
            if not is_temporary(error) or time.monotonic() + wait > deadline:
                raise
        time.sleep(wait)
        delay = next_delay(delay)


def is_temporary(error: TidegaugeError) -> bool:
    """Tell whether the same request can succeed later."""
    if isinstance(error, ProblemError):
        return error.status in _TEMPORARY
    cause = error.__cause__
    reason = cause.reason if isinstance(cause, urllib.error.URLError) else cause
    return reason is not None and not isinstance(reason, ssl.SSLCertVerificationError)


def wait_before(delay: float, error: TidegaugeError | None) -> float:
    """Return the wait before the next try: half to all of `delay`, and at least Retry-After, in seconds."""
    spread = delay * (0.5 + random.random() / 2)
    return max(spread, error.retry_after or 0.0) if isinstance(error, ProblemError) else spread


def next_delay(delay: float) -> float:
    """Return the delay of the next try, in seconds: from 0.25 to 10."""
    return _FIRST_DELAY if delay == 0 else min(2 * delay, _MAX_DELAY)


def _problem_of(error: urllib.error.HTTPError) -> ProblemError:
    problem = None
    with contextlib.suppress(ValueError, OSError, http.client.HTTPException):
        found = json.loads(error.read(2**20))
        if isinstance(found, dict) and 'title' in found and 'detail' in found:
            problem = found
    try:
        retry_after = max(0.0, float(error.headers.get('Retry-After', '')))
    except ValueError:
        retry_after = None
    return ProblemError(error.code, problem, retry_after)
