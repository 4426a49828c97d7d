"""Analyse a results directory: `python -m tidegauge_analysis.report RESULTS [--against OTHER]`.

Writes analysis.json, numbers.json, recompute.py and the report into RESULTS/report.
"""

import argparse
import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tidegauge_analysis import recompute
from tidegauge_analysis.answer import answer, limits, no_valid_run
from tidegauge_analysis.archive import Archive, ArchiveError, Json, Run, Status, read_archive, read_json
from tidegauge_analysis.cells import label_of, measure_all, varying
from tidegauge_analysis.claim_runs import LOAD, NOT_OF_LOADS, all_observations
from tidegauge_analysis.claims import claim_results, metrics_of_claims
from tidegauge_analysis.curves import curves
from tidegauge_analysis.document import (
    Analysis,
    Latencies,
    Level,
    LoadGroup,
    LoadRow,
    Number,
    RunCounts,
    RunRow,
    StudyFacts,
    TimeUse,
    to_json,
    write_json,
)
from tidegauge_analysis.drivers import driver_differences
from tidegauge_analysis.failures import failures
from tidegauge_analysis.families import families
from tidegauge_analysis.metrics import Metric, parse_metric
from tidegauge_analysis.numbers import Ledger, missing
from tidegauge_analysis.problems import reported
from tidegauge_analysis.published import extreme_rows, find_published, metrics_of, published_rows
from tidegauge_analysis.render import render
from tidegauge_analysis.resources import resources
from tidegauge_analysis.scope import Other, Scope
from tidegauge_analysis.second_machine import COPY, SLOWDOWNS, copy_of, second_machine
from tidegauge_analysis.summaries import sample_of
from tidegauge_analysis.trials import trial_series
from tidegauge_analysis.units import Observation
from tidegauge_analysis.validity import reasons, rule_summaries, run_checks, sensitivity
from tidegauge_analysis.wording import methods, summary, unsteady

MOST_FAILED = 0.001
"""Share of failed operations from which a report names them."""

MOST_NAMED = 3


def analyse(results: Path, against: Path | None = None) -> tuple[Analysis, Ledger]:
    """Analyse a results directory, complete or partial.

    :param against: results of the same study on a second machine, whose values are copied into the report
    :raises ArchiveError: it is no results directory, a file is missing or damaged, or the studies differ
    """
    archive = read_archive(results)
    other = None if against is None else copy_of(results, against)
    scope, metrics, published = scope_of(archive, other)
    ledger = scope.ledger
    found = families(scope, metrics)
    with_invalid = any(run.status is Status.INVALID for run in archive.runs)
    is_invalid = with_invalid and not any(run.status is Status.ANALYSED for run in archive.runs)
    every = families(scope, metrics, with_invalid=True) if with_invalid else []
    differences = driver_differences(scope, metrics)
    checks = run_checks(archive, ledger)
    rules = rule_summaries(checks)
    beside = published_rows(scope, published)
    claims = claim_results(scope, beside)
    series = trial_series(scope, metrics)
    analysis = Analysis(
        study=_facts(archive, scope),
        runs=_counts(archive, ledger),
        run_rows=[_run_row(run) for run in archive.runs],
        environment=archive.environment,
        versions=archive.versions,
        answer=no_valid_run(rules, checks, ledger) if is_invalid else answer(found, differences, claims),
        limits=limits(archive, differences),
        summary=summary(found, differences),
        families=found,
        drivers=differences,
        series=series,
        latencies=scope.measured.latencies,
        curves=curves(scope, metrics),
        resources=resources(scope),
        failures=failures(scope),
        rules=rules,
        validity=checks,
        sensitivity=sensitivity(archive, found, every),
        published=beside,
        extremes=extreme_rows(scope, beside),
        claims=claims,
        loads=_loads(archive, ledger),
        load_groups=_load_groups(scope),
        time=_time(archive, ledger),
        methods=methods(archive, differences),
        files=_files(archive, published, other),
        notes=[*_notes(archive, scope.measured.disagreements), *_refused(scope.measured.latencies), *unsteady(series)],
        second=second_machine(scope),
        invalid_families=every if is_invalid else [],
    )
    return analysis, ledger


def scope_of(archive: Archive, other: Other | None = None) -> tuple[Scope, list[Metric], dict[str, list[Json]]]:
    """Measure the runs of an archive: what to analyse, the metrics of the study, and the published numbers in it.

    :raises ArchiveError: a file is missing or damaged, or the plan has a metric that does not exist
    """
    try:
        metrics = [parse_metric(name) for name in archive.study['analyse']['metrics']]
    except ValueError as error:
        raise ArchiveError(f'{archive.path / "plan.json"}: {error}') from error
    published = find_published(archive)
    more = [*metrics_of(published), *metrics_of_claims(archive.study)]
    if other is not None:
        more += [parse_metric(name) for name, _ in SLOWDOWNS.values()]
    ledger = Ledger()
    measured = measure_all(archive, _with_throughput(metrics, more), ledger)
    return Scope(archive, measured, ledger, second=other), metrics, published


