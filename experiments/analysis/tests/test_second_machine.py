import json
import subprocess
import sys
from pathlib import Path

import pytest

from results import Truth, write_results
from tidegauge_analysis.report import main

CSV = """store,driver,metric,statistic,value,unit,flag,note
postgres,raw,slowdown,,193,%,ok,mean slowdown
,raw,slowdown,lowest,111,%,ok,least
,raw,slowdown,highest,216,%,ok,greatest
postgres,raw,slowdown.min,,214,%,ok,by minima
sqlite,raw,speedup,,539,%,ok,faster there
mongodb,raw,slowdown,,18.3,%,derived,a store that is not here
"""
SLOWER = {'postgres': 2.0, 'sqlite': 1.5}


def truth(**changes: object) -> Truth:
    small: dict[str, object] = {
        'metrics': ['read.mean', 'throughput'], 'trials': 9, 'per': [], 'figures': ['bars'],
        'published': [{'file': 'published.csv', 'source': 'a publication'}],
    }  # fmt: skip
    return Truth(**{**small, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope='module')
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a slow machine against a fast one."""
    folder = tmp_path_factory.mktemp('second')
    fast = write_results(folder / 'fast', truth(overhead=0.0))
    slow = write_results(folder / 'slow', truth(overhead=0.0, seed=2, effect=lambda of: SLOWER[of['store']]))
    (slow / 'published').mkdir()
    (slow / 'published' / 'published.csv').write_text(CSV)
    assert main([str(slow), '--against', str(fast)]) == 0
    return slow


def analysis_of(results: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((results / 'report' / 'analysis.json').read_text())
    return found


def test_slowdowns_are_the_ratios_that_the_runs_were_made_with(reported: Path) -> None:
    second = analysis_of(reported)['second']
    assert isinstance(second, dict)
    assert second['name'] == 'fast'
    assert 'seed: 2 in A, 1 in B' in second['differences']
    assert len(second['slowdowns']) == 8
    for row in second['slowdowns']:
        # Throughput has the slowdown of the time of an operation too.
        true = 100 * SLOWER[row['factors']['store']]
        assert row['ratio']['value']['value'] == pytest.approx(true, rel=0.04)
        assert row['ratio']['low']['value'] < true * 1.02
        assert row['ratio']['high']['value'] > true * 0.98
        assert (row['n'], row['second_n']) == (8, 8)
    means = {(one['metric'], one['driver']): one for one in second['means']}
    assert means['slowdown', 'raw']['mean']['value']['value'] == pytest.approx(175, rel=0.03)
    assert means['slowdown', 'raw']['groups'] == 2


def test_published_slowdowns_are_beside_ours(reported: Path) -> None:
    rows = analysis_of(reported)['published']
    assert isinstance(rows, list)
    mean, least, most, minima, speedup, absent = rows
    assert mean['ours']['value']['value'] == pytest.approx(200, rel=0.03)
    assert mean['ratio']['value'] == pytest.approx(mean['ours']['value']['value'] / 193)
    assert least['ours']['value']['value'] == pytest.approx(150, rel=0.04)
    assert most['ours']['value']['value'] == pytest.approx(200, rel=0.04)
    assert minima['ours']['value']['value'] == pytest.approx(200, rel=0.2)
    assert speedup['ours']['value']['value'] == pytest.approx(100 / 1.5, rel=0.04)
    assert absent['ours']['value']['reason'] == 'there is no run with these levels'


def test_the_page_has_the_section_and_every_number_is_recomputed(reported: Path) -> None:
    page = (reported / 'report' / 'report.html').read_text()
    assert 'Slowdown against a second machine' in page
    assert '214% (by minima)' not in page  # of one store, and the mean is over all
    table = (reported / 'report' / 'tables' / 'slowdown-read-mean.csv').read_text()
    assert '193% (mean slowdown)' in table
    assert recompute(reported).endswith(' 0 differences\n')
    copy = reported / 'report' / 'second-machine.csv'
    before = copy.read_text()
    copy.write_text(before.replace('read.mean,', 'read.mean,9', 1))
    assert 'second-machine.csv: missing, or changed' in recompute(reported)
    copy.write_text(before)


def recompute(results: Path) -> str:
    """What the program that goes with the report prints."""
    command = [sys.executable, str(results / 'report' / 'recompute.py'), str(results)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - our own program


def test_without_a_second_machine_the_report_names_the_command(tmp_path: Path) -> None:
    results = write_results(tmp_path / 'one', truth())
    (results / 'published').mkdir()
    (results / 'published' / 'published.csv').write_text(CSV)
    assert main([str(results)]) == 0
    rows = analysis_of(results)['published']
    assert isinstance(rows, list)
    assert all('--against OTHER' in row['note'] for row in rows)
    assert 'Slowdown against' not in (results / 'report' / 'report.html').read_text()


def test_other_studies_and_the_same_results_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_results(tmp_path / 'one', truth())
    sizes = write_results(tmp_path / 'sizes', truth(fixed={'threads': 1, 'target': 0, 'records': 5, 'fields': 10}))
    other = write_results(tmp_path / 'other', truth())
    plan = json.loads((other / 'plan.json').read_text())
    plan['study']['name'] = 'another'
    (other / 'plan.json').write_text(json.dumps(plan))
    for second, reason in (
        (one, 'these are the same results'),
        (sizes, 'fixed: records is 1000 in A and 5 in B'),
        (other, 'the studies differ: another there, synthetic in'),
        (tmp_path, 'is no results directory'),
    ):
        assert main([str(one), '--against', str(second)]) == 1
        assert reason in capsys.readouterr().err
    alone = write_results(tmp_path / 'alone', truth(hard={'store': ['sqlite']}))
    only = write_results(tmp_path / 'only', truth(hard={'store': ['postgres']}))
    assert main([str(only), '--against', str(alone)]) == 1
    assert 'no group in common' in capsys.readouterr().err
