"""A simulated sensor: when it measures, what it sends, and which faults occur.

The seed and the number of a device determine its name, signals, clock and faults. Each of these has a
separate random generator. So a device's stream does not depend on the process that runs it, and its values do
not depend on the faults.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tidegauge_sim.payloads import Encode, Reading
from tidegauge_sim.signals import KINDS

SECOND = 1_000_000

PLACES = ('boiler', 'roof', 'cellar', 'greenhouse', 'workshop', 'lobby', 'pump-room', 'cold-store')
DEVICES_PER_SITE = 10

# The metrics of the default fleet's devices. The fleet repeats this list.
FLEET: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('probe', ('temperature',)),
    ('climate', ('temperature', 'humidity', 'pressure')),
    ('probe', ('temperature',)),
    ('meter', ('power', 'counter')),
    ('probe', ('temperature',)),
    ('climate', ('temperature', 'humidity', 'pressure')),
    ('door', ('door', 'battery')),
)

# Lengths in periods of the device. LATE, DUPLICATE_AFTER and REBOOT are ranges.
DROPOUT_MEAN, DROPOUT_MAX = 20.0, 120.0
LATE = (1.0, 6.0)
DUPLICATE_AFTER = (0.0, 2.0)
REBOOT = (2, 10)
# After a dropout, the device sends the kept readings this many times as fast as it measured them.
BACKFILL_SPEED = 20

SKEW_SECONDS = (2.0, 3600.0)
CLOCK_DRIFT_PPM = 50.0


@dataclass(frozen=True, slots=True)
class Faults:
    """Probabilities of faults: per measurement, except `skew`, which is per device."""

    dropouts: float = 0.0
    duplicates: float = 0.0
    late: float = 0.0
    skew: float = 0.0
    reboots: float = 0.0


PROFILES: dict[str, Faults] = {
    'calm': Faults(),
    'typical': Faults(dropouts=0.0005, duplicates=0.001, late=0.005, skew=0.05, reboots=0.0002),
    'rough': Faults(dropouts=0.005, duplicates=0.02, late=0.05, skew=0.2, reboots=0.002),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Number, name and metrics of a device."""

    number: int
    name: str
    metrics: tuple[str, ...]


