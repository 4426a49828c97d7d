"""Runs the fleet in this process or in several."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from time import monotonic
from types import FrameType

from tidegauge_sim.options import Options, log_level
from tidegauge_sim.publisher import Publisher, Stop, shares
from tidegauge_sim.report import Tally, Totals

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP = b's'


# Ctrl-C reaches the whole process group, and a parent may forward the signal too. Both are one request.
SAME_REQUEST_SECONDS = 1.0


class SignalStop:
    """SIGINT or SIGTERM requests a stop. A second signal after SAME_REQUEST_SECONDS ends the wait."""

    def __init__(self) -> None:
        self.requested = 0
        self._first = 0.0
        self._reader, self._writer = socket.socketpair()
        self._writer.settimeout(0.0)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._count)

    def fileno(self) -> int:
        """Readable after a signal."""
        return self._reader.fileno()

    def receive(self) -> None:
        """Empty the wake-up socket. The handler has counted the signal."""
        self._reader.recv(64)

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        now = monotonic()
        if self.requested == 0:
            self._first = now
            self.requested = 1
        elif now >= self._first + SAME_REQUEST_SECONDS:
            self.requested = 2


class PipeStop:
    """The parent requests a stop through the pipe. If the parent has ended, the wait ends too."""

    def __init__(self, pipe: Pipe) -> None:
        self.requested = 0
        self._pipe = pipe

    def fileno(self) -> int:
        """Readable when the parent has written or has ended."""
        return self._pipe.fileno()

    def receive(self) -> None:
        """Count the request of the parent."""
        try:
            self._pipe.recv_bytes()
            self.requested += 1
        except EOFError:
            self.requested = 2


def run(options: Options, progress: Callable[[Totals], None]) -> Tally:
    """Publish everything. `progress` receives the totals about twice a second."""
    stop = SignalStop()
    parts = shares(options)
    if len(parts) == 1:
        return Publisher(options, parts[0], stop, lambda tally: progress(tally.totals())).run()
    return _run_processes(options, parts, stop, progress)


def configure_logging(options: Options) -> None:
    """Log to standard error, one line per event."""
    logging.basicConfig(
        level=log_level(options), format='%(asctime)s %(levelname)-7s %(message)s', datefmt='%H:%M:%S'
    )


def _run_processes(
    options: Options, parts: list[list[int]], stop: Stop, progress: Callable[[Totals], None]
) -> Tally:
    context = multiprocessing.get_context('spawn')
    children: dict[Pipe, SpawnProcess] = {}
    # Children inherit the mask. A Ctrl-C reaches them through the pipe only, so they drain with this process.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        for part in parts:
            ours, theirs = context.Pipe()
            child = context.Process(target=_child, args=(options, part, theirs), daemon=True)
            child.start()
            theirs.close()
            children[ours] = child
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    tally = _collect(list(children), stop, progress)
    for pipe, child in children.items():
        child.join()
        pipe.close()
    return tally


def _collect(pipes: list[Pipe], stop: Stop, progress: Callable[[Totals], None]) -> Tally:
    tally = Tally(())
    latest: dict[Pipe, Totals] = {}
    forwarded = 0
    while pipes:
        ready = wait([*pipes, stop.fileno()])
        if stop.fileno() in ready:
            stop.receive()
        for pipe in [pipe for pipe in pipes if pipe in ready]:
            content = _receive(pipe)
            if isinstance(content, Totals):
                latest[pipe] = content
            else:
                tally.merge(content)
                pipes.remove(pipe)
        while forwarded < stop.requested:
            forwarded += 1
            for pipe in pipes:
                pipe.send_bytes(STOP)
        sums = Totals()
        for part in latest.values():
            sums.add(part)
        progress(sums)
    return tally


def _receive(pipe: Pipe) -> Totals | Tally:
    try:
        content: Totals | Tally = pipe.recv()
    except EOFError:
        content = Tally(())
        content.failures.append(
            'a process of the simulator ended unexpectedly; its messages are not in the totals'
        )
    return content


def _child(options: Options, part: list[int], pipe: Pipe) -> None:
    configure_logging(options)
    publisher = Publisher(options, part, PipeStop(pipe), lambda tally: pipe.send(tally.totals()))
    try:
        pipe.send(publisher.run())
    except BrokenPipeError:
        # The parent has ended, so nothing reads the tally.
        raise SystemExit(1) from None
