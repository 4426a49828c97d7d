"""What the operations of runs used, for each operation: processor time by component, bytes on disks and in networks."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tidegauge_analysis.archive import Archive, Json, Run, analysed
from tidegauge_analysis.demand import service_demand
from tidegauge_analysis.effects import Interval

DRIVERS = ('app', 'k6', 'raw')
"""The runs of the first of these that results have are used. Runs of `raw` contain no application."""

ALWAYS_NAMED = ('store', 'workload', 'rf')
SIZES = ('nodes', 'threads', 'driver')
"""Factors that do not distinguish profiles."""

INSERTS = {'a': 0.0, 'b': 0.0, 'c': 0.0, 'd': 0.05, 'e': 0.05, 'f': 0.0, 'g': 1.0, 'i': 0.99}
"""Share of inserts in the operations of a workload. An unknown workload is planned as if it only inserted."""


@dataclass(frozen=True)
class Use:
    """What one operation of a run used, on all nodes together."""

    deployment: str
    store: float
    """Seconds of processors."""
    api: float
    client: float
    written: float | None
    """Bytes to disks. None: not known."""
    sent: float | None
    """Bytes to other nodes and clients."""
    stored: float | None
    """Bytes of a record on all disks, with the copies."""
    throughput: float
    """Operations per second."""

    @property
    def board(self) -> float:
        """Seconds of the processors of boards: the client is elsewhere."""
        return self.store + self.api


@dataclass(frozen=True)
class Profile:
    """What the operations of one combination of levels used, by the numbers of nodes and of threads."""

    levels: Json
    copies: int
    driver: str
    processors: int
    """Of each node if each had its own machine, else of the machine that ran everything."""
    apart: bool
    """Whether each node had its own machine, and the client too."""
    uses: dict[tuple[int, int], list[Use]]

    @property
    def sizes(self) -> list[int]:
        """The measured numbers of nodes."""
        return sorted({nodes for nodes, _ in self.uses})

    @property
    def inserts(self) -> float:
        """Share of the operations that store a record."""
        return INSERTS.get(str(self.levels.get('workload')).lower(), 1.0)

    def nearest(self, nodes: int, without: int | None = None) -> int:
        """The measured number of nodes that is nearest to this one; of two, the larger.

        :param without: a number of nodes that is not taken if there is another one
        """
        sizes = [size for size in self.sizes if size != without] or self.sizes
        return min(sizes, key=lambda size: (abs(size - nodes), -size))

    def under_load(self, nodes: int, without: int | None = None) -> list[Use]:
        """Runs with the most threads on the nearest number of nodes."""
        nearest = self.nearest(nodes, without)
        return self.uses[nearest, max(threads for size, threads in self.uses if size == nearest)]

    def stored(self) -> float | None:
        """Bytes of a record on all disks, the largest of all runs; None: not measured."""
        known = [use.stored for uses in self.uses.values() for use in uses if use.stored is not None]
        return max(known, default=None)


def profiles(archive: Archive) -> list[Profile]:
    """Summarise the analysed runs of the application, or of the raw store if there are no others."""
    runs = analysed(archive.runs)
    driver = next((each for each in DRIVERS if any(run.driver == each for run in runs)), None)
    if driver is None:
        return []
    names = _names(archive.study)
    tables = _tables(archive)
    found: dict[tuple[str, ...], Profile] = {}
    for run in runs:
        use = _use(run, tables[run.series]) if run.driver == driver else None
        if use is None:
            continue
        levels = {name: run.factors[name] for name in names if name in run.factors}
        copies = int(run.factors.get('rf', 1))
        processors, apart = _machines(archive.environment)
        key = tuple(str(level) for level in levels.values())
        profile = found.setdefault(key, Profile(levels, copies, driver, processors, apart, {}))
        size = (int(run.factors.get('nodes', 1)), int(run.factors.get('threads', 1)))
        profile.uses.setdefault(size, []).append(use)
    return list(found.values())


def typical(uses: Sequence[Use], figure: Callable[[Use], float | None]) -> Interval | None:
    """The geometric mean of a figure, with Student's 95 % interval of its logarithms.

    Each deployment counts once; the runs of a single deployment count each. A figure that is 0 in a run has the mean
    and the range instead. None: it is not known in each run, or there is one run.
    """
    by_deployment: dict[str, list[float]] = {}
    for use in uses:
        value = figure(use)
        if value is None:
            return None
        by_deployment.setdefault(use.deployment, []).append(value)
    groups = list(by_deployment.values())
    if not groups:
        return None
    values = np.array([float(np.mean(group)) for group in groups] if len(groups) > 1 else groups[0])
    if len(values) < 2:
        return None
    if values.min() <= 0:
        return Interval(float(values.mean()), float(values.min()), float(values.max()))
    logs = np.log(values)
    half = float(stats.t.ppf(0.975, len(values) - 1)) * float(logs.std(ddof=1)) / math.sqrt(len(values))
    mean = float(logs.mean())
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _machines(environment: Json) -> tuple[int, bool]:
    """Processors of a machine, and whether each node had its own. A swarm has boards such as `3 x (arm64, 4 cores)`."""
    boards = re.search(r'(\d+) cores', str(environment.get('boards')))
    if environment.get('place') == 'swarm' and boards is not None:
        return int(boards[1]), True
    return int(environment.get('cores', 1)), False


def _names(study: Json) -> list[str]:
    """The factors that distinguish profiles: those with several levels, and some always."""
    several = [name for name, levels in {**study['hard'], **study['easy']}.items() if len(levels) > 1]
    return list(dict.fromkeys([*ALWAYS_NAMED, *(name for name in several if name not in SIZES)]))


def _tables(archive: Archive) -> dict[str, int]:
    """Tables that exist on the deployment while a series runs: those of its drivers, and of series of its round."""
    found = {}
    for deployment in archive.plan['deployments']:
        for series in deployment['series']:
            together = [
                each
                for each in deployment['series']
                if each is series or (each.get('round') is not None and each.get('round') == series.get('round'))
            ]
            found[series['id']] = sum(len(each['drivers']) for each in together)
    return found


def _use(run: Run, tables: int) -> Use | None:
    """What an operation used; None: nothing was done, or the processor time of a part is not known."""
    done, document = run.document['done'], run.document
    processor = {role: _sum(document, role, 'cpuSeconds') for role in ('store', 'api', 'client')}
    if done == 0 or document['seconds'] <= 0 or None in processor.values():
        return None
    written, sent = _written(document), _sum(document, 'store', 'sentBytes')
    store, api, client = (service_demand(seconds or 0.0, done) for seconds in processor.values())
    return Use(
        deployment=str(document['deployment']),
        store=store,
        api=api,
        client=client,
        written=None if written is None else written / done,
        sent=None if sent is None else sent / done,
        stored=_stored(run, tables),
        throughput=done / document['seconds'],
    )


def _sum(document: Json, role: str, key: str) -> float | None:
    """The sum over all nodes of a role; None: it is not known of one of them."""
    values = [node[key] for node in document['nodes'] if node['role'] == role]
    return None if None in values else float(sum(values))


def _written(document: Json) -> float | None:
    """Bytes to disks. /proc counts pages of processes, which can be many times as much: then those of the machine."""
    stores = [node for node in document['nodes'] if node['role'] == 'store']
    if stores and all(node['source'] != 'proc' for node in stores):
        return _sum(document, 'store', 'writtenBytes')
    return next((node['writtenBytes'] for node in document['nodes'] if node['role'] == 'machine'), None)


def _stored(run: Run, tables: int) -> float | None:
    """Bytes of a record. Each driver has its own table, and inserts about as many records as this one."""
    stored, records = run.document.get('storedBytes'), run.factors.get('records')
    if stored is None or not isinstance(records, int | float) or records <= 0:
        return None
    share = INSERTS.get(str(run.factors.get('workload')).lower(), 0.0)
    return float(stored['after'] / (tables * (records + share * run.document['done'])))