class Message(NamedTuple):
    """One message as a device sends it."""

    # Microseconds after the start at which it is sent.
    due: int
    device: int
    topic: str
    payload: bytes
    boot: str
    # Sequence number of its first reading. The others follow by one.
    seq: int
    readings: int
    # Readings that no earlier message had, by (metric, time). 0 for a copy.
    distinct: int
    copy: bool


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Settings that all devices of a fleet share."""

    seed: int
    # Microseconds since the epoch.
    start: int
    # Microseconds between two measurements of a device.
    period: int
    # Largest deviation of a measurement from its time, as a share of the period.
    jitter: float
    faults: Faults
    topic: str
    encode: Encode
    # Times are rounded down to this, microseconds.
    resolution: int
    # Microseconds after the start. None: no end.
    duration: int | None


def identify(number: int, seed: int, metrics: tuple[str, ...] | None) -> Identity:
    """Identity of device `number`. `metrics` None gives the mixed fleet."""
    kind, own = FLEET[number % len(FLEET)] if metrics is None else ('probe', metrics)
    place = Random(f'{seed}/{number}/place').choice(PLACES)
    return Identity(number, f'site-{number // DEVICES_PER_SITE + 1}/{place}/{kind}-{number + 1}', own)


class Device:
    """Produces the messages of one sensor."""

    def __init__(self, identity: Identity, behaviour: Behaviour, budget: int | None) -> None:
        """`budget` is the number of messages to send. None: no end."""
        self.identity = identity
        self._behaviour = behaviour
        self._budget = budget
        name = f'{behaviour.seed}/{identity.number}'
        self._signals = [
            (metric, KINDS[metric].create(Random(f'{name}/{metric}'))) for metric in identity.metrics
        ]
        self._clock = Random(f'{name}/clock')
        self._faults = Random(f'{name}/faults')
        self._skew, self._drift = self._draw_skew(Random(f'{name}/skew'))
        self._boots = 0
        self._seq = 0
        self._stamp = -1
        self._outage_end = 0
        self._kept = 0
        topic = behaviour.topic.replace('{device}', identity.name)
        self._topics = {metric: topic.replace('{metric}', metric) for metric in identity.metrics}

    def stream(self) -> Iterator[Message]:
        """Messages in the order of `due`. Delayed messages that remain at the end are sent then."""
        held: list[tuple[int, int, Message]] = []
        order = 0
        end = 0
        for at, messages in self._measurements():
            end = at
            while held and held[0][0] <= at:
                yield heapq.heappop(held)[2]
            for message in messages:
                if message.due <= at:
                    yield message
                else:
                    order += 1
                    heapq.heappush(held, (message.due, order, message))
        if self._behaviour.duration is not None and self._budget != 0:
            end = self._behaviour.duration
        while held:
            message = heapq.heappop(held)[2]
            yield message if message.due <= end else message._replace(due=end)

    def _measurements(self) -> Iterator[tuple[int, list[Message]]]:
        behaviour = self._behaviour
        period = behaviour.period
        faults = behaviour.faults
        swing = behaviour.jitter * period
        phase = self._clock.uniform(swing, period - swing)
        tick = 0
        at = -1
        while self._budget != 0:
            at = max(int(phase + tick * period + self._clock.uniform(-swing, swing)), at + 1, 0)
            if behaviour.duration is not None and at >= behaviour.duration:
                return
            yield at, self._measure(at)
            tick += 1
            if faults.reboots and self._faults.random() < faults.reboots:
                tick += self._faults.randint(*REBOOT)
                self._reboot()

    def _measure(self, at: int) -> list[Message]:
        behaviour = self._behaviour
        stamp = behaviour.start + at + self._skew + int(self._drift * at)
        stamp -= stamp % behaviour.resolution
        fresh = stamp != self._stamp
        self._stamp = stamp
        time = (behaviour.start + at) / SECOND
        boot = f'{behaviour.start // 1000:x}-{self._boots}'
        self._drop_out(at)
        packs: dict[str, list[Reading]] = {}
        for seq, (metric, signal) in enumerate(self._signals, self._seq):
            reading = Reading(metric, stamp, signal.sample(time), boot, seq)
            packs.setdefault(self._topics[metric], []).append(reading)
        messages: list[Message] = []
        for topic, readings in packs.items():
            if self._budget == 0:
                break
            self._seq += len(readings)
            payload = behaviour.encode(self.identity.name, readings)
            due = self._due(at)
            message = Message(
                due, self.identity.number, topic, payload, boot, readings[0].seq, len(readings),
                len(readings) if fresh else 0, copy=False,
            )  # fmt: skip
            self._spend()
            messages.append(message)
            duplicates = behaviour.faults.duplicates
            if duplicates and self._faults.random() < duplicates and self._budget != 0:
                again = due + self._periods(*DUPLICATE_AFTER)
                self._spend()
                messages.append(message._replace(due=again, distinct=0, copy=True))
        return messages

    def _due(self, at: int) -> int:
        if at < self._outage_end:
            self._kept += 1
            return self._outage_end + self._kept * self._behaviour.period // BACKFILL_SPEED
        late = self._behaviour.faults.late
        if late and self._faults.random() < late:
            return at + self._periods(*LATE)
        return at

    def _drop_out(self, at: int) -> None:
        dropouts = self._behaviour.faults.dropouts
        if dropouts and at >= self._outage_end and self._faults.random() < dropouts:
            length = min(self._faults.expovariate(1.0 / DROPOUT_MEAN), DROPOUT_MAX)
            self._outage_end = at + 1 + int(length * self._behaviour.period)
            self._kept = 0

    def _reboot(self) -> None:
        self._boots += 1
        self._seq = 0
        for _, signal in self._signals:
            signal.reboot()

    def _periods(self, low: float, high: float) -> int:
        return int(self._faults.uniform(low, high) * self._behaviour.period)

    def _spend(self) -> None:
        if self._budget is not None:
            self._budget -= 1

    def _draw_skew(self, rng: Random) -> tuple[int, float]:
        """Offset in microseconds and drift of a wrong clock, or zeros. The clock never goes backwards."""
        if rng.random() >= self._behaviour.faults.skew:
            return 0, 0.0
        low, high = SKEW_SECONDS
        offset = low * (high / low) ** rng.random() * rng.choice((-1.0, 1.0))
        return int(offset * SECOND), rng.uniform(-CLOCK_DRIFT_PPM, CLOCK_DRIFT_PPM) / SECOND
