"""Makes an `analysis.json` from generated values, to test figures and pages without servers."""

import hashlib
import math
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from tidegauge_analysis import document as d
from tidegauge_analysis.contrasts import holm
from tidegauge_analysis.letters import compact_letters

HOSTILE = '<b>50 % & $x_1$ "q" \\n</b>'
"""Text that would break HTML, LaTeX, Markdown, CSV or Matplotlib's formulas if it were not escaped."""

Json = dict[str, Any]


class Sample:
    """Numbers with ids, and the list of them that `numbers.json` has."""

    def __init__(self) -> None:
        self.entries: list[Json] = []
        self.random = np.random.default_rng(7)

    def number(self, value: float | None, unit: str, formula: str = 'mean', reason: str | None = None) -> d.Number:
        if value is None or not math.isfinite(value):
            return d.Number(None, None, unit, reason or 'there is a single run')
        name = f'n{len(self.entries) + 1}'
        runs = ['d1-s1-t2-raw-1', 'd1-s1-t3-raw-1']
        inputs = {'runs': runs, 'where': {'operation': 'READ', 'status': 'OK'}}
        self.entries.append({'id': name, 'value': value, 'unit': unit, 'formula': formula, 'inputs': inputs})
        return d.Number(name, value, unit)

    def numbers(self, values: list[float | None], unit: str, formula: str) -> d.NumberList:
        name = f'n{len(self.entries) + 1}'
        self.entries.append({'id': name, 'value': values, 'unit': unit, 'formula': formula, 'inputs': {}})
        return d.NumberList(name, values, unit)

    def estimate(self, value: float | None, low: float | None, high: float | None, unit: str) -> d.Estimate:
        low_number = self.number(low, unit, 'mean_low')
        return d.Estimate(self.number(value, unit), low_number, self.number(high, unit, 'mean_high'), 0.95)

    def mean(self, values: list[float], unit: str) -> d.Estimate:
        mean = float(np.mean(values))
        if len(values) < 2:
            return self.estimate(mean, None, None, unit)
        half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
        return self.estimate(mean, mean - half, mean + half, unit)

    def none(self, unit: str, reason: str) -> d.Estimate:
        missing = d.Number(None, None, unit, reason)
        return d.Estimate(missing, missing, missing, 0.95)


METRICS = {
    'throughput': ('ops/s', True, 'Throughput'),
    'read.mean': ('ms', False, 'Mean latency of reads'),
    'read.p99': ('ms', False, '99th percentile of the latency of reads'),
}
STORES = ('cassandra', 'hbase', 'postgres')
SPEED = {'cassandra': 3900.0, 'hbase': 6300.0, 'postgres': 5500.0}
TRIALS = 8


