"""What is measured of a run: throughput, running time, latencies of each operation, and energy."""

import math
import re
from dataclasses import dataclass

import numpy as np

from tidegauge_analysis.archive import OPERATIONS, Json, Operations, Run
from tidegauge_analysis.document import Number
from tidegauge_analysis.numbers import Ledger, missing

STATISTICS = {
    'mean': 'mean',
    'median': 'median',
    'min': 'smallest',
    'max': 'largest',
    'sd': 'standard deviation of the',
}
SPELLED = {'rmw': 'read-modify-write', 'readmodifywrite': 'read-modify-write'}


@dataclass(frozen=True)
class Metric:
    """A metric of an experiment file."""

    name: str
    """`throughput`, `memory-spread` and the like, or `read.mean`: operation, statistic."""
    title: str
    unit: str
    higher_is_better: bool
    operation: str | None = None
    """As in the archive, or None: of all operations, or of none."""
    statistic: str | None = None

    @property
    def is_latency(self) -> bool:
        """Whether it is a latency, so that it can be drawn over throughput."""
        return self.statistic is not None


def parse_metric(name: str) -> Metric:
    """Read the name of a metric.

    :raises ValueError: no metric has this name
    """
    plain = {
        'throughput': Metric(name, 'Throughput', 'ops/s', higher_is_better=True),
        'runtime': Metric(name, 'Running time', 's', higher_is_better=False),
        'energy': Metric(name, 'Energy per operation', 'J', higher_is_better=False),
        'cpu': Metric(name, 'Processors in use by the store', 'processors', higher_is_better=False),
        'cpu-time': Metric(name, 'Processor time of the store per operation', 's', higher_is_better=False),
        'memory': Metric(name, 'Memory of the store', 'bytes', higher_is_better=False),
        'memory-spread': Metric(name, 'Largest memory of the store over its smallest', '', higher_is_better=False),
        'disk-read': Metric(name, 'Bytes that the store read from disk per operation', 'bytes', higher_is_better=False),
        'power': Metric(name, 'Power', 'W', higher_is_better=False),
    }
    if name in plain:
        return plain[name]
    operation, _, statistic = name.lower().rpartition('.')
    operation = SPELLED.get(operation, operation)
    every = operation in {'all', 'latency'}
    if not every and operation.upper() not in OPERATIONS:
        raise ValueError(
            f'{name} is not a metric: it needs throughput, runtime, energy, cpu, cpu-time, memory, memory-spread, '
            'disk-read, power, or an operation such as read.mean'
        )
    if statistic not in STATISTICS and _share(statistic) is None:
        raise ValueError(f'{name} is not a metric: its statistic is one of {", ".join(STATISTICS)}, p50, p99 or p999')
    what = STATISTICS.get(statistic) or f'{_percent(statistic)}th percentile of the'
    title = f'{what} latency' if every else f'{what} {operation} latency'
    return Metric(
        name,
        title[0].upper() + title[1:],
        'ms',
        higher_is_better=False,
        operation=None if every else operation.upper(),
        statistic=statistic,
    )


def in_words(name: str) -> str:
    """A metric in the words of a sentence: `mean read latency` for `read.mean`; another name as it is."""
    try:
        title = parse_metric(name).title
    except ValueError:
        return name
    return title[0].lower() + title[1:]


def measure(metric: Metric, run: Run, operations: Operations, ledger: Ledger) -> Number:
    """Compute a metric of one run."""
    if metric.name in {'energy', 'power'}:
        return _energy(metric, run, ledger)
    if metric.name in {'cpu', 'cpu-time', 'memory', 'memory-spread', 'disk-read'}:
        return _of_nodes(metric, run, ledger)
    if metric.statistic is not None:
        return _latency(metric, run, operations, ledger)
    seconds = operations.seconds
    if seconds <= 0:
        return missing(metric.unit, 'the run has no operations')
    if metric.name == 'runtime':
        return ledger.add(seconds, metric.unit, 'runtime', run=run.name)
    return ledger.add(float(operations.rows().sum()) / seconds, metric.unit, 'throughput', run=run.name)


