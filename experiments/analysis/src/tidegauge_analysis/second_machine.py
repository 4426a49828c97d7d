"""The results of a second machine beside these: how many times as long each group takes here."""

import csv
from collections.abc import Sequence
from pathlib import Path

from tidegauge_analysis.archive import Archive, ArchiveError, Run, analysed, read_archive
from tidegauge_analysis.cells import by_levels, label_of, measure_all, varying
from tidegauge_analysis.comparable import differences_of
from tidegauge_analysis.document import Estimate, MeanSlowdown, SecondMachine, Slowdown
from tidegauge_analysis.effects import Interval
from tidegauge_analysis.metrics import Metric, parse_metric
from tidegauge_analysis.numbers import Ledger, anchor, no_estimate
from tidegauge_analysis.scope import Other, OtherRun, Scope
from tidegauge_analysis.summaries import Sample, sample_of
from tidegauge_analysis.units import unpaired

COPY = 'report/second-machine.csv'
"""The values of the runs of the second machine, copied into these results: every number has its input here."""

SLOWDOWNS = {
    'slowdown': ('all.mean', 'mean'),
    'slowdown.min': ('all.min', 'smallest'),
    'slowdown.max': ('all.max', 'largest'),
}
"""Names of slowdowns in files of published numbers: the latency that is compared, and its words."""

SPEEDUP = 'speedup'
"""In files of published numbers: 100 % by the slowdown of mean latencies."""

NO_SECOND = (
    'it needs the results of a second machine: npm run study -- report RESULTS --against OTHER, with these results '
    'as RESULTS'
)


def copy_of(results: Path, other: Path) -> Other:
    """Copy the values of the second machine's runs into `COPY`.

    :raises ArchiveError: one of them is no results directory, a file is damaged, or the studies differ
    """
    here, there = read_archive(results), read_archive(other)
    if results.resolve() == other.resolve():
        raise ArchiveError(f'{other}: these are the same results: name those of the second machine')
    if here.study['name'] != there.study['name']:
        raise ArchiveError(
            f'{other}: the studies differ: {there.study["name"]} there, {here.study["name"]} in {results}'
        )
    obstacles, differences = differences_of(here, there)
    if obstacles:
        raise ArchiveError(f'{other}: the studies differ, so that no slowdown is computed: {"; ".join(obstacles)}')
    metrics = _metrics(here)
    measured = measure_all(there, metrics, Ledger())
    names = list({**here.study['hard'], **here.study['easy'], **there.study['hard'], **there.study['easy']})
    found: list[OtherRun] = []
    file = results / COPY
    file.parent.mkdir(exist_ok=True)
    with file.open('w', encoding='utf-8', newline='') as lines:
        writer = csv.writer(lines, lineterminator='\n')
        writer.writerow(['run', *names, 'metric', 'value'])
        for run in analysed(there.runs):
            factors = {name: run.factors[name] for name in names if name in run.factors}
            for metric in metrics:
                value = measured.value(run, metric.name).value
                if value is not None:
                    writer.writerow([run.name, *(factors.get(name, '') for name in names), metric.name, repr(value)])
                    found.append(OtherRun(len(found), metric.name, factors, value))
    return Other(other.resolve().name, differences, found)


def second_machine(scope: Scope) -> SecondMachine | None:
    """The slowdown of each group and metric, and the mean slowdown of each driver."""
    if scope.second is None:
        return None
    chosen = [parse_metric(name) for name in scope.archive.study['analyse']['metrics']]
    slowdowns = [each for metric in chosen if _is_time(metric) for each in slowdowns_of(scope, metric)]
    if not slowdowns:
        raise ArchiveError(f'{scope.second.name}: the results have no group in common')
    means = []
    for name, (metric_name, words) in SLOWDOWNS.items():
        by_driver: dict[str, list[Slowdown]] = {}
        for each in slowdowns_of(scope, parse_metric(metric_name)):
            by_driver.setdefault(str(each.factors.get('driver', '')), []).append(each)
        means += [
            MeanSlowdown(name, words, driver, len(cells), mean_of(scope, cells)) for driver, cells in by_driver.items()
        ]
    return SecondMachine(scope.second.name, scope.second.differences, slowdowns, means)


def slowdowns_of(scope: Scope, metric: Metric, *, inverse: bool = False) -> list[Slowdown]:
    """The slowdown of each combination of levels that both machines have, or its inverse."""
    if scope.second is None:
        return []
    levels = varying(scope.archive.study)
    found = []
    for runs in by_levels(analysed(scope.archive.runs), list(levels), levels):
        factors = {name: runs[0].factors[name] for name in levels if name in runs[0].factors}
        here, there = _here(scope, metric, runs), _there(scope, scope.second, metric, runs[0])
        if here.values and there.values:
            label = label_of(factors, factors) or 'all runs'
            ratio = _ratio(scope, here, there, inverse=metric.higher_is_better != inverse)
            name = anchor('slowdown', metric.name.replace('.', ' '), label)
            found.append(
                Slowdown(
                    name, metric.name, label, factors, len(here.values), len(there.values), here.mean(), there.mean(),
                    ratio,
                )
            )  # fmt: skip
    return found


def mean_of(scope: Scope, slowdowns: Sequence[Slowdown]) -> Estimate:
    """The mean of several slowdowns, each of which is one observation."""
    return sample_of([each.ratio.value for each in slowdowns], '%', scope.ledger).mean()


def _metrics(archive: Archive) -> list[Metric]:
    named = [*archive.study['analyse']['metrics'], 'throughput', *(name for name, _ in SLOWDOWNS.values())]
    return [parse_metric(name) for name in dict.fromkeys(named)]


def _is_time(metric: Metric) -> bool:
    return metric.is_latency or metric.name in {'throughput', 'runtime'}


def _here(scope: Scope, metric: Metric, runs: Sequence[Run]) -> Sample:
    return sample_of([scope.measured.value(run, metric.name) for run in runs], metric.unit, scope.ledger)


def _there(scope: Scope, other: Other, metric: Metric, like: Run) -> Sample:
    """Runs of the second machine with the same levels, those of factors with one level included."""
    numbers = [
        scope.ledger.add(run.value, metric.unit, 'cell', file=COPY, row=run.row, column='value')
        for run in other.runs
        if run.metric == metric.name and all(like.factors.get(name) == level for name, level in run.factors.items())
    ]
    return sample_of(numbers, metric.unit, scope.ledger)


def _ratio(scope: Scope, here: Sample, there: Sample, *, inverse: bool) -> Estimate:
    """The mean here in percent of the mean there; inverse for throughput, which is not a time."""
    first, second = (there, here) if inverse else (here, there)
    try:
        found, _ = unpaired(first.values, second.values, 0.95)
    except ValueError as error:
        return no_estimate('%', str(error))
    percent = Interval(100 * found.value, 100 * found.low, 100 * found.high)
    return scope.ledger.estimate(
        percent, '%', 'percent_of', 0.95, 'the runs vary too much', first=first.name, second=second.name
    )
