"""What operations demand of resources, and the throughput and latency that follow.

Sources: Denning and Buzen 1978, The operational analysis of queueing network models, ACM Computing Surveys 10(3), for
the laws; Reiser and Lavenberg 1980, Mean-value analysis of closed multichain queuing networks, Journal of the ACM
27(2), for the latency. Both hold for any unit of time; here it is the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Station:
    """A resource at which operations queue, or several equal ones among which operations are spread evenly."""

    name: str
    demand: float
    """Time that an operation needs of all of them together, in seconds."""
    count: int = 1

    @property
    def each(self) -> float:
        """Time that an operation needs of one of them, in seconds, on average."""
        return self.demand / self.count


@dataclass(frozen=True)
class Load:
    """What a number of operations at once achieves."""

    throughput: float
    """Operations per second."""
    latency: float
    """Mean, in seconds."""


def service_demand(busy: float, completed: float) -> float:
    """Time of a resource for each operation: the utilization law U = X D, with U = busy / T and X = completed / T.

    :param busy: seconds in which the resource was used, over all of its equal parts
    :param completed: operations that ended meanwhile
    :raises ValueError: no operation ended, or the time is negative
    """
    if completed <= 0 or busy < 0:
        raise ValueError('a demand needs completed operations and a time that is not negative')
    return busy / completed


def bottleneck(stations: Sequence[Station]) -> Station:
    """The station that is busy all the time at the highest throughput.

    :raises ValueError: there is no station
    """
    return max(stations, key=lambda station: station.each)


def highest_throughput(stations: Sequence[Station]) -> float:
    """Throughput that no number of operations at once exceeds: 1 / the largest demand of one resource.

    :raises ValueError: there is no station with a demand
    """
    largest = bottleneck(stations).each
    if largest <= 0:
        raise ValueError('no station has a demand, so nothing limits the throughput')
    return 1 / largest


def load_of(
    stations: Sequence[Station], at_once: int, delay: float = 0.0, think: float = 0.0, limits: Sequence[Station] = ()
) -> Load:
    """Solve the closed network in which this number of operations is under way, by exact mean value analysis.

    :param delay: seconds of each operation in which it queues nowhere. It is a part of the latency
    :param think: seconds between two operations of a client, which are no part of the latency
    :param limits: what limits the throughput although its time is that of another station: a process that uses one
        processor at a time. More operations at once then only wait longer
    :raises ValueError: there is no operation, or a time is negative
    """
    if at_once < 1 or delay < 0 or think < 0 or any(station.demand < 0 for station in stations):
        raise ValueError('the analysis needs an operation, and times that are not negative')
    queues = [0.0] * len(stations)
    throughput = latency = 0.0
    for number in range(1, at_once + 1):
        # An arriving operation finds the queue of the network with one operation less.
        times = [station.each * (1 + queue) for station, queue in zip(stations, queues, strict=True)]
        latency = delay + sum(time * station.count for time, station in zip(times, stations, strict=True))
        if latency + think == 0:
            raise ValueError('the operations need no time')
        throughput = number / (latency + think)
        queues = [throughput * time for time in times]
    slowest = max((station.each for station in limits), default=0.0)
    if slowest * throughput <= 1:
        return Load(throughput, latency)
    return Load(1 / slowest, at_once * slowest - think)