def _energy(metric: Metric, run: Run, ledger: Ledger) -> Number:
    energy, file, why = run.document.get('energy'), f'runs/{run.name}.json', 'the energy was not measured'
    if metric.name == 'energy':
        value = None if energy is None else energy['perOperation']
        return ledger.add(value, metric.unit, 'field', why, file=file, path=['energy', 'perOperation'])
    seconds = run.document['seconds']
    power = energy['joules'] / seconds if energy is not None and seconds else None
    return ledger.add(power, metric.unit, 'field_over', why, file=file, path=['energy', 'joules'], over=['seconds'])


def _of_nodes(metric: Metric, run: Run, ledger: Ledger) -> Number:
    """Processors, processor time or memory of all nodes of the store together."""
    if metric.name == 'memory-spread':
        return _spread_of_memory(run, ledger)
    key = {'memory': 'memoryBytes', 'disk-read': 'readBytes'}.get(metric.name, 'cpuSeconds')
    over = 'done' if metric.name in {'cpu-time', 'disk-read'} else 'seconds'
    divisor, file = run.document[over], f'runs/{run.name}.json'
    parts: list[Number] = []
    for index, node in enumerate(run.document['nodes']):
        if node['role'] != 'store':
            continue
        given: Json = {'file': file, 'path': ['nodes', index, key]}
        if node[key] is None or not divisor:
            parts = []
            break
        if metric.name == 'memory':
            parts.append(ledger.add(node[key], metric.unit, 'field', **given))
        else:
            parts.append(ledger.add(node[key] / divisor, metric.unit, 'field_over', over=[over], **given))
    total = sum(part.value or 0.0 for part in parts) if parts else None
    of = ledger.set([part.id for part in parts])
    return ledger.add(total, metric.unit, 'sum', 'it was not measured for each node of the store', of=of)


def _spread_of_memory(run: Run, ledger: Ledger) -> Number:
    """Largest memory of the nodes of the store during the run over the smallest one: 1 is flat."""
    file, sums = f'runs/{run.name}.json', []
    for key in ('memoryBytes', 'leastMemoryBytes'):
        of = [
            ledger.add(node.get(key), 'bytes', 'field', file=file, path=['nodes', index, key])
            for index, node in enumerate(run.document['nodes'])
            if node['role'] == 'store'
        ]
        if not of or any(number.value is None for number in of):
            return missing('', 'it was not measured for each node of the store')
        total = sum(number.value or 0.0 for number in of)
        sums.append(ledger.add(total, 'bytes', 'sum', of=ledger.set([number.id for number in of])))
    largest, least = sums
    value = largest.value / least.value if largest.value and least.value else None
    return ledger.add(value, '', 'scaled_ratio', first=largest.id, second=least.id, scale=1)


def _latency(metric: Metric, run: Run, operations: Operations, ledger: Ledger) -> Number:
    values = operations.latency[operations.rows(metric.operation)] / 1000
    if len(values) == 0:
        return missing('ms', f'the run has no successful operation {metric.operation or ""}'.rstrip())
    inputs: Json = {'runs': ledger.set([run.name]), 'operation': metric.operation}
    statistic = metric.statistic or ''
    at = _share(statistic)
    if at is not None:
        rank = max(1, math.ceil(len(values) * at)) - 1
        value = float(np.partition(values, rank)[rank])
        return ledger.add(value, 'ms', 'latency_quantile', at=at, **inputs)
    if statistic == 'mean':
        return ledger.add(float(values.mean()), 'ms', 'latency_mean', **inputs)
    if statistic == 'sd':
        spread = float(values.std(ddof=1)) if len(values) > 1 else None
        return ledger.add(spread, 'ms', 'latency_sd', 'the run has a single operation', **inputs)
    if statistic == 'min':
        return ledger.add(float(values.min()), 'ms', 'latency_minimum', **inputs)
    return ledger.add(float(values.max()), 'ms', 'latency_maximum', **inputs)


def _percent(statistic: str) -> str:
    """Turn `p99` into 99 and `p999` into 99.9."""
    digits = statistic[1:]
    return f'{digits[:2]}.{digits[2:]}' if len(digits) > 2 else digits


def _share(statistic: str) -> float | None:
    """Turn `p99` into 0.99 and `p999` into 0.999."""
    if statistic == 'median':
        return 0.5
    found = re.fullmatch(r'p(\d{2,4})', statistic)
    if found is None:
        return None
    digits = found.group(1)
    share: float = int(digits) / 10 ** len(digits)
    return share if share > 0 else None