def sample_analysis(*, quick: bool = True, partial: bool = True, question: str = '') -> tuple[Json, list[Json]]:
    """An analysis with every part filled, and the entries of `numbers.json`."""
    sample = Sample()
    families: list[d.Family] = []
    values: dict[tuple[str, str, str, str], list[float]] = {}
    for metric in METRICS:
        for workload in ('a', 'c'):
            groups = {}
            for store in STORES:
                for driver in ('raw', 'app'):
                    speed = SPEED[store] * (1.2 if workload == 'c' else 1) * (1 if driver == 'raw' else 0.6)
                    base = speed if metric == 'throughput' else 16_000 / speed * (4 if metric == 'read.p99' else 1)
                    drawn = [float(v) for v in base * sample.random.normal(1, 0.04, TRIALS)]
                    values[metric, workload, store, driver] = drawn
                    groups[f'{store}, {driver}'] = drawn
            families.append(_family(sample, metric, workload, groups))
    families.append(_single_family(sample))
    first = families[0]
    sentence = d.Sentence(
        f'With workload a, hbase, raw has the highest throughput: {{{first.groups[2].mean.value.id}}} '
        f'({{{first.groups[2].mean.low.id}!}} to {{{first.groups[2].mean.high.id}!}}).'
    )
    analysis = d.Analysis(
        study=_study(quick=quick, question=question or None),
        runs=_counts(sample, partial=partial),
        run_rows=_run_rows(),
        environment={'cpu': 'Test CPU', 'cores': 2, 'memoryBytes': 8 << 30, 'system': 'Linux 6.1', HOSTILE: HOSTILE},
        versions={'d1': {'postgres': '17.5'}, 'd2': {'cassandra': '5.0.6'}},
        answer=[sentence, d.Sentence('The application adds latency to every store.')],
        limits=[d.Sentence('Each combination was deployed once.'), d.Sentence(HOSTILE)],
        summary=[d.Sentence('Of all 90 pairs, 60 are shown to differ.')],
        families=families,
        drivers=_drivers(sample, values),
        series=_series(sample),
        latencies=_latencies(sample),
        curves=[_curve(sample, 'cassandra', 3000), _curve(sample, 'postgres', None)],
        resources=[_resources(sample, store) for store in STORES],
        failures=[_failure(sample)],
        rules=[
            d.RuleSummary('errors', 0, 'operations', 48, 1, sample.number(12, 'operations', 'max')),
            d.RuleSummary('foreign-cpu', 0.1, '', 48, 0, sample.number(0.04, '', 'max')),
            d.RuleSummary('throttled', None, '', 0, 0, d.Number(None, None, '', 'no control group')),
        ],
        validity=[
            d.RunChecks(
                'd1-s1-t4-raw-1',
                valid=False,
                checks=[d.CheckRow('errors', sample.number(12, 'operations', 'count'), 0, ok=False, note=HOSTILE)],
            )
        ],
        sensitivity=[
            d.Sensitivity(
                first.id,
                [
                    d.SensitivityGroup(
                        g.label, 8, 9, g.mean, sample.mean([v.value.value or 0 for v in g.values], 'ops/s')
                    )
                    for g in first.groups[:2]
                ],
                ['cassandra, raw and cassandra, app would share a letter.'],
            )
        ],
        published=[
            d.PublishedRow(
                'Paper 2023',
                {'store': 'cassandra', 'workload': 'a'},
                'throughput',
                '',
                'ops/s',
                sample.number(1200, 'ops/s', 'published'),
                '',
                first.groups[0].mean,
                sample.number(3.2, '', 'ratio'),
                'above',
            )
        ],
        extremes=_extremes(sample),
        claims=[
            d.ClaimResult(
                'writes',
                f'Cassandra writes fastest {HOSTILE}',
                'figure 8',
                'throughput: cassandra highest',
                'disagrees',
                '',
                'other hardware',
                d.Number(None, None, 'runs', 'the claim is decided'),
                sample.estimate(1.2, 1.1, 1.3, ''),
                sample.number(0.05, '', 'pooled'),
                d.Sentence(f'cassandra > hbase: ratio {{{first.groups[0].mean.value.id}}}.'),
                'cassandra > hbase: ratio 1.2.',
                [
                    d.ClaimPart(
                        'workload a',
                        'cassandra > hbase',
                        'disagrees',
                        first.groups[0].mean,
                        first.groups[1].mean,
                        'ratio',
                        first.groups[0].mean,
                        d.Sentence(HOSTILE),
                        d.Number(None, None, 'runs', 'the comparison is decided'),
                        '',
                    )
                ],
            )
        ],
        loads=[
            d.LoadRow(
                'd1-s1',
                'raw',
                'cassandra, a',
                1,
                9,
                sample.number(20_000, 'records', 'sum'),
                sample.number(4.2, 's', 'sum'),
                sample.number(4761.9, 'records/s', 'ratio'),
            )
        ],
        load_groups=[
            d.LoadGroup(
                'cassandra, app',
                {'store': 'cassandra', 'driver': 'app'},
                3,
                sample.number(1000, 'records', 'field'),
                sample.estimate(2.5, 2.4, 2.6, 's'),
                sample.number(400, 'records/s', 'scaled_ratio'),
            )
        ],
        time=d.TimeUse(
            sample.number(620.5, 's', 'sum'), sample.number(84.1, 's', 'sum'), sample.number(800, 's', 'sum')
        ),
        methods=[d.Sentence('Each combination of hard factors was deployed once.'), d.Sentence(HOSTILE)],
        files={
            f'runs/d1-s1-t{t}-raw-1.{e}': hashlib.sha256(b'x').hexdigest() for t in (2, 3) for e in ('csv.gz', 'json')
        },
        notes=['The machine has two processors.'],
    )
    return d.to_json(analysis), sample.entries


