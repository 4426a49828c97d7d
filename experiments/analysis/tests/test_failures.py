"""A killed node in results whose times and losses are known."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from results import Truth, write_results
from tidegauge_analysis.report import write_report

Json = dict[str, Any]

RATE = 100
"""Operations per second. Each one takes less than its interval."""
KILLED = 6.0
RECORD = {'node': 'store-1', 'killedSeconds': KILLED, 'restartedSeconds': KILLED + 12.5, 'checked': 40}


def fault_of(factors: Json) -> Json:
    """Runs of the application lose two records each."""
    return {**RECORD, 'stale': 1, 'lost': 2 if factors['driver'] == 'app' else 0}


@pytest.fixture(scope='module')
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_results(
        tmp_path_factory.mktemp('killed') / 'results',
        Truth(
            hard={'store': ['sqlite']},
            easy={'workload': ['a'], 'driver': ['raw', 'app'], 'fault': ['kill-node']},
            groups=['store'],
            metrics=['throughput'],
            trials=4,
            operations=1200,
            fixed={'threads': 1, 'target': RATE, 'records': 1000, 'fields': 10},
            killed=fault_of,
            figures=['drivers', 'timelines'],
        ),
    )
    write_report(path)
    return path


def rows_of(results: Path) -> list[Json]:
    rows: list[Json] = json.loads((results / 'report' / 'analysis.json').read_text())['failures']
    return rows


def test_times_and_losses_are_those_of_the_operations(results: Path) -> None:
    raw, app = rows_of(results)
    for row in (raw, app):
        assert (row['n'], row['recovered']) == (3, 3)
        assert row['rate_before']['value']['value'] == pytest.approx(RATE, rel=0.01)
        # Operations fail for 3.5 s, so the fourth second has half of the rate.
        assert row['recovery']['value']['value'] == 4
        assert row['slow']['value']['value'] == 4
        assert row['pause']['value']['value'] == pytest.approx(3.5, abs=0.03)
        assert row['down']['value']['value'] == pytest.approx(12.5)
        assert row['failed']['value'] == pytest.approx(3 * 350, abs=3)
        assert row['failed_share']['value']['value'] == pytest.approx(100 * 350 / 600, abs=0.3)
        assert row['checked']['value'] == 120
    assert (raw['lost']['value'], app['lost']['value']) == (0, 6)
    assert (raw['stale']['value'], app['stale']['value']) == (3, 3)


def test_the_report_has_them_as_a_table_and_in_words(results: Path) -> None:
    page = (results / 'report' / 'report.html').read_text(encoding='utf-8')
    assert 'A killed node' in page
    raw, app = (row['sentence']['text'] for row in rows_of(results))
    assert 'none lacked an acknowledged write' in raw
    assert f'{{{rows_of(results)[0]["stale"]["id"]}!}} had it on other copies only' in raw
    assert f'{{{rows_of(results)[1]["lost"]["id"]}!}} lacked an acknowledged write' in app
    table = (results / 'report' / 'tables' / 'failures.csv').read_text(encoding='utf-8')
    assert len(table.strip().splitlines()) == 3


def test_recompute_finds_them_again(results: Path) -> None:
    numbers = json.loads((results / 'report' / 'numbers.json').read_text())['numbers']
    assert {entry['inputs']['what'] for entry in numbers if entry['formula'] == 'failure'} == {
        'rate', 'recovery', 'slow', 'pause', 'failed', 'share',
    }  # fmt: skip
    program = [sys.executable, '-I', '-S', str(results / 'report' / 'recompute.py'), str(results)]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)  # noqa: S603
    assert ran.stdout.endswith(' 0 differences\n'), ran.stdout


def test_a_store_that_stays_slow_has_no_time(tmp_path: Path) -> None:
    killed = {**RECORD, 'killedSeconds': 9.0, 'restartedSeconds': 21.5, 'checked': None, 'lost': None}
    assert 'stale' not in killed, 'as in results of earlier versions'
    results = write_results(
        tmp_path / 'results',
        Truth(
            hard={'store': ['sqlite']},
            easy={'workload': ['a'], 'driver': ['raw'], 'fault': ['kill-node']},
            groups=['store'],
            metrics=['throughput'],
            operations=1200,
            fixed={'threads': 1, 'target': RATE, 'records': 1000, 'fields': 10},
            killed=lambda _: killed,
            figures=['timelines'],
        ),
    )
    write_report(results)
    [row] = rows_of(results)
    assert (row['n'], row['recovered']) == (6, 0)
    assert row['recovery']['value']['value'] is None
    assert row['recovery']['value']['reason'] == 'the rate stayed lower until the end of the run'
    assert row['checked']['value'] is None
    assert 'No record was read after the restart.' in row['sentence']['text']
    program = [sys.executable, '-I', '-S', str(results / 'report' / 'recompute.py'), str(results)]
    assert subprocess.run(program, check=False, capture_output=True).returncode == 0  # noqa: S603
