import gzip
import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from results import Truth, Writer, write_results
from tidegauge_analysis.archive import ArchiveError, read_archive
from tidegauge_analysis.document import to_json
from tidegauge_analysis.report import analyse, main, write_analysis

Json = dict[str, Any]


def analysis_of(results: Path) -> Json:
    return to_json(analyse(results)[0])


def recompute(results: Path) -> subprocess.CompletedProcess[str]:
    """Run the copy in the report, without the packages of this environment."""
    program = results / 'report' / 'recompute.py'
    return subprocess.run(  # noqa: S603
        [sys.executable, '-I', '-S', str(program), str(results)], capture_output=True, text=True, check=False
    )


def family(document: Json, metric: str) -> Json:
    found: Json = next(family for family in document['families'] if family['metric'] == metric)
    return found


@pytest.fixture(scope='module')
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = write_results(
        tmp_path_factory.mktemp('complete') / 'results',
        Truth(
            deployments=2,
            paired=True,
            invalid={
                ('d1s1', 3, 'app', 1): 'clockStepMs',
                ('d2s1', 4, 'raw', 1): 'clockStepMs',
                ('d2s1', 4, 'raw', 2): 'clockStepMs',
            },
        ),
    )
    write_analysis(results)
    return results


def test_every_number_of_a_report_is_recomputed(complete: Path) -> None:
    ran = recompute(complete)
    assert ran.stdout.endswith(' 0 differences\n'), ran.stdout
    assert ran.returncode == 0
    assert int(ran.stdout.split()[0]) > 1000


def test_a_number_of_the_report_that_is_not_that_of_the_archive_is_found(complete: Path, tmp_path: Path) -> None:
    copy = copied(complete, tmp_path)
    numbers = json.loads((copy / 'report' / 'numbers.json').read_text())
    entry = next(entry for entry in numbers['numbers'] if entry['formula'] == 'latency_mean')
    entry['value'] *= 1 + 1e-8
    (copy / 'report' / 'numbers.json').write_text(json.dumps(numbers))
    ran = recompute(copy)
    assert ran.returncode == 1
    assert f'{entry["id"]}: latency_mean gives' in ran.stdout
    assert f'analysis.json: {entry["id"]} is' in ran.stdout
    assert ran.stdout.endswith(' 2 differences\n')


@pytest.mark.parametrize(
    ('change', 'found'),
    [
        (lambda one: one['groups'][0].update(letters='ab'), 'letters'),
        (lambda one: one['pairs'][0].update(verdict='equivalent'), 'postgres and sqlite: verdict'),
        (lambda one: one['groups'][1].update(n=7), 'n'),
        (lambda one: one['groups'][1]['mean']['low'].update(value=0.5), None),
        (
            lambda one: one['pairs'][0].update(
                sentence={'text': one['pairs'][0]['sentence']['text'].replace('different', 'undecided')}
            ),
            'postgres and sqlite: sentence',
        ),
    ],
    ids=['letter', 'verdict', 'n', 'number', 'sentence'],
)
def test_a_changed_conclusion_makes_recompute_fail(
    complete: Path, tmp_path: Path, change: Callable[[Json], None], found: str | None
) -> None:
    copy = copied(complete, tmp_path)
    file = copy / 'report' / 'analysis.json'
    document = json.loads(file.read_text())
    one = next(each for each in document['families'] if each['metric'] == 'read.mean')
    before = json.dumps(document)
    change(one)
    assert json.dumps(document) != before
    file.write_text(json.dumps(document))
    ran = recompute(copy)
    assert ran.returncode == 1
    where = f'{one["id"]}: {found}:' if found else f'{one["groups"][1]["mean"]["low"]["id"]} is 0.5,'
    assert f'analysis.json: {where}' in ran.stdout