def _study(*, quick: bool, question: str | None) -> d.StudyFacts:
    return d.StudyFacts(
        name='stores',
        title='Stores on two cores: ' + HOSTILE,
        question=question or 'Which store serves the application best?',
        seed=1,
        quick=quick,
        plan_hash='0123456789abcdef' * 4,
        hard={'store': list(STORES)},
        easy={'workload': ['a', 'c'], 'driver': ['raw', 'app']},
        fixed={'threads': 4, 'records': 20_000},
        deployments=1,
        trials=10,
        warmup=2,
        state={'a': 'reuse'},
        exclude=[{'where': {'store': 'hbase', 'workload': 'd'}, 'because': HOSTILE}],
        metrics=list(METRICS),
        per=['workload'],
        groups=['store', 'driver'],
        alpha=0.05,
        margin=0.05,
        figures=[],
    )


def _counts(sample: Sample, *, partial: bool) -> d.RunCounts:
    def count(value: float) -> d.Number:
        return sample.number(value, 'runs', 'count')

    missing = ['store=postgres, workload=c: 4 of 10 trials'] if partial else []
    return d.RunCounts(
        count(60), count(49), count(46), count(1), count(2), count(0), count(0), partial, missing, count(1)
    )


def _run_rows() -> list[d.RunRow]:
    rows = []
    for trial, status in enumerate(['warm-up', 'analysed', 'analysed', 'repeated'], start=1):
        name = f'd1-s1-t{trial}-raw-1'
        reasons = ['12 operations failed; the limit is 0'] if status == 'repeated' else []
        factors: d.Combination = {'store': 'cassandra', 'workload': 'a', 'driver': 'raw'}
        rows.append(
            d.RunRow(
                name, 'd1', 'd1-s1', 1, trial, 1, 'raw', factors, status == 'warm-up', status, reasons,
                f'runs/{name}.csv.gz', 'ab' * 32, f'runs/{name}.json', 'cd' * 32,
            )
        )  # fmt: skip
    return rows


def _group(sample: Sample, label: str, values: list[float], unit: str, letters: str | None) -> d.Group:
    store, driver = label.split(', ')
    quartiles = [float(v) for v in np.quantile(values, [0.25, 0.5, 0.75])]
    return d.Group(
        label=label,
        factors={'store': store, 'driver': driver},
        n=len(values),
        deployments=1,
        values=[
            d.RunValue(f'd1-s1-t{i}-{driver}-1', 'd1', 1, i, sample.number(v, unit)) for i, v in enumerate(values, 3)
        ],
        mean=sample.mean(values, unit),
        median=sample.estimate(quartiles[1], min(values), max(values), unit),
        sd=sample.number(float(np.std(values, ddof=1)) if len(values) > 1 else None, unit, 'sd'),
        minimum=sample.number(min(values), unit, 'minimum'),
        maximum=sample.number(max(values), unit, 'maximum'),
        lower_quartile=sample.number(quartiles[0], unit, 'quantile'),
        upper_quartile=sample.number(quartiles[2], unit, 'quantile'),
        letters=letters,
    )


def _family(sample: Sample, metric: str, workload: str, groups: dict[str, list[float]]) -> d.Family:
    unit, higher, title = METRICS[metric]
    title += f' (workload {workload})'
    labels = list(groups)
    between = list(combinations(labels, 2))
    p = dict(zip(between, holm([float(stats.ttest_ind(groups[a], groups[b]).pvalue) for a, b in between]), strict=True))
    order = sorted(labels, key=lambda label: float(np.mean(groups[label])), reverse=higher)
    letters = compact_letters(order, {frozenset(pair) for pair, value in p.items() if value < 0.05})
    pairs = []
    for one, other in between:
        ratio, decided = float(np.mean(groups[one]) / np.mean(groups[other])), p[one, other] < 0.05
        pairs.append(
            d.Pair(
                one, other, TRIALS, 'trial', True, sample.estimate(ratio, 0.95 * ratio, 1.05 * ratio, ''),  # noqa: FBT003
                sample.number(p[one, other], '', 'holm'), 'different' if decided else 'undecided',
                d.Number(None, None, 'trials', 'decided') if decided else sample.number(14, 'trials', 'further_units'),
                d.Sentence(f'{one} and {other} differ.' if decided else f'{one} and {other} are undecided.'),
            )
        )  # fmt: skip
    return d.Family(
        f'{metric.replace(".", "-")}-workload-{workload}', metric, title, unit, higher, {'workload': workload},
        [_group(sample, label, values, unit, letters[label]) for label, values in groups.items()], pairs,
        'Groups that share a letter are not shown to differ; the best group has the letter a.', [],
    )  # fmt: skip


