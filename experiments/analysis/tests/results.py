"""Makes results directories with known means, spreads and differences, in the form that the runner writes."""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

Json = dict[str, Any]

LIMITS = {
    'dropped': 0,
    'errors': 0,
    'damaged': 0,
    'target': 0.98,
    'throttled': None,
    'clockStepMs': 50,
    'oomKills': 0,
    'swapBytes': None,
    'foreignCpu': None,
    'network': None,
}


DOWN_SECONDS = 3.5
"""Operations that end within this time of a failure fail."""


@dataclass
class Truth:
    """What the operations of a study are drawn from. Latencies are in microseconds."""

    hard: dict[str, list[Any]] = field(default_factory=lambda: {'store': ['postgres', 'sqlite']})
    easy: dict[str, list[Any]] = field(default_factory=lambda: {'workload': ['a'], 'driver': ['raw', 'app']})
    deployments: int = 1
    trials: int = 7
    warmup: int = 1
    operations: int = 300
    latency: Mapping[str, float] = field(default_factory=lambda: {'postgres': 2000.0, 'sqlite': 1000.0})
    """Mean latency by store."""
    effect: Callable[[Json], float] = lambda _: 1.0
    """Multiplies the latency, by the levels of all factors."""
    overhead: float = 500.0
    """What the application adds to each operation."""
    between_trials: float = 0.02
    """Relative standard deviation of the mean between trials, and between deployments."""
    between_deployments: float = 0.0
    metrics: list[str] = field(default_factory=lambda: ['throughput', 'read.mean', 'read.p99', 'update.mean'])
    per: list[str] = field(default_factory=lambda: ['workload'])
    groups: list[str] = field(default_factory=lambda: ['store'])
    invalid: Mapping[tuple[str, int, str, int], str] = field(default_factory=dict)
    """Failed rule by series, trial, driver and attempt."""
    energy: bool = True
    figures: list[str] = field(default_factory=list)
    """Kinds that a report draws. Without any it draws all, which takes most of its time."""
    published: list[Json] = field(default_factory=list)
    claims: list[Json] = field(default_factory=list)
    margin: float = 0.05
    quick: bool = False
    seed: int = 1
    fixed: dict[str, Any] = field(default_factory=lambda: {'threads': 1, 'target': 0, 'records': 1000, 'fields': 10})
    parts: bool = False
    """Half of the operations are read-modify-writes, with their parts, as in workload F."""
    killed: Callable[[Json], Json | None] = lambda _: None
    """What the document has of a killed node, by the levels of all factors. See `DOWN_SECONDS`."""
    capacity: float | None = None
    """Operations per second that a store achieves at most, where there is a target."""
    exactly: list[int] | None = None
    """Latencies of the operations of each run, which then are all reads."""
    paired: bool = False
    """All series of a block take turns."""