def write_report(results: Path, against: Path | None = None) -> Path:
    """Analyse a results directory and write its report.

    :param against: as for `analyse`
    :return: the page
    :raises ArchiveError: as for `analyse`
    """
    plain, out = write_analysis(results, against)
    return render(plain, out)


def write_analysis(results: Path, against: Path | None = None) -> tuple[Json, Path]:
    """Write analysis.json, numbers.json and recompute.py, without the page.

    :param against: as for `analyse`
    :return: the content of analysis.json, and the directory of the report
    :raises ArchiveError: as for `analyse`
    """
    analysis, ledger = analyse(results, against)
    out = results / 'report'
    out.mkdir(exist_ok=True)
    if against is None:
        (results / COPY).unlink(missing_ok=True)
    plain = to_json(analysis)
    write_json(out / 'analysis.json', plain)
    write_json(out / 'numbers.json', ledger.document(analysis.files))
    shutil.copyfile(recompute.__file__, out / 'recompute.py')
    return plain, out


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 done, 1 the archive is damaged, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='report', description='Analyse results and write their report.')
    parser.add_argument('results', metavar='RESULTS', type=Path)
    parser.add_argument('--against', metavar='OTHER', type=Path, help='results of the study on a second machine')
    given = parser.parse_args(arguments)
    page = write_report(given.results, given.against)
    sys.stdout.write(f'{page}\n')
    return 0


def _with_throughput(metrics: Sequence[Metric], more: Sequence[Metric]) -> list[Metric]:
    """Metrics without repetition, with throughput, which curves need."""
    return list({metric.name: metric for metric in (*metrics, *more, parse_metric('throughput'))}.values())


def _facts(archive: Archive, scope: Scope) -> StudyFacts:
    study = archive.study
    plan = study['analyse']
    return StudyFacts(
        name=study['name'],
        title=study['title'],
        question=study['question'],
        seed=study['seed'],
        quick=study['quick'],
        plan_hash=archive.plan['hash'],
        hard=study['hard'],
        easy=study['easy'],
        fixed=study['fixed'],
        deployments=study['repeat']['deployments'],
        trials=study['repeat']['trials'],
        warmup=study['repeat']['warmup'],
        state=study['state'],
        exclude=study['exclude'],
        metrics=plan['metrics'],
        per=scope.per,
        groups=scope.groups,
        alpha=scope.alpha,
        margin=plan['margin'],
        figures=study['figures'],
        boxes=plan.get('boxes'),
    )


def _counts(archive: Archive, ledger: Ledger) -> RunCounts:
    def of(*wanted: Status) -> Number:
        names = [run.name for run in archive.runs if run.status in wanted]
        return ledger.add(len(names), 'runs', 'count', of=ledger.set(names))

    names = [name for name in varying(archive.study) if name != 'driver']
    return RunCounts(
        planned=ledger.add(archive.planned, 'runs', 'planned'),
        done=of(Status.ANALYSED, Status.WARM_UP, Status.INVALID),
        analysed=of(Status.ANALYSED),
        invalid=of(Status.INVALID),
        warmup=of(Status.WARM_UP),
        superseded=of(Status.SUPERSEDED),
        unfinished=of(Status.UNFINISHED),
        partial=archive.partial,
        missing=[
            f'{label_of(series.factors, names) or "all runs"}, block {series.block}: {count} runs are missing'
            for series, count in archive.missing
        ],
        repeated=of(Status.REPEATED),
    )


def _run_row(run: Run) -> RunRow:
    document = run.document
    return RunRow(
        run=run.name,
        deployment=document['deployment'],
        series=run.series,
        block=document['block'],
        trial=run.trial,
        attempt=document['attempt'],
        driver=run.driver,
        factors=run.factors,
        warmup=document['warmup'],
        status=str(run.status),
        reasons=[] if run.valid else reasons(run),
        csv=f'runs/{run.name}.csv.gz',
        csv_sha256=document['csv']['sha256'],
        json=f'runs/{run.name}.json',
        json_sha256=run.json_sha256,
    )


def _loads(archive: Archive, ledger: Ledger) -> list[LoadRow]:
    groups: dict[tuple[str, str], list[tuple[str, Json]]] = {}
    for file, load in archive.loads.items():
        groups.setdefault((load['series'], load['driver']), []).append((file, load))
    series = {one.id: one for one in archive.series}
    names = list(varying(archive.study))
    found = []
    for (name, driver), loads in groups.items():
        factors = {**(series[name].factors if name in series else {}), 'driver': driver}
        fresh = [(file, load) for file, load in loads if load['how'] == 'loaded']
        file, first = loads[0]
        rates = [
            ledger.add(
                load['records'] / load['seconds'],
                'records/s',
                'field_over',
                file=file,
                path=['records'],
                over=['seconds'],
            )
            for file, load in fresh
            if load['seconds'] > 0
        ]
        rate = sample_of(rates, 'records/s', ledger).mean().value
        found.append(
            LoadRow(
                series=name,
                driver=driver,
                label=label_of(factors, [each for each in names if each in factors]) or name,
                loaded=len(fresh),
                restored=len(loads) - len(fresh),
                records=ledger.add(first['records'], 'records', 'field', file=file, path=['records']),
                seconds=_sum([_seconds(file, load, ledger) for file, load in loads], ledger),
                rate=rate if rates else missing('records/s', 'each load was restored from a copy'),
            )
        )
    return found


