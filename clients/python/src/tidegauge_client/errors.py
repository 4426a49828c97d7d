"""Errors of the client."""

from collections.abc import Sequence
from typing import Any

from tidegauge_client.types import Delivery, NewReading


class TidegaugeError(Exception):
    """Every error of this package, except wrong arguments (ValueError)."""


class UnreachableError(TidegaugeError):
    """There was no connection, or no complete answer in time. `__cause__` is the reason."""


class ProblemError(TidegaugeError):
    """The API refused a request, or could not answer it.

    `status` is the HTTP status. `problem` is the problem document (RFC 9457), None when the answer is not from the API.
    `retry_after` is the wait in seconds that the API requests, or None.
    """

    def __init__(self, status: int, problem: dict[str, Any] | None, retry_after: float | None) -> None:
        text = f'{problem["title"]} ({status}): {problem["detail"]}' if problem else f'HTTP {status}'
        super().__init__(text)
        self.status = status
        self.problem = problem
        self.retry_after = retry_after


class SendError(TidegaugeError):
    """Readings could not be sent. `__cause__` is the reason.

    `delivery` counts the readings that were sent before. `rest` are the others, with their times: send these again.
    Those that were stored in the failed request are then counted as duplicates.
    """

    def __init__(self, reason: TidegaugeError, delivery: Delivery, rest: Sequence[NewReading]) -> None:
        super().__init__(f'{len(rest)} readings were not sent: {reason}')
        self.delivery = delivery
        self.rest = rest