def test_one_changed_latency_makes_recompute_fail(complete: Path, tmp_path: Path) -> None:
    copy = copied(complete, tmp_path)
    file = copy / 'runs' / 'd1s1-1-2-raw-1.csv.gz'
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    start, operation, latency, *rest = lines[7].split(',')
    lines[7] = ','.join([start, operation, str(int(latency) + 1), *rest])
    file.write_bytes(gzip.compress('\n'.join([*lines, '']).encode()))
    ran = recompute(copy)
    assert ran.returncode == 1
    assert f'runs/{file.name}: missing, or changed since the report was made' in ran.stdout
    assert 'latency_mean gives' in ran.stdout
    with pytest.raises(ArchiveError, match=f'{file.name}: its SHA-256 is'):
        analyse(copy)


def copied(results: Path, to: Path) -> Path:
    copy = to / 'copy'
    for file in results.rglob('*'):
        if file.is_file():
            target = copy / file.relative_to(results)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    return copy


def test_every_number_has_an_id_or_a_reason(complete: Path) -> None:
    document = json.loads((complete / 'report' / 'analysis.json').read_text())
    numbers = json.loads((complete / 'report' / 'numbers.json').read_text())
    known = {entry['id']: entry['value'] for entry in numbers['numbers']}
    seen = 0

    def visit(value: object) -> None:
        nonlocal seen
        if isinstance(value, dict):
            if set(value) == {'id', 'value', 'unit', 'reason'}:
                seen += 1
                if value['id'] is None:
                    assert value['value'] is None
                    assert value['reason']
                else:
                    assert known[value['id']] == value['value']
            for inner in value.values():
                visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)

    visit(document)
    assert seen > 1000


def test_sentences_refer_to_numbers_that_exist(complete: Path) -> None:
    text = (complete / 'report' / 'analysis.json').read_text()
    numbers = json.loads((complete / 'report' / 'numbers.json').read_text())
    known = {entry['id'] for entry in numbers['numbers']}
    used = {part.split('}')[0].removesuffix('!') for part in text.split('{n')[1:]}
    assert used
    assert {f'n{name}' for name in used} <= known
    assert '{None}' not in text


def test_means_and_differences_are_those_of_the_truth(tmp_path: Path) -> None:
    truth = Truth(trials=21, operations=400, between_trials=0.01, paired=True)
    document = analysis_of(write_results(tmp_path / 'results', truth))
    reads = [each for each in document['families'] if each['metric'] == 'read.mean']
    means = {
        (each['per']['driver'], group['label']): group['mean']['value']['value']
        for each in reads
        for group in each['groups']
    }
    assert means == {
        ('raw', 'postgres'): pytest.approx(2.0, rel=0.02),
        ('raw', 'sqlite'): pytest.approx(1.0, rel=0.02),
        ('app', 'postgres'): pytest.approx(2.5, rel=0.02),
        ('app', 'sqlite'): pytest.approx(1.5, rel=0.02),
    }
    assert all(pair['verdict'] == 'different' for each in reads for pair in each['pairs'])
    assert {group['letters'] for each in reads for group in each['groups']} == {'a', 'b'}
    [postgres, sqlite] = [each for each in document['drivers'] if each['metric'] == 'read.mean']
    for found, ratio in ((postgres, 1.25), (sqlite, 1.5)):
        assert (found['first'], found['second'], found['n'], found['kind']) == ('app', 'raw', 20, 'trial')
        assert found['difference']['value']['value'] == pytest.approx(0.5, abs=0.02)
        assert found['difference']['low']['value'] < 0.5 < found['difference']['high']['value']
        assert found['ratio']['value']['value'] == pytest.approx(ratio, rel=0.02)