def _load_groups(scope: Scope) -> list[LoadGroup]:
    """The times of loads by the factors that a load depends on, in the order of the experiment file."""
    levels = varying(scope.archive.study)
    names = [name for name in levels if name not in NOT_OF_LOADS]
    groups: dict[tuple[Level, ...], list[Observation]] = {}
    for one in all_observations(scope, LOAD, {'driver'}):
        groups.setdefault(tuple(one.factors[name] for name in names), []).append(one)
    found = []
    for key in sorted(groups, key=lambda key: [levels[name].index(of) for name, of in zip(names, key, strict=True)]):
        factors = dict(zip(names, key, strict=True))
        seconds = sample_of([one.number for one in groups[key]], 's', scope.ledger).mean()
        file = scope.ledger.inputs(groups[key][0].number)['file']
        records = scope.ledger.add(
            read_json(scope.archive.path / file)['records'], 'records', 'field', file=file, path=['records']
        )
        inputs: Json = {'first': records.id, 'second': seconds.value.id, 'scale': 1}
        rate = records.value / seconds.value.value if records.value and seconds.value.value else None
        rate_of = scope.ledger.add(rate, 'records/s', 'scaled_ratio', 'the load took no time', **inputs)
        label = label_of(factors, names) or 'all tables'
        found.append(LoadGroup(label, factors, len(groups[key]), records, seconds, rate_of))
    return found


def _seconds(file: str, document: Json, ledger: Ledger) -> Number:
    return ledger.add(document['seconds'], 's', 'field', file=file, path=['seconds'])


def _sum(numbers: Sequence[Number], ledger: Ledger) -> Number:
    values = [number.value for number in numbers if number.value is not None]
    return ledger.add(sum(values), 's', 'sum', of=ledger.set([number.id for number in numbers]))


def _time(archive: Archive, ledger: Ledger) -> TimeUse:
    return TimeUse(
        runs=_sum([_seconds(f'runs/{run.name}.json', run.document, ledger) for run in archive.runs], ledger),
        loads=_sum([_seconds(file, load, ledger) for file, load in archive.loads.items()], ledger),
        deployments=ledger.add(archive.deployment_seconds, 's', 'deployment_seconds'),
    )


def _files(archive: Archive, published: dict[str, list[Json]], other: Other | None) -> dict[str, str]:
    found = {}
    for run in archive.runs:
        found[f'runs/{run.name}.json'] = run.json_sha256
        if run.status is not Status.SUPERSEDED:
            found[f'runs/{run.name}.csv.gz'] = run.document['csv']['sha256']
    others = ['plan.json', 'journal.jsonl', *archive.loads, *(file for file, rows in published.items() if rows)]
    if other is not None:
        others.append(COPY)
    for file in others:
        found[file] = hashlib.sha256((archive.path / file).read_bytes()).hexdigest()
    return found


def _notes(archive: Archive, disagreements: Sequence[str]) -> list[str]:
    found = []
    if archive.study['quick']:
        found.append('Quick results: sizes are reduced. They show that the experiment works, and are not to be quoted.')
    if archive.partial:
        found.append('Partial results: planned runs are missing.')
    if not any(run.status is Status.ANALYSED for run in archive.runs):
        found.append('No run can be analysed: each is invalid, warm-up or in a series that has not ended.')
    shown = list(disagreements[:20])
    if len(disagreements) > len(shown):
        shown.append(f'{len(disagreements) - len(shown)} more runs disagree with their documents')
    return [*found, *archive.failures, *shown]


def _refused(latencies: Sequence[Latencies]) -> list[str]:
    """Name the groups in which operations failed: their latencies are those of the operations that succeeded."""
    found = []
    for row in latencies:
        failed, succeeded = row.failed.value or 0.0, row.operations.value or 0.0
        if failed > MOST_FAILED * (failed + succeeded):
            found.append(f'{row.label}: {failed:,.0f} of {failed + succeeded:,.0f} {row.operation}')
    if not found:
        return []
    named, more = '; '.join(found[:MOST_NAMED]), len(found) - MOST_NAMED
    rest = f'; and {more} more groups' if more > 0 else ''
    return [f'Operations failed, and latencies are those of the others: {named}{rest}.']


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
