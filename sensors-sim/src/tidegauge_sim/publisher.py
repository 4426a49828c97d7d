"""Publishes one share of the fleet in real time, in one thread."""

from __future__ import annotations

import logging
import select
import selectors
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Protocol

from tidegauge_sim.connection import Connection, Outage, Refused
from tidegauge_sim.devices import SECOND, Message
from tidegauge_sim.options import Options
from tidegauge_sim.report import Tally
from tidegauge_sim.ring import Ring, device_of
from tidegauge_sim.schedule import fleet, schedule

log = logging.getLogger(__name__)

# Messages given to connections between two checks of the sockets.
BATCH = 256
TICK_SECONDS = 0.5
# Longest time that acknowledgements stay unread in the socket.
CALM_SECONDS = 0.1
# A run that is further behind than this at the end of its duration stops there.
GRACE_SECONDS = 0.5


class Stop(Protocol):
    """A request to stop. 0: none. 1: drain first. 2: stop at once."""

    requested: int

    def fileno(self) -> int:
        """Descriptor that becomes readable with a request."""

    def receive(self) -> None:
        """Take the request from the descriptor."""


def gateway(device: int, options: Options) -> int:
    """Number of the connection that carries a device."""
    return device % options.gateways


def shares(options: Options) -> list[list[int]]:
    """Devices of each process. All devices of one gateway are in the same process."""
    parts: list[list[int]] = [[] for _ in range(options.processes)]
    for device in range(options.sensors):
        parts[gateway(device, options) % options.processes].append(device)
    return parts


def open_ring(options: Options, share: Sequence[int]) -> Ring | None:
    """Open the file for the messages of a share. Each of several processes has its own."""
    path = options.ring
    if path is not None and options.processes > 1:
        path = path.with_name(f'{path.name}.{share[0]}')
    return None if path is None else Ring(path)


class Publisher:
    """Takes messages from the schedule when they are due and a connection has room.

    The schedule is the outgoing queue. While the broker is unavailable or slow, no messages are created, so
    memory is bounded and nothing is dropped. The messages are sent later with their original times.
    """

    def __init__(
        self, options: Options, share: Sequence[int], stop: Stop, progress: Callable[[Tally], None]
    ) -> None:
        """`progress` is called about twice a second."""
        self._options = options
        self._stop = stop
        self._progress = progress
        self._stream = schedule(options, share)
        self._selector = selectors.DefaultSelector()
        self._tally = Tally(share)
        numbers = sorted({gateway(device, options) for device in share})
        outage = Outage()
        self._ring = open_ring(options, share)
        # By gateway, the devices as they are called in topics.
        names: dict[int, set[str]] = {number: set() for number in numbers}
        if self._ring is not None:
            devices = fleet(options)
            for device in share:
                topic = options.topic.format(device=devices[device].name, metric='m')
                names[gateway(device, options)].add(device_of(topic))
        by_gateway = {
            number: Connection(options, self._tally, self._selector, outage, self._ring, names[number])
            for number in numbers
        }
        for message in [] if self._ring is None else self._ring.newest():
            for number in numbers:
                if device_of(message.topic) in names[number]:
                    by_gateway[number].send_again(message)
        self._connections = list(by_gateway.values())
        self._connection_of = {device: by_gateway[gateway(device, options)] for device in share}

    def run(self) -> Tally:
        """Publish until the schedule ends or `stop` has a request, then wait for acknowledgements."""
        self._selector.register(self._stop, selectors.EVENT_READ)
        try:
            self._loop()
        except Refused as refused:
            self._tally.failures.append(str(refused))
        finally:
            for connection in self._connections:
                connection.close()
            if self._ring is not None:
                self._ring.close()
            self._selector.close()
        return self._tally

    def _loop(self) -> None:
        start = monotonic()
        if self._options.live:
            # Without this, the start-up time would delay every reading.
            start -= time() - self._options.start / SECOND
        message = next(self._stream, None)
        drain_until: float | None = None
        next_tick = monotonic()
        while True:
            now = monotonic()
            if now >= next_tick:
                next_tick = now + TICK_SECONDS
                for connection in self._connections:
                    connection.tick(now)
                self._progress(self._tally)
            if message is not None and self._should_stop(now - start):
                message = None
            if message is not None:
                message = self._publish_due(message, int((now - start) * SECOND))
            if message is None:
                if drain_until is None:
                    drain_until = now + self._options.drain
                    log.info(
                        'publishing has ended; waiting up to %g s for acknowledgements',
                        self._options.drain,
                    )
                idle = all(connection.idle for connection in self._connections)
                if idle or now >= drain_until or self._stop.requested > 1:
                    return
            self._wait(message, start, next_tick)

    def _publish_due(self, message: Message | None, offset: int) -> Message | None:
        """Publish messages that are due. Returns the next message, None at the end."""
        for _ in range(BATCH):
            if message is None or message.due > offset:
                break
            connection = self._connection_of[message.device]
            if not connection.has_room:
                break
            connection.publish(message)
            message = next(self._stream, None)
        if self._ring is not None:
            self._ring.commit()
        for connection in self._connections:
            connection.flush()
        return message

    def _wait(self, message: Message | None, start: float, next_tick: float) -> None:
        until = next_tick
        if message is not None and self._connection_of[message.device].has_room:
            until = min(until, start + message.due / SECOND)
        pause = max(until - monotonic(), 0.0)
        if message is not None and pause > 0.0 and all(connection.calm for connection in self._connections):
            # Acknowledgements are read with the next message. This halves the wake-ups of an idle fleet.
            if select.select([self._stop], [], [], min(pause, CALM_SECONDS))[0]:
                self._stop.receive()
            pause = 0.0
        for key, mask in self._selector.select(pause):
            if isinstance(key.data, Connection):
                key.data.ready(mask)
            else:
                self._stop.receive()

    def _should_stop(self, elapsed: float) -> bool:
        if self._stop.requested:
            return True
        duration = self._options.duration
        if duration is None or elapsed < duration + GRACE_SECONDS:
            return False
        log.warning('stopped behind schedule: the broker or this machine did not keep up')
        return True