def test_what_the_method_contributes_is_apart_from_the_application(tmp_path: Path) -> None:
    truth = Truth(
        hard={'store': ['postgres']},
        easy={'driver': ['raw', 'app', 'raw-connect', 'published']},
        trials=6,
        metrics=['all.mean', 'scan.mean'],
        per=['driver'],
        figures=['drivers'],
    )
    results = write_results(tmp_path / 'results', truth)
    document = analysis_of(results)
    compared = [(each['metric'], each['first'], each['second']) for each in document['drivers']]
    # No run scans.
    assert compared == [
        ('all.mean', 'app', 'raw'),
        ('all.mean', 'raw-connect', 'raw'),
        ('all.mean', 'published', 'raw'),
        ('all.mean', 'published', 'raw-connect'),
    ]
    differences = [each['difference']['value']['value'] for each in document['drivers']]
    assert differences == [pytest.approx(value, abs=0.05) for value in (0.5, 0.5, 0.5, 0.0)]
    assert main([str(results)]) == 0
    tables = results / 'report' / 'tables'
    assert 'published' not in (tables / 'drivers-all-mean.csv').read_text()
    assert len((tables / 'contributions.csv').read_text().splitlines()) == 4


def test_intervals_cover_the_truth_as_often_as_they_claim(tmp_path: Path) -> None:
    covered = 0
    for seed in range(60):
        truth = Truth(
            hard={'store': ['postgres']},
            easy={'driver': ['raw']},
            operations=40,
            trials=8,
            between_trials=0.05,
            metrics=['all.mean'],
            per=[],
            energy=False,
            seed=seed,
        )
        [found] = analysis_of(write_results(tmp_path / str(seed), truth))['families'][0]['groups']
        # Latencies are rounded down to whole microseconds.
        covered += found['mean']['low']['value'] <= 1.9995 <= found['mean']['high']['value']
    # 95 % of 60 is 57; fewer than 51 or more than 60 has a chance below 1 in 1000.
    assert covered >= 51


def test_invalid_runs_are_repeated_or_left_out(complete: Path) -> None:
    document = json.loads((complete / 'report' / 'analysis.json').read_text())
    status = {row['run']: (row['status'], row['reasons']) for row in document['run_rows']}
    assert status['d1s1-1-3-app-1'] == ('repeated', ['clockStepMs: 120.5 ms, limit 50'])
    assert status['d1s1-1-3-app-2'] == ('analysed', [])
    assert status['d2s1-1-4-raw-1'][0] == 'repeated'
    assert status['d2s1-1-4-raw-2'][0] == 'invalid'
    counts = {name: each['value'] for name, each in document['runs'].items() if isinstance(each, dict)}
    assert counts == {
        'planned': 56,
        'done': 56,
        'analysed': 47,
        'invalid': 1,
        'warmup': 8,
        'superseded': 0,
        'unfinished': 0,
        'repeated': 2,
    }
    assert not document['runs']['partial']
    rows = [row for each in document['sensitivity'] for row in each['groups'] if row['n_valid'] != row['n_all']]
    assert {(row['label'], row['n_valid'], row['n_all']) for row in rows} == {('sqlite', 11, 12)}
    [rule] = [rule for rule in document['rules'] if rule['rule'] == 'clockStepMs']
    assert (rule['failed'], rule['worst']['value']) == (3, 120.5)


def test_only_the_complete_attempt_of_a_series_counts(tmp_path: Path) -> None:
    writer = Writer(tmp_path / 'results', Truth())
    [first, second] = writer.plan['deployments']
    writer.series(first, first['series'][0], stop_after=3)
    writer.enter('series-void', series='d1s1', attempt=1, reason='the runner was stopped')
    writer.series(first, first['series'][0], attempt=2)
    writer.series(second, second['series'][0], stop_after=2)
    # A file of the void attempt is damaged: the attempt may be void for that.
    (writer.path / 'runs' / 'd1s1-1-3-raw-1.json').write_text('{')
    document = analysis_of(writer.path)
    status = {row['run']: row['status'] for row in document['run_rows']}
    assert status['d1s1-1-2-raw-1'] == 'superseded'
    assert 'd1s1-1-3-raw-1' not in status
    assert status['d1s1-2-1-raw-1'] == 'warm-up'
    assert status['d1s1-2-2-raw-1'] == 'analysed'
    assert status['d2s1-1-2-app-1'] == 'unfinished'
    assert document['runs']['partial']
    assert document['runs']['missing'] == ['sqlite, block 1: 12 runs are missing']
    assert 'Series d1s1 was repeated whole: the runner was stopped' in document['notes']
    assert 'Partial results: planned runs are missing.' in document['notes']
    write_analysis(writer.path)
    assert recompute(writer.path).returncode == 0


