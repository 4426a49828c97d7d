"""The messages of a fleet in the order of sending."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from operator import attrgetter

from tidegauge_sim.devices import SECOND, Behaviour, Device, Faults, Identity, Message, identify
from tidegauge_sim.options import Options
from tidegauge_sim.payloads import encoder, resolution


def fleet(options: Options) -> list[Identity]:
    """All devices of a run."""
    return [identify(number, options.seed, options.metrics) for number in range(options.sensors)]


def behaviour(options: Options, devices: Sequence[Identity]) -> Behaviour:
    """Settings shared by the devices. With a rate, the period that gives this rate."""
    period = options.period
    if options.rate is not None:
        period = sum(messages_per_round(options, device) for device in devices) / options.rate
    return Behaviour(
        seed=options.seed,
        start=options.start,
        period=max(round(period * SECOND), 1),
        jitter=options.jitter,
        faults=Faults(options.dropouts, options.duplicates, options.late, options.skew, options.reboots),
        topic=options.topic,
        encode=encoder(options.format, options.time_unit),
        resolution=resolution(options.format, options.time_unit),
        duration=None if options.duration is None else round(options.duration * SECOND),
    )


def budgets(options: Options, devices: Sequence[Identity]) -> list[int | None]:
    """Shares of `until_count` per device, in proportion to its messages. Their sum is exact.

    Each device has its own share, so that its stream ends at the same message for any number of processes.
    """
    if options.until_count is None:
        return [None] * len(devices)
    weights = [messages_per_round(options, device) for device in devices]
    total = sum(weights)
    shares: list[int | None] = []
    before = given = 0
    for weight in weights:
        before += weight
        upto = options.until_count * before // total
        shares.append(upto - given)
        given = upto
    return shares


def messages_per_round(options: Options, device: Identity) -> int:
    """Messages that a device sends for one measurement of all its metrics."""
    return len(device.metrics) if '{metric}' in options.topic else 1


def schedule(options: Options, share: Sequence[int] | None = None) -> Iterator[Message]:
    """Messages of the devices whose numbers are in `share` (None: all), ordered by due time and device.

    The iterator is lazy. It holds one message per device, and the messages that faults delay.
    """
    devices = fleet(options)
    common = behaviour(options, devices)
    shares = budgets(options, devices)
    numbers = range(len(devices)) if share is None else share
    streams = [Device(devices[number], common, shares[number]).stream() for number in numbers]
    return heapq.merge(*streams, key=attrgetter('due'))