def _single_family(sample: Sample) -> d.Family:
    """A family of one group with one run, whose interval has no value."""
    group = _group(sample, 'postgres, raw', [12.5], 's', None)
    return d.Family(
        'runtime-workload-e', 'runtime', 'Run time ' + HOSTILE, 's', False, {'workload': 'e'}, [group], [],  # noqa: FBT003
        'No letters: a single group has nothing to be compared with.', ['There is one run.'],
    )  # fmt: skip


def _drivers(sample: Sample, values: dict[tuple[str, str, str, str], list[float]]) -> list[d.DriverDifference]:
    found = []
    for metric, (unit, higher, _title) in METRICS.items():
        for store in STORES:
            raw, app = values[metric, 'a', store, 'raw'], values[metric, 'a', store, 'app']
            differences = [x - y for x, y in zip(app, raw, strict=True)]
            difference = sample.mean(differences, unit)
            ratio = float(np.mean(app) / np.mean(raw))
            found.append(
                d.DriverDifference(
                    f'{metric.replace(".", "-")}-{store}', metric, unit, higher, f'{store}, a',
                    {'store': store, 'workload': 'a'}, 'app', 'raw', len(raw), 'trial', sample.mean(app, unit),
                    sample.mean(raw, unit), difference, sample.estimate(ratio, ratio * 0.95, ratio * 1.05, ''),
                    sample.number(1e-5, '', 'ratio_p'),
                    d.Sentence(f'On {store} the application adds {{{difference.value.id}}}.'),
                )
            )  # fmt: skip
    return found


def _series(sample: Sample) -> list[d.TrialSeries]:
    found = []
    for number, store in enumerate(STORES, start=1):
        for driver in ('raw', 'app'):
            trials = []
            for trial in range(1, 13):
                value = SPEED[store] * (0.7 + 0.3 * min(1, trial / 3)) * float(sample.random.normal(1, 0.03))
                valid = not (store == 'hbase' and trial == 7)
                run = f'd{number}-s1-t{trial}-{driver}-1'
                trials.append(d.Trial(run, trial, sample.number(value, 'ops/s'), trial <= 2, valid))
            found.append(
                d.TrialSeries(
                    f'd{number}-s1-{driver}-throughput', f'd{number}-s1', f'd{number}', 1, 'throughput', 'ops/s',
                    driver, f'{store}, a, {driver}', {'store': store, 'workload': 'a', 'driver': driver}, trials, 2,
                    sample.number(2, 'trials', 'mser'), 'flat' if store != 'hbase' else 'no steady state',
                    'segments do not differ by more than 5 %', sample.number(0.1, '', 'lag_one'),
                    sample.number(9.6, 'trials', 'effective_size'),
                )
            )  # fmt: skip
    return found


def _latencies(sample: Sample) -> list[d.Latencies]:
    found = []
    edges = [float(v) for v in np.geomspace(0.1, 100, 61)]
    for store in STORES:
        for operation in ('READ', 'UPDATE'):
            drawn = sample.random.lognormal(math.log(16_000 / SPEED[store]), 0.4, 5000)
            counts, _ = np.histogram(drawn, edges)
            quantiles = []
            for at, label in ((0.5, 'p50'), (0.9, 'p90'), (0.95, 'p95'), (0.99, 'p99'), (0.999, 'p99.9')):
                value = float(np.quantile(drawn, at))
                quantiles.append(
                    d.Quantile(
                        at, label, sample.estimate(value, value * 0.97, value * 1.04 if at < 0.999 else None, 'ms')
                    )
                )
            seconds = [float(v) for v in range(10)]
            found.append(
                d.Latencies(
                    f'latency-{store}-{operation.lower()}', f'{store}, a, raw',
                    {'store': store, 'workload': 'a', 'driver': 'raw'}, operation, ['d1-s1-t3-raw-1'],
                    sample.number(5000, 'operations', 'count'), sample.number(0, 'operations', 'count'),
                    sample.number(float(drawn.mean()), 'ms'), sample.number(float(drawn.min()), 'ms', 'minimum'),
                    sample.number(float(drawn.max()), 'ms', 'maximum'), quantiles,
                    d.Histogram(edges, sample.numbers([float(c) for c in counts], 'operations', 'histogram')),
                    d.Timeline(
                        1.0, seconds,
                        sample.numbers([SPEED[store] * (1 + 0.1 * math.sin(s)) for s in seconds], 'ops/s', 'timeline'),
                        sample.numbers([2.5 + 0.2 * math.sin(s) for s in seconds], 'ms', 'timeline'),
                        sample.numbers([6 + math.cos(s) if s < 9 else None for s in seconds], 'ms', 'timeline'),
                    ),
                )
            )  # fmt: skip
    return found