def test_a_last_line_that_a_crash_left_does_not_count(tmp_path: Path) -> None:
    results = write_results(tmp_path / 'results')
    before = analysis_of(results)
    with (results / 'journal.jsonl').open('a') as journal:
        journal.write('{"event": "series-star')
    assert analysis_of(results)['run_rows'] == before['run_rows']


def test_a_read_modify_write_is_one_operation_and_its_parts_have_latencies(tmp_path: Path) -> None:
    metrics = ['throughput', 'update.mean', 'read-modify-write.mean', 'all.mean']
    truth = Truth(parts=True, metrics=metrics, hard={'store': ['sqlite']}, easy={'driver': ['raw']}, per=[])
    results = write_results(tmp_path / 'results', truth)
    document = analysis_of(results)
    value = {each['metric']: each['groups'][0]['mean']['value']['value'] for each in document['families']}
    assert value['throughput'] == pytest.approx(1000, rel=0.05)
    assert value['update.mean'] == pytest.approx(value['read-modify-write.mean'] / 2, rel=0.01)
    assert value['all.mean'] == pytest.approx(1.0, rel=0.05)
    count = {each['operation']: each['operations']['value'] for each in document['latencies']}
    assert count['READ'] == 6 * 300
    assert count['UPDATE'] == count['READ-MODIFY-WRITE']
    [used] = document['resources']
    # An update writes 100 bytes; the parts of an operation are not counted again.
    assert used['write_amplification']['value']['value'] == pytest.approx(400_000 / (150 * 100), rel=0.1)
    write_analysis(results)
    assert recompute(results).returncode == 0


@pytest.mark.parametrize(
    'truth',
    [
        Truth(trials=1, warmup=0, operations=1),
        Truth(trials=2, warmup=1),
        Truth(trials=3, warmup=1, hard={'store': ['postgres']}, easy={'driver': ['raw']}, per=[], groups=['store']),
        Truth(trials=4, metrics=['scan.mean', 'read-modify-write.p99', 'energy'], energy=False),
        Truth(
            trials=3,
            warmup=1,
            invalid={
                (f'd{d}s1', trial, driver, n): 'errors'
                for d in (1, 2)
                for trial in (1, 2, 3)
                for driver in ('raw', 'app')
                for n in (1, 2)
            },
        ),
        Truth(trials=2, warmup=2),
        Truth(deployments=3, trials=3, between_deployments=0.1, groups=['store', 'driver'], metrics=['all.median']),
        Truth(deployments=3, trials=3, hard={'store': ['postgres']}, groups=['driver'], metrics=['runtime']),
        Truth(trials=12, metrics=['throughput', 'read.sd', 'read.min', 'read.max', 'all.p999'], quick=True),
    ],
    ids=['one operation', 'n = 1', 'one group', 'missing', 'all invalid', 'warm-up', 'split', 'easy', 'every'],
)
def test_whatever_the_runs_are_there_is_a_report(truth: Truth, tmp_path: Path) -> None:
    results = write_results(tmp_path / 'results', truth)
    write_analysis(results)
    ran = recompute(results)
    assert ran.returncode == 0, ran.stdout


def test_what_is_missing_has_its_reason(tmp_path: Path) -> None:
    single = analysis_of(write_results(tmp_path / 'single', Truth(trials=2, warmup=1)))
    [group, _] = family(single, 'throughput')['groups']
    assert group['mean']['low'] == {
        'id': None,
        'value': None,
        'unit': 'ops/s',
        'reason': '1 of 3 observations that an interval needs',
    }
    assert {pair['verdict'] for pair in family(single, 'throughput')['pairs']} == {'none'}
    scans = family(analysis_of(write_results(tmp_path / 'scan', Truth(metrics=['scan.mean']))), 'scan.mean')
    assert scans['pairs'] == []
    assert scans['notes'][0] == (
        'postgres: 6 of 6 runs have no value, because the run has no successful operation SCAN'
    )