class Writer:
    """Writes a results directory step by step, as the runner does."""

    def __init__(self, path: Path, truth: Truth) -> None:
        self.path = path
        self.truth = truth
        self.draws = np.random.default_rng(truth.seed)
        for folder in ('runs', 'loads'):
            (path / folder).mkdir(parents=True)
        self.plan = plan_of(truth)
        (path / 'plan.json').write_text(json.dumps(self.plan))
        self.enter('opened', plan=self.plan['hash'], environment={'cpu': 'test', 'cores': 2}, differs=[])

    def enter(self, event: str, **values: object) -> None:
        with (self.path / 'journal.jsonl').open('a') as journal:
            journal.write(json.dumps({'event': event, 'time': '2026-01-02T03:04:05Z', **values}) + '\n')

    def everything(self) -> None:
        for deployment in self.plan['deployments']:
            shift = 1 + self.draws.normal(0, self.truth.between_deployments)
            self.enter('deployment-started', deployment=deployment['id'], attempt=1)
            for series in deployment['series']:
                self.series(deployment, series, shift=shift)
            self.enter(
                'deployment-ended', deployment=deployment['id'], attempt=1, seconds=60.5, versions={'store': '1.0'}
            )
        self.enter('closed', complete=True)

    def series(
        self, deployment: Json, series: Json, *, shift: float = 1.0, attempt: int = 1, stop_after: int | None = None
    ) -> None:
        """Write one attempt of a series; with `stop_after`, it stops after so many trials without its end."""
        self.enter(
            'series-started',
            series=series['id'],
            attempt=attempt,
            deployment=deployment['id'],
            deploymentAttempt=1,
        )
        for driver in series['drivers']:
            name = f'loads/{series["id"]}-{attempt}-1-{driver}-1.json'
            load = {'format': 1, 'series': series['id'], 'seriesAttempt': attempt, 'trial': 1, 'driver': driver}
            load |= {'records': 1000, 'seconds': 0.5, 'how': 'loaded'}
            (self.path / name).write_text(json.dumps(load))
        for trial in range(1, series['trials'] + 1):
            if stop_after is not None and trial > stop_after:
                return
            luck = shift * (1 + self.draws.normal(0, self.truth.between_trials))
            for driver in series['drivers']:
                failed = self.truth.invalid.get((series['id'], trial, driver, 1))
                again = 2 if failed else 1
                for number in range(1, again + 1):
                    wrong = self.truth.invalid.get((series['id'], trial, driver, number))
                    self.run(deployment, series, trial, driver, luck, (attempt, number), wrong)
        self.enter('series-ended', series=series['id'], attempt=attempt)

    def run(  # noqa: PLR0913, PLR0917
        self,
        deployment: Json,
        series: Json,
        trial: int,
        driver: str,
        luck: float,
        attempts: tuple[int, int],
        wrong: str | None,
    ) -> None:
        truth = self.truth
        name = f'{series["id"]}-{attempts[0]}-{trial}-{driver}-{attempts[1]}'
        factors = {**truth.fixed, **deployment['hard'], **series['easy'], 'driver': driver}
        centre = truth.latency[factors.get('store', 'postgres')] * luck * truth.effect(factors)
        centre += truth.overhead if driver != 'raw' else 0
        latency = np.maximum(1, self.draws.gamma(25, centre / 25, truth.operations)).astype(int)
        if truth.exactly is not None:
            latency = np.array(truth.exactly)
        start = np.concatenate([[0], np.cumsum(latency)[:-1]])
        if factors['target']:
            rate = min(factors['target'], truth.capacity or factors['target'])
            start = (np.arange(truth.operations) * 1e6 / rate).astype(int)
        reads = 0.5 if truth.exactly is None else 1.0
        operation = np.where(self.draws.random(truth.operations) < reads, 'READ', 'UPDATE')
        fault = truth.killed(factors)
        since = (start + latency) / 1e6 - fault['killedSeconds'] if fault else np.full(truth.operations, -1.0)
        status = np.where((since >= 0) & (since < DOWN_SECONDS), 'UNAVAILABLE', 'OK')
        lines = ['start_us,operation,latency_us,status,thread,part,turn']
        lines += [f'{s},{o},{t},{r},0,0,1' for s, o, t, r in zip(start, operation, latency, status, strict=True)]
        if truth.parts:
            lines = lines[:1]
            for s, o, t in zip(start, operation, latency, strict=True):
                modify = o == 'UPDATE'
                lines.append(f'{s},READ,{t // 2 if modify else t},OK,0,{int(modify)},1')
                if modify:
                    lines.append(f'{s + t // 2},UPDATE,{t - t // 2},OK,0,1,1')
                    lines.append(f'{s},READ-MODIFY-WRITE,{t},OK,0,0,1')
        packed = gzip.compress('\n'.join([*lines, '']).encode(), mtime=0)
        (self.path / 'runs' / f'{name}.csv.gz').write_bytes(packed)
        seconds = float((start + latency).max()) / 1e6
        node = {'readBytes': 0, 'writtenBytes': 400_000, 'receivedBytes': 1000, 'sentBytes': None, 'source': 'proc'}
        document = {
            'format': 2,
            'run': name,
            'deployment': deployment['id'],
            'series': series['id'],
            'block': deployment['block'],
            'trial': trial,
            'attempt': attempts[1],
            'seriesAttempt': attempts[0],
            'deploymentAttempt': 1,
            'warmup': trial <= series['warmup'],
            'driver': driver,
            'factors': factors,
            'seed': trial,
            'started': '2026-01-02T03:04:05Z',
            'seconds': seconds,
            'operations': truth.operations,
            'done': int((status == 'OK').sum()),
            'valid': wrong is None,
            'checks': [
                {'rule': 'errors', 'measured': 0, 'limit': 0, 'unit': 'operations', 'ok': True},
                {
                    'rule': wrong or 'clockStepMs',
                    'measured': 120.5 if wrong else 0.25,
                    'limit': 50,
                    'unit': 'ms',
                    'ok': wrong is None,
                },
                {'rule': 'swapBytes', 'measured': None, 'limit': None, 'unit': 'bytes', 'ok': True, 'note': 'no swap'},
            ],
            'nodes': [
                {**node, 'node': 'store-1', 'role': 'store', 'cpuSeconds': seconds / 2, 'memoryBytes': 5e7},
                {**node, 'node': 'client', 'role': 'client', 'cpuSeconds': seconds / 4, 'memoryBytes': 4e7},
            ],
            'storedBytes': {'before': 2_000_000, 'after': 2_100_000},
            'energy': {
                'joules': 3 * seconds,
                'low': 2 * seconds,
                'high': 4 * seconds,
                'perOperation': 3 * seconds / truth.operations,
                'source': 'a model',
            }
            if truth.energy
            else None,
            **({'fault': fault} if fault else {}),
            **({'round': f'b{deployment["block"]}'} if truth.paired else {}),
            'csv': {'rows': len(lines) - 1, 'sha256': hashlib.sha256(packed).hexdigest()},
        }
        text = json.dumps(document).encode()
        (self.path / 'runs' / f'{name}.json').write_bytes(text)
        self.enter('run-started', run=name, series=series['id'], seriesAttempt=attempts[0])
        self.enter(
            'run-ended',
            run=name,
            series=series['id'],
            seriesAttempt=attempts[0],
            valid=wrong is None,
            seconds=seconds,
            sha256={'json': hashlib.sha256(text).hexdigest(), 'csv': document['csv']['sha256']},
        )


