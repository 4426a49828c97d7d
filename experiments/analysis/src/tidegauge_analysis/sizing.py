"""How many boards sensors need: `python -m tidegauge_analysis.sizing RESULTS... [OPTIONS]`.

Takes what operations used in results of experiments, and prints tables in Markdown: these demands, a check of the
method, the rates and latencies of numbers of boards, and boards with their disks for numbers of sensors.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge_analysis.archive import read_archive, read_json
from tidegauge_analysis.demand import Load, Station, bottleneck, highest_throughput, load_of
from tidegauge_analysis.effects import Interval
from tidegauge_analysis.present import NONE, combination, show
from tidegauge_analysis.problems import InputError, reported
from tidegauge_analysis.service_use import Profile, Use, profiles, typical

SENSORS = (100, 1000, 10_000)
EVERY_SECONDS = 10.0
RETENTION_DAYS = 365.0
DISK_BYTES = 32e9

USABLE_DISK = 0.5
"""Share of a disk for data: compaction and backups need the rest."""
USABLE_TIME = 0.7
"""Share of the highest throughput that boards are planned for: an operation then takes about three times its demand."""

SECONDS_PER_DAY = 86_400
ON_ONE_BOARD = frozenset({'sqlite', 'json', 'postgres', 'mariadb', 'mongodb'})
"""Stores that the stacks deploy on one board. More boards do not make them faster."""
BOARDS = (1, 2, 3, 4, 6, 10, 15)
MOST_BOARDS = 1000
AT_ONCE = (1, 16, 64)

TIMES = '\N{MULTIPLICATION SIGN}'


@dataclass(frozen=True)
class Board:
    """What `npm run study -- calibrate` measured."""

    processors: int
    loops: float
    """Loops per second of each processor, while all are busy."""
    fsync: float
    """Seconds."""
    disk: float
    """Bytes written per second."""
    network: float | None
    """Bytes per second; None: not known."""


@dataclass(frozen=True)
class Machine:
    """A board for a plan, relative to the machine of the results."""

    processors: int
    speed: float = 1.0
    """Work of a processor in a second."""
    wait: float = 1.0
    """Time of a wait for the disk."""
    disk: float | None = None
    """Bytes written per second; None: not known, so it limits nothing."""
    network: float | None = None


@dataclass(frozen=True)
class Demand:
    """What an operation needs, with intervals. The processor time is that of boards."""

    processor: Interval
    api: Interval
    """Of these, the time of the API. A process of it uses one processor at a time, and each board has one."""
    written: Interval | None
    sent: Interval | None

    def stations(self, machine: Machine, boards: int, pick: Callable[[Interval], float]) -> list[Station]:
        """The resources of boards among which operations are spread evenly."""
        found = [Station('processors', pick(self.processor) / machine.speed, boards * machine.processors)]
        if self.written is not None and machine.disk is not None:
            found.append(Station('disks', pick(self.written) / machine.disk, boards))
        if self.sent is not None and machine.network is not None:
            found.append(Station('network', pick(self.sent) / machine.network, boards))
        return found

    def limits(self, machine: Machine, boards: int, pick: Callable[[Interval], float]) -> list[Station]:
        """Processes that limit the rate although their time is that of the processors."""
        return [Station('API', pick(self.api) / machine.speed, boards)]


def demand_of(uses: Sequence[Use]) -> Demand | None:
    """Demand of some runs; None: there is one run."""
    processor = typical(uses, lambda use: use.board)
    api = typical(uses, lambda use: use.api)
    if processor is None or api is None or processor.low <= 0:
        return None
    written, sent = typical(uses, lambda use: use.written), typical(uses, lambda use: use.sent)
    return Demand(processor, api, written, sent)


def delay_of(profile: Profile) -> float | None:
    """Seconds of an operation in which it waits without using a processor: for the disk, and for other nodes.

    It is what remains of the latency in the runs with the fewest threads. None: all runs have more threads than the
    machine has processors, so that latencies are queues.
    """
    threads = min(number for _, number in profile.uses)
    if threads > profile.processors:
        return None
    nodes = min(size for size, number in profile.uses if number == threads)
    uses = profile.uses[nodes, threads]
    latency = sum(threads / use.throughput for use in uses) / len(uses)
    return max(0.0, latency - load_of(_machines(profile, uses, nodes), threads).latency)


def predicted(profile: Profile, nodes: int, threads: int) -> float:
    """Throughput on the machine of the results, by the demand with another number of nodes if there is one."""
    uses = profile.under_load(nodes, without=nodes)
    limits = [Station('API', sum(use.api for use in uses) / len(uses))]
    if profile.driver != 'k6':
        limits.append(Station('client', sum(use.client for use in uses) / len(uses)))
    return load_of(_machines(profile, uses, nodes), threads, delay_of(profile) or 0.0, limits=limits).throughput


def highest_rate(demand: Demand, machine: Machine, boards: int) -> Interval:
    """Operations per second that no number of operations at once exceeds."""

    def at(pick: Callable[[Interval], float]) -> float:
        return highest_throughput([*demand.stations(machine, boards, pick), *demand.limits(machine, boards, pick)])

    return Interval(at(lambda each: each.value), at(lambda each: each.high), at(lambda each: each.low))


def boards_for(profile: Profile, machine: Machine, rate: float) -> int | None:
    """The smallest number of boards that is planned for a rate, with the upper bound of the demand.

    It is not below the number of copies. None: no number reaches the rate.
    """
    demands = {size: demand_of(profile.under_load(size)) for size in profile.sizes}
    most = 1 if profile.levels.get('store') in ON_ONE_BOARD else MOST_BOARDS
    for boards in range(profile.copies, most + 1):
        demand = demands[profile.nearest(boards)]
        if demand is not None and USABLE_TIME * highest_rate(demand, machine, boards).low >= rate:
            return boards
    return None


def bytes_for(profile: Profile, rate: float, retention_days: float) -> float | None:
    """Bytes on all disks for the records of this many days, with the copies; None: not measured."""
    stored = profile.stored()
    return None if stored is None else stored * profile.inserts * rate * retention_days * SECONDS_PER_DAY


def read_board(path: Path) -> Board:
    """Read the file that `npm run study -- calibrate` writes.

    :raises InputError: it is no such file
    """
    document = read_json(path)
    try:
        network = document['networkBytesPerSecond']
        return Board(
            processors=int(document['processors']),
            loops=float(document['loopsPerSecond']['value']),
            fsync=float(document['fsyncSeconds']),
            disk=float(document['writeBytesPerSecond']),
            network=None if network is None else float(network),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f'{path} is not a file of npm run study -- calibrate: {error} is missing or wrong') from error


def machine_of(board: Board, reference: Board) -> Machine:
    """The board relative to the machine of the results, which was calibrated in the same way."""
    return Machine(
        board.processors, board.loops / reference.loops, board.fsync / reference.fsync, board.disk, board.network
    )


@dataclass(frozen=True)
class Plan:
    """What the boards are for."""

    sensors: Sequence[int]
    every: float
    """Seconds between two readings of a sensor."""
    retention_days: float
    disk_bytes: float


def markdown(found: Sequence[Profile], machine: Machine | None, plan: Plan) -> str:
    """The tables of some profiles.

    :param machine: the boards; None: they are like the machine of the results
    """
    usable = [profile for profile in found if all(demand_of(profile.under_load(size)) for size in profile.sizes)]
    parts = ['## What an operation needs', _demands(usable), '## Check', _check(usable)]
    parts += ['## Rates of boards', _rates(usable, machine), '## Boards for sensors', _boards(usable, machine, plan)]
    if not usable:
        parts = ['No combination has two analysed runs whose processor time was measured.']
    left = [f'- {combination(profile.levels)}' for profile in found if profile not in usable]
    if usable and left:
        parts += ['Left out, because a number of nodes has fewer than two runs:', '\n'.join(left)]
    return '\n\n'.join(parts) + '\n'


def _demands(found: Sequence[Profile]) -> str:
    rows = []
    for profile in found:
        for size in profile.sizes:
            uses = profile.under_load(size)
            demand = demand_of(uses)
            figures = [typical(uses, lambda use: use.store * 1e6), typical(uses, lambda use: use.api * 1e6)]
            cells = [_interval(figure) for figure in figures]
            cells += [_interval(demand.written if demand else None), _interval(demand.sent if demand else None)]
            rows.append([combination(profile.levels), str(size), *cells, show(profile.stored(), 'bytes')])
    header = ['combination', 'nodes', 'processor of the store, µs', 'of the API, µs', 'written, bytes', 'sent, bytes']
    note = ''
    if any(profile.driver == 'raw' for profile in found):
        note = '\n\nSome results have no runs of the application: add its demand.'
    return _table([*header, 'a record on the disks'], rows) + note


def _check(found: Sequence[Profile]) -> str:
    rows, worst = [], 0.0
    for profile in found:
        for (nodes, threads), uses in sorted(profile.uses.items()):
            measured = typical(uses, lambda use: use.throughput)
            if measured is None:
                continue
            expected = predicted(profile, nodes, threads)
            error = expected / measured.value - 1
            worst = max(worst, abs(error))
            cells = [str(nodes), str(threads), _interval(measured), show(float(round(expected))), f'{error:+.0%}']
            rows.append([combination(profile.levels), *cells])
    header = ['combination', 'nodes', 'threads', 'measured, operations/s', 'predicted', 'difference']
    note = (
        f'Each prediction is from the demand with the nearest other number of nodes, if there is one, and for the '
        f'processors that ran everything. The largest difference is {worst:.0%}.'
    )
    return f'{_table(header, rows)}\n\n{note}'


def _rates(found: Sequence[Profile], machine: Machine | None) -> str:
    rows = []
    for profile in found:
        board = machine or Machine(profile.processors)
        delay = delay_of(profile)
        for boards in BOARDS:
            if boards < profile.copies or (boards > 1 and profile.levels.get('store') in ON_ONE_BOARD):
                continue
            demand = demand_of(profile.under_load(boards))
            if demand is None:
                continue
            stations = demand.stations(board, boards, _value)
            limits = demand.limits(board, boards, _value)
            highest = highest_rate(demand, board, boards)
            wait = board.wait if demand.written is not None and demand.written.value > 0 else 1.0
            latencies = [
                NONE if delay is None else _milliseconds(load_of(stations, number, delay * wait, limits=limits))
                for number in AT_ONCE
            ]
            name = str(boards) if boards <= profile.sizes[-1] else f'*{boards}*'
            planned = show(float(round(highest.low * USABLE_TIME)))
            cells = [name, bottleneck([*stations, *limits]).name, _interval(highest), planned, ', '.join(latencies)]
            rows.append([combination(profile.levels), *cells])
    header = ['combination', 'boards', 'limited by', 'highest rate, operations/s', 'planned rate']
    note = (
        f'The planned rate is {USABLE_TIME:.0%} of the lower bound. *Italic*: more boards than were measured. {NONE}: '
        'no run has at most as many threads as the machine has processors.'
    )
    at_once = ', '.join(str(number) for number in AT_ONCE)
    return f'{_table([*header, f"mean latency with {at_once} at once, ms"], rows)}\n\n{note}'


def _boards(found: Sequence[Profile], machine: Machine | None, plan: Plan) -> str:
    rates = [sensors / plan.every for sensors in plan.sensors]
    rows = [
        [
            combination(profile.levels),
            *(_need(profile, machine or Machine(profile.processors), rate, plan) for rate in rates),
        ]
        for profile in found
        if profile.inserts > 0.5
    ]
    if not rows:
        return 'No workload of the results stores readings: measure workload i.'
    header = ['combination', *(f'{show(float(sensors))} sensors' for sensors in plan.sensors)]
    note = (
        f'Boards {TIMES} space for {plan.retention_days:g} days on the disk of each. A sensor sends a reading every '
        f'{plan.every:g} s, and each is an operation. Disks have {show(plan.disk_bytes, "bytes")}, of which '
        f'{USABLE_DISK:.0%} hold data. (disk): the disk decides the number. *Italic*: more boards than were measured.'
    )
    return f'{_table(header, rows)}\n\n{note}'


def _need(profile: Profile, machine: Machine, rate: float, plan: Plan) -> str:
    for_rate = boards_for(profile, machine, rate)
    if for_rate is None:
        return 'not reached'
    stored = bytes_for(profile, rate, plan.retention_days)
    if stored is None:
        return f'{for_rate}, disk unknown'
    boards = max(for_rate, math.ceil(stored / (plan.disk_bytes * USABLE_DISK)))
    if boards > 1 and profile.levels.get('store') in ON_ONE_BOARD:
        return f'1 with a disk of {show(_digits(stored / USABLE_DISK), "bytes")}'
    text = f'{boards} {TIMES} {show(_digits(stored / USABLE_DISK / boards), "bytes")}'
    text = f'*{text}*' if boards > profile.sizes[-1] else text
    return f'{text} (disk)' if boards > for_rate else text


def _machines(profile: Profile, uses: Sequence[Use], nodes: int) -> list[Station]:
    """The processors of the results: of each node, or of the one machine that nodes, application and client share."""
    busy = sum(use.board if profile.apart else use.board + use.client for use in uses) / len(uses)
    return [Station('processors', busy, profile.processors * (nodes if profile.apart else 1))]


def _value(interval: Interval) -> float:
    return interval.value


def _milliseconds(load: Load) -> str:
    return show(_digits(load.latency * 1e3))


def _interval(interval: Interval | None) -> str:
    """`1,340 (1,290 to 1,400)`, with three significant digits."""
    if interval is None:
        return NONE
    value, low, high = (show(_digits(each)) for each in (interval.value, interval.low, interval.high))
    return f'{value} ({low} to {high})'


def _digits(value: float, digits: int = 3) -> float:
    if value == 0:
        return 0.0
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in [header, ['---'] * len(header), *rows])


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 done, 1 a file cannot be used, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='tidegauge_analysis.sizing', description='Boards for sensors.')
    parser.add_argument('results', type=Path, nargs='+')
    parser.add_argument('--board', type=Path, help='calibration of the boards')
    parser.add_argument('--reference', type=Path, help='calibration of the machine of the results')
    parser.add_argument('--sensors', type=int, action='append', help='can be repeated')
    parser.add_argument('--every', type=float, default=EVERY_SECONDS, help='seconds between two readings of a sensor')
    parser.add_argument('--retention-days', type=float, default=RETENTION_DAYS)
    parser.add_argument('--disk-bytes', type=float, default=DISK_BYTES)
    given = parser.parse_args(arguments)
    if (given.board is None) != (given.reference is None):
        raise InputError('--board and --reference belong together: calibrate the board, and the machine of the results')
    machine = None if given.board is None else machine_of(read_board(given.board), read_board(given.reference))
    found = [profile for path in given.results for profile in profiles(read_archive(path))]
    plan = Plan(given.sensors or SENSORS, given.every, given.retention_days, given.disk_bytes)
    sys.stdout.write(markdown(found, machine, plan))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
