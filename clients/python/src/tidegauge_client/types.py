"""What the API sends and receives. services/api/src/openapi.yaml describes each field."""

from datetime import datetime
from typing import Literal, NotRequired, TypedDict

Time = datetime | str | float
"""A datetime with a zone, ISO 8601, or a number since 1970 whose size decides its unit."""

Figure = Literal['count', 'min', 'max', 'mean', 'sum', 'first', 'last']


class Reading(TypedDict):
    """A stored reading. Times are ISO 8601 in UTC."""

    device: str
    metric: str
    time: str
    value: float | str
    received: str
    quality: Literal['ok', 'skewed', 'unsynced']
    boot: NotRequired[str]
    seq: NotRequired[int]
    unit: NotRequired[str]
    """The unit of its series, if it is known. Live readings do not have it."""


class NewReading(TypedDict):
    """A reading to store. Device and metric are needed unless the arguments of `send` name them."""

    v: float | bool | str
    device: NotRequired[str]
    metric: NotRequired[str]
    t: NotRequired[Time]
    boot: NotRequired[str]
    seq: NotRequired[int]


class Bucket(TypedDict):
    """Figures of the readings of one bucket. `time` is its start."""

    time: str
    count: int
    min: NotRequired[float]
    max: NotRequired[float]
    mean: NotRequired[float]
    sum: NotRequired[float]
    first: NotRequired[float]
    firstTime: NotRequired[str]
    last: NotRequired[float]
    lastTime: NotRequired[str]


class Aggregate(TypedDict):
    """The buckets of one series that hold readings, by time, and where their figures come from."""

    device: str
    metric: str
    unit: NotRequired[str]
    buckets: list[Bucket]
    sources: list[Literal['raw', 'minute', 'hour', 'day']]
    incompleteBefore: str | None
    """Readings before this time were needed and can be deleted. None: the figures are complete."""


class Device(TypedDict):
    """A registered device."""

    name: str
    site: str | None
    city: str | None
    kind: str | None
    year: int | None
    attributes: dict[str, str | float | bool | None]


class DeviceWithUnits(Device):
    """A registered device, and the known units of its metrics, by metric."""

    units: dict[str, str]


class DeliveryError(TypedDict):
    """Why readings are in quarantine."""

    reason: str
    detail: str
    position: str | None


class Delivery(TypedDict):
    """The result for readings: received = stored + duplicate + quarantined."""

    received: int
    stored: int
    duplicate: int
    quarantined: int
    errors: NotRequired[list[DeliveryError]]


def time_text(time: Time) -> str:
    """Return a time as the API reads it. Raise ValueError for a datetime without a zone."""
    if not isinstance(time, datetime):
        return str(time)
    if time.tzinfo is None:
        raise ValueError(f'{time!r} has no time zone: use datetime.now(timezone.utc), for example')
    return time.isoformat()