def test_runs_that_do_not_vary_have_no_verdict_and_no_crash(tmp_path: Path) -> None:
    results = write_results(tmp_path / 'results', Truth(metrics=['energy'], trials=4, paired=True))
    archive = read_archive(results)
    for run in archive.runs:
        # The same energy in each run.
        file = results / 'runs' / f'{run.name}.json'
        document = json.loads(file.read_text())
        document['energy']['perOperation'] = 0.5
        replace(results, file, document)
    found = family(analysis_of(results), 'energy')
    assert 'because the observations do not vary' in found['pairs'][0]['sentence']['text']
    assert {pair['verdict'] for pair in found['pairs']} == {'none'}


def replace(results: Path, file: Path, document: Json) -> None:
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_text(json.dumps(document))
    journal = results / 'journal.jsonl'
    after = hashlib.sha256(file.read_bytes()).hexdigest()
    journal.write_text(journal.read_text().replace(before, after))


def test_stores_that_were_deployed_once_have_no_verdict(tmp_path: Path) -> None:
    results = write_results(tmp_path / 'results', Truth(trials=20, metrics=['all.mean']))
    found = family(analysis_of(results), 'all.mean')
    assert [(pair['verdict'], pair['n']) for pair in found['pairs']] == [('none', 1)]
    assert 'nothing shows how much deployments differ' in found['pairs'][0]['sentence']['text']
    assert found['letters_note'] == 'No letters: not all pairs can be compared.'


def test_trials_of_three_deployments_are_no_replicates(tmp_path: Path) -> None:
    """Two stores with the same latency: only luck of the deployments separates them."""
    truth = Truth(
        deployments=3,
        trials=16,
        latency={'postgres': 2000, 'sqlite': 2000},
        easy={'driver': ['raw']},
        per=[],
        between_deployments=0.1,
        metrics=['all.mean'],
        seed=4,
    )
    [pair] = family(analysis_of(write_results(tmp_path / 'results', truth)), 'all.mean')['pairs']
    assert (pair['n'], pair['unit'], pair['in_turns']) == (3, 'deployment', False)
    assert pair['p']['value'] > 0.05
    assert pair['verdict'] == 'undecided'


KILLED = {
    'node': 'store-1', 'killedSeconds': 0.5, 'restartedSeconds': 9.0, 'checked': 40, 'stale': 0, 'lost': 0,
}  # fmt: skip


def test_failed_operations_and_series_without_a_steady_state_are_named(tmp_path: Path) -> None:
    slower = iter(range(1, 1000))
    truth = Truth(
        hard={'store': ['postgres']},
        easy={'driver': ['raw']},
        trials=14,
        metrics=['all.mean'],
        per=[],
        between_trials=0.001,
        effect=lambda _: 1 + 0.2 * next(slower),
        killed=lambda _: KILLED,
    )
    notes = analysis_of(write_results(tmp_path / 'results', truth))['notes']
    assert any(note.startswith('Operations failed, and latencies are those of the others: ') for note in notes)
    assert any('have no steady state: ' in note for note in notes)


def test_the_overload_point_is_named(tmp_path: Path) -> None:
    truth = Truth(
        easy={'driver': ['raw'], 'target': [100, 200, 400, 800]},
        per=['target'],
        capacity=390.0,
        trials=4,
        fixed={'threads': 1, 'records': 1000},
    )
    [curve, *_] = analysis_of(write_results(tmp_path / 'results', truth))['curves']
    assert (curve['by'], curve['overload']) == ('target', 2)
    assert 'overloaded from a target of 400 operations per second' in curve['sentence']['text']
    assert [point['load'] for point in curve['points']] == [100, 200, 400, 800]