def _curve(sample: Sample, store: str, limit: float | None) -> d.Curve:
    points = []
    for target in (1000, 2000, 3000, 4000, 5000):
        achieved = min(target, limit or target) * 0.99
        latency = 1.5 + (8 if limit is not None and target > limit else 0) + target / 4000
        points.append(
            d.CurvePoint(
                target, sample.number(target, 'ops/s', 'target'),
                sample.estimate(achieved, achieved * 0.98, achieved * 1.02, 'ops/s'),
                sample.estimate(latency, latency * 0.9, latency * 1.1, 'ms'),
            )
        )  # fmt: skip
    return d.Curve(
        f'curve-{store}', store, {'store': store}, 'target', 'read.p99', 'ms', points, 3 if limit else None,
        d.Sentence(f'{store} is overloaded from 4,000 ops/s.' if limit else f'{store} is not overloaded.'),
    )  # fmt: skip


def _extremes(sample: Sample) -> list[d.ExtremeRow]:
    published = sample.number(17.2, 'ms', 'cell')
    ours, none = sample.estimate(2.1, 2.0, 2.2, 'ms'), sample.none('ms', 'there is no run with these levels')
    return [
        d.ExtremeRow(
            'A study', 'workload a', 'read.median', 'lowest', published, 'cassandra, rf 1', ours, 'hbase, rf 1'
        ),
        d.ExtremeRow('A study', 'workload d', 'read.median', 'highest', published, 'citus, rf 3', none, ''),
    ]


def _failure(sample: Sample) -> d.FailureRow:
    def about(value: float, unit: str) -> d.Estimate:
        return sample.estimate(value, value * 0.9, value * 1.1, unit)

    return d.FailureRow(
        'failure-cassandra', 'cassandra, consistency ALL, app', {'store': 'cassandra', 'consistency': 'ALL'}, 5, 4,
        about(100, 'ops/s'), about(16, 's'), about(17, 's'), about(15.2, 's'), about(16.1, 's'),
        sample.number(1500, 'operations', 'sum'), about(42, '%'), sample.number(900, 'records', 'sum'),
        sample.number(2, 'records', 'sum'), sample.number(0, 'records', 'sum'),
        d.Sentence('The rate was 90 % again after 16 s.'),
    )  # fmt: skip


def _resources(sample: Sample, store: str) -> d.Resources:
    def row(node: str, role: str, cpu: float, memory: float) -> d.NodeRow:
        def about(value: float, unit: str) -> d.Estimate:
            return sample.estimate(value, value * 0.95, value * 1.05, unit)

        disk = sample.none('bytes', 'the node is on another machine') if role == 'client' else about(2.4e6, 'bytes')
        return d.NodeRow(
            node, role, about(cpu, 'cpus'), about(memory, 'bytes'), disk, disk, about(8e5, 'bytes'),
            about(3e6, 'bytes'), 'proc',
        )  # fmt: skip

    nodes = [row(f'{store}-1', 'store', 0.8, 9e8), row('api', 'api', 0.4, 1.2e8), row('client', 'client', 0.3, 1e8)]
    return d.Resources(
        f'resources-{store}', f'{store}, a, app', {'store': store, 'workload': 'a', 'driver': 'app'}, 8, nodes,
        sample.estimate(1480, 1470, 1490, 'bytes'), sample.estimate(2.1, 1.9, 2.3, ''),
        sample.estimate(0.2, 0.18, 0.22, ''), sample.estimate(0.0021, 0.0017, 0.0025, 'J'), 'a model of the board',
    )  # fmt: skip