def plan_of(truth: Truth) -> Json:
    easy = {name: levels for name, levels in truth.easy.items() if name != 'driver'}
    drivers = truth.easy.get('driver', ['raw'])
    deployments: list[Json] = []
    for block in range(1, truth.deployments + 1):
        for hard in product(*truth.hard.values()):
            number = len(deployments) + 1
            deployments.append(
                {
                    'id': f'd{number}',
                    'block': block,
                    'hard': dict(zip(truth.hard, hard, strict=True)),
                    'series': [
                        {
                            'id': f'd{number}s{index}',
                            'easy': dict(zip(easy, levels, strict=True)),
                            'drivers': drivers,
                            'state': 'reuse',
                            'trials': truth.trials,
                            'warmup': truth.warmup,
                        }
                        for index, levels in enumerate(product(*easy.values()), start=1)
                    ],
                }
            )
    study = {
        'name': 'synthetic',
        'title': 'A synthetic study',
        'question': 'Which store is faster?',
        'seed': truth.seed,
        'quick': truth.quick,
        'hard': truth.hard,
        'easy': truth.easy,
        'fixed': truth.fixed,
        'repeat': {
            'deployments': truth.deployments,
            'trials': truth.trials,
            'warmup': truth.warmup,
            'pairing': 'slice',
            'paired': [],
        },
        'state': {'a': 'reuse'},
        'exclude': [],
        'valid': LIMITS,
        'requeue': 1,
        'energy': None,
        'networks': {},
        'analyse': {
            'metrics': truth.metrics,
            'per': truth.per,
            'groups': truth.groups,
            'alpha': 0.05,
            'margin': truth.margin,
        },
        'figures': truth.figures,
        'published': truth.published,
        'claims': truth.claims,
    }
    return {'format': 2, 'study': study, 'hash': 'abc', 'deployments': deployments}


def write_results(path: Path, truth: Truth | None = None) -> Path:
    """Write complete results."""
    Writer(path, truth or Truth()).everything()
    return path
