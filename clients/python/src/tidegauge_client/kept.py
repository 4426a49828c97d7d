"""Readings that were sent, to send those again that did not arrive."""

import json
from collections import deque
from collections.abc import Sequence
from typing import Any, TypedDict

from tidegauge_client.types import NewReading

# Memory of a reading besides its texts.
_READING_BYTES = 500


class Declaration(TypedDict):
    """A sensor has no numbers of a boot below `kept`, or none at all."""

    device: str
    boot: str
    kept: int | None


class KeptReadings:
    """The last readings that were given to `send`, in memory, to send those again that did not arrive.

    Only readings with `boot` and `seq` are kept. Beyond `most_bytes` the oldest are dropped. Give one to `send` as
    `keep`, and call `send_missing` with it from time to time.
    """

    def __init__(self, most_bytes: int = 4 * 1024 * 1024) -> None:
        self._most_bytes = most_bytes
        self._kept: deque[tuple[NewReading, int]] = deque()
        self._bytes = 0

    def add(self, reading: NewReading, device: str | None = None, metric: str | None = None) -> None:
        """Keep a reading. `device` is that of readings without one, and above those with another one.

        `metric` is that of readings without one.
        """
        name = _below(device, reading.get('device'))
        if name is None or reading.get('boot') is None or reading.get('seq') is None:
            return
        kept: NewReading = {**reading, 'device': name}
        if metric is not None:
            kept.setdefault('metric', metric)
        size = _READING_BYTES + len(json.dumps(kept, default=str))
        self._kept.append((kept, size))
        self._bytes += size
        while self._bytes > self._most_bytes:
            self._bytes -= self._kept.popleft()[1]

    def answer(
        self, device: str, boot: str, ranges: Sequence[Sequence[int]]
    ) -> tuple[list[NewReading], Declaration | None] | None:
        """Return the kept ones of some missing readings, and what has to be declared.

        None: nothing of the device is kept, so another sender may have it.
        """
        of_device = [reading for reading, _ in self._kept if reading['device'] == device]
        if not of_device:
            return None
        own = [reading for reading in of_device if str(reading['boot']) == boot]
        lowest = min((reading['seq'] for reading in own), default=None)
        wanted = [reading for reading in own if any(first <= reading['seq'] <= last for first, last in ranges)]
        is_gone = lowest is None or ranges[0][0] < lowest
        return wanted, Declaration(device=device, boot=boot, kept=lowest) if is_gone else None


def answers(kept: KeptReadings, missing: Sequence[Any]) -> tuple[list[NewReading], list[Declaration]]:
    """Return the readings to send again and the declarations for a list of missing readings."""
    found = [kept.answer(each['device'], each['boot'], each['ranges']) for each in missing]
    known = [each for each in found if each is not None]
    declarations = [declaration for _, declaration in known if declaration is not None]
    return [reading for readings, _ in known for reading in readings], declarations


def _below(device: str | None, named: str | None) -> str | None:
    """Return the device of a reading, as the API makes it of the device of the request and that of the reading."""
    if device is None or named is None:
        return named or device
    return named if named == device or named.startswith(f'{device}/') else f'{device}/{named}'
