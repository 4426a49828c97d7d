"""Counts of published and acknowledged messages, per device and in total."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegauge_sim.devices import Identity, Message
from tidegauge_sim.options import Options
from tidegauge_sim.ranges import Ranges


@dataclass(slots=True)
class Totals:
    """Counts of messages, unless a comment gives another unit."""

    published: int = 0
    # Acknowledged by PUBACK (QoS 1) or PUBCOMP (QoS 2), or written to the socket (QoS 0).
    settled: int = 0
    # Refused by the broker.
    rejected: int = 0
    # Readings sent, copies included.
    values: int = 0
    # Readings with different (device, metric, time).
    distinct: int = 0
    reconnects: int = 0

    @property
    def unacknowledged(self) -> int:
        """Messages that the broker neither acknowledged nor refused."""
        return self.published - self.settled - self.rejected

    def add(self, other: Totals) -> None:
        """Add another part's counts."""
        for name in Totals.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Boot:
    """Published sequence numbers of one boot."""

    first: int
    last: int
    # Distinct sequence numbers.
    readings: int
    # Numbers of acknowledged messages.
    acknowledged: Ranges = field(default_factory=Ranges)
    # Numbers of readings with the metric and the time of an earlier one.
    repeated: Ranges = field(default_factory=Ranges)


@dataclass(slots=True)
class DeviceTally:
    """Counts of one device."""

    published: int = 0
    settled: int = 0
    rejected: int = 0
    values: int = 0
    distinct: int = 0
    boots: dict[str, Boot] = field(default_factory=dict)


class Tally:
    """Counts of one share of the fleet."""

    def __init__(self, share: Iterable[int]) -> None:
        self.devices = {number: DeviceTally() for number in share}
        self.reconnects = 0
        self.failures: list[str] = []

    def publish(self, message: Message) -> None:
        """Count a message that is being published."""
        device = self.devices[message.device]
        device.published += 1
        device.values += message.readings
        device.distinct += message.distinct
        if message.copy:
            return
        boot = device.boots.get(message.boot)
        last = message.seq + message.readings - 1
        if boot is None:
            boot = device.boots[message.boot] = Boot(message.seq, last, 0)
        boot.first = min(boot.first, message.seq)
        boot.last = max(boot.last, last)
        boot.readings += message.readings
        if message.distinct == 0:
            boot.repeated.add(message.seq, last)

    def settle(self, message: Message) -> None:
        """Count a message that the broker acknowledged."""
        device = self.devices[message.device]
        device.settled += 1
        device.boots[message.boot].acknowledged.add(message.seq, message.seq + message.readings - 1)

    def reject(self, message: Message) -> None:
        """Count a message that the broker refused."""
        self.devices[message.device].rejected += 1

    def totals(self) -> Totals:
        """Sum over the devices."""
        sums = Totals(reconnects=self.reconnects)
        for device in self.devices.values():
            sums.published += device.published
            sums.settled += device.settled
            sums.rejected += device.rejected
            sums.values += device.values
            sums.distinct += device.distinct
        return sums

    def merge(self, other: Tally) -> None:
        """Add the counts of another share."""
        self.devices.update(other.devices)
        self.reconnects += other.reconnects
        self.failures += [failure for failure in other.failures if failure not in self.failures]


def succeeded(tally: Tally) -> bool:
    """Whether the broker acknowledged every message."""
    totals = tally.totals()
    return not tally.failures and totals.unacknowledged == 0 and totals.rejected == 0


def summary(tally: Tally, options: Options, seconds: float) -> str:
    """The line with the totals."""
    totals = tally.totals()
    acknowledged = (
        f'acknowledged {totals.settled}, unacknowledged {totals.unacknowledged}'
        if options.qos
        else f'unsent {totals.unacknowledged} (QoS 0 has no acknowledgements)'
    )
    rejected = f', rejected {totals.rejected}' if totals.rejected else ''
    rate = totals.published / seconds if seconds > 0 else 0.0
    return (
        f'published {totals.published}, {acknowledged}{rejected}, reconnects {totals.reconnects}, '
        f'in {seconds:.1f} s ({rate:.0f} messages/s)'
    )


def document(tally: Tally, devices: Iterable[Identity], options: Options, seconds: float) -> dict[str, Any]:
    """The run as JSON values, for comparison with a ledger.

    `acknowledged` is null at QoS 0. `distinct` is null if payloads have no time (plain). `boots` is null if
    payloads have no boot and seq (plain, SenML). A boot has fewer `readings` than its range if the run
    stopped while messages were delayed. Its `acknowledged` has the ranges of the numbers that the broker
    acknowledged. The metric of number n is `metrics[n % len(metrics)]`.
    """

    def counts(part: Totals | DeviceTally) -> dict[str, Any]:
        return {
            'published': part.published,
            'acknowledged': part.settled if options.qos else None,
            'unacknowledged': part.published - part.settled - part.rejected,
            'rejected': part.rejected,
            'values': part.values,
            'distinct': part.distinct if options.format != 'plain' else None,
        }

    def boots(part: DeviceTally) -> list[dict[str, Any]] | None:
        if options.format != 'json':
            return None
        return [
            {
                'boot': name,
                'first': boot.first,
                'last': boot.last,
                'readings': boot.readings,
                'acknowledged': boot.acknowledged.pairs() if options.qos else None,
                'repeated': boot.repeated.pairs(),
            }
            for name, boot in part.boots.items()
        ]

    totals = tally.totals()
    return {
        'options': options.document(),
        'seconds': round(seconds, 3),
        'totals': counts(totals) | {'reconnects': totals.reconnects},
        'devices': [
            {'device': device.name, 'metrics': list(device.metrics)}
            | counts(tally.devices[device.number])
            | {'boots': boots(tally.devices[device.number])}
            for device in devices
            if device.number in tally.devices
        ],
        'failures': tally.failures,
    }


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the report atomically: a complete file or none."""
    draft = path.with_name(f'{path.name}.part')
    draft.write_text(json.dumps(content, indent=2) + '\n', 'utf-8')
    draft.replace(path)