def test_published_numbers_stand_beside_ours(tmp_path: Path) -> None:
    truth = Truth(
        published=[{'file': 'somewhere/numbers.csv', 'source': 'A study, 2023'}],
        easy={'workload': ['a'], 'driver': ['raw'], 'threads': [1, 2]},
        effect=lambda factors: 1.0 if factors['threads'] == 1 else 3.0,
        metrics=['read.mean'],
    )
    results = write_results(tmp_path / 'results', truth)
    (results / 'published').mkdir()
    (results / 'published' / 'numbers.csv').write_text(
        'store,threads,workload,metric,statistic,value,unit,flag,note\n'
        'postgres,1,A,read.mean,lowest,0.004,s,ok,table 2\n'
        'sqlite,1,a,read.mean,,77,ms,garbled,\n'
        'sqlite,1,a,read.mean,,,ms,lost,\n'
        'hbase,1,a,read.mean,,3,ms,ok,\n'
        'sqlite,1,a,beauty,,3,ms,ok,\n'
        'postgres / sqlite,1,a,read.mean,,2.5,,derived,\n'
        'postgres - sqlite,,a,read.mean,greatest,3,ms,ok,\n'
        'postgres,,,read.mean,greatest from published,1,ms,ok,\n'
        ',,,power,,10.8,kJ/h,ok,\n'
        'sqlite,1,,load,,1,min,ok,\n'
    )
    write_analysis(results)
    ran = recompute(results)
    assert ran.returncode == 0, ran.stdout
    rows = json.loads((results / 'report' / 'analysis.json').read_text())['published']
    assert [row['ratio']['value'] for row in rows] == [
        pytest.approx(0.5, rel=0.05), None, None, pytest.approx(2 / 2.5, rel=0.05), pytest.approx(1, rel=0.05),
        pytest.approx(2, rel=0.05), pytest.approx(1, rel=0.01), pytest.approx(0.5 / 60),
    ]  # fmt: skip
    assert rows[0]['note'] == (
        'table 2; the lowest here is sqlite, threads 1; the published number is above our interval'
    )
    assert rows[1]['note'] == 'there is no run with these levels'
    assert rows[2]['note'] == 'this experiment does not measure beauty'
    assert 77 not in [row['published']['value'] for row in rows]


def test_latencies_are_those_of_merged_operations(complete: Path) -> None:
    document = json.loads((complete / 'report' / 'analysis.json').read_text())
    found = next(each for each in document['latencies'] if each['operation'] == 'READ')
    assert sum(found['histogram']['counts']['values']) == found['operations']['value']
    values = [each['estimate']['value']['value'] for each in found['quantiles']]
    assert values == sorted(values)
    merged = []
    for run in found['runs']:
        for line in gzip.decompress((complete / 'runs' / f'{run}.csv.gz').read_bytes()).decode().splitlines()[1:]:
            _, operation, latency, *_ = line.split(',')
            if operation == 'READ':
                merged.append(int(latency) / 1000)
    assert values[0] == sorted(merged)[math.ceil(len(merged) / 2) - 1]


def test_the_program_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = Truth(hard={'store': ['sqlite']}, trials=3, metrics=['read.mean'], groups=['driver'])
    results = write_results(tmp_path / 'results', truth)
    assert main([str(results)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == results / 'report' / 'report.html'
    assert 'A synthetic study' in page.read_text()
    assert recompute(results).returncode == 0


def test_the_program_reports_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str], complete: Path) -> None:
    with pytest.raises(SystemExit, match='2'):
        main([])
    capsys.readouterr()
    assert main([str(tmp_path)]) == 1
    assert 'is no results directory: it has no plan.json' in capsys.readouterr().err
    copy = copied(complete, tmp_path)
    (copy / 'runs' / 'd1s1-1-2-raw-1.json').write_text('{}')
    assert main([str(copy)]) == 1
    assert 'd1s1-1-2-raw-1.json: its SHA-256 is' in capsys.readouterr().err
    (copy / 'journal.jsonl').write_text('{"event"\n')
    assert main([str(copy)]) == 1
    assert 'journal.jsonl: line 1 is not JSON' in capsys.readouterr().err
