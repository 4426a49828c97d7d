import json
from pathlib import Path

import pytest

from results import Truth, write_results
from tidegauge_analysis.compare_results import compare_results, main

SMALL = {'easy': {'driver': ['raw']}, 'per': [], 'metrics': ['read.mean'], 'trials': 4, 'deployments': 5}


def truth(**changes: object) -> Truth:
    return Truth(**{**SMALL, **changes})  # type: ignore[arg-type]


def test_the_same_experiment_on_slower_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_results(tmp_path / 'one', truth())
    two = write_results(tmp_path / 'two', truth(latency={'postgres': 3000, 'sqlite': 1000}, seed=2, operations=3000))
    journal = two / 'journal.jsonl'
    journal.write_text(journal.read_text().replace('"store": "1.0"', '"store": "1.1"'))
    assert main([str(one), str(two), '--json', str(tmp_path / 'found.json')]) == 0
    text = capsys.readouterr().out
    assert text.startswith('The results are comparable: runs of both do the same.')
    assert 'versions: store is 1.0 in A and 1.1 in B' in text
    assert 'seed: 1 in A, 2 in B' in text
    found = json.loads((tmp_path / 'found.json').read_text())
    postgres, sqlite = found['groups']
    assert postgres['verdict'] == 'different'
    assert postgres['ratio'] == pytest.approx(1.5, rel=0.05)
    assert postgres['low'] < 1.5 < postgres['high']
    assert sqlite['verdict'] == 'equivalent'
    assert 'postgres: A and B have' in text


def test_the_same_results_are_equivalent_and_too_few_are_undecided(tmp_path: Path) -> None:
    one = write_results(tmp_path / 'one', truth())
    found = compare_results(one, one)
    assert (found.same_plan, found.differences) == (True, [])
    assert {group.verdict for group in found.groups} == {'equivalent'}
    noisy = {'trials': 3, 'between_trials': 0.2}
    few = write_results(tmp_path / 'few', truth(**noisy))
    undecided = compare_results(few, write_results(tmp_path / 'other', truth(**noisy, seed=5)))
    assert {group.verdict for group in undecided.groups} == {'undecided'}


def test_other_sizes_are_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_results(tmp_path / 'one', truth())
    two = write_results(tmp_path / 'two', truth(fixed={'threads': 1, 'target': 0, 'records': 5, 'fields': 10}))
    assert main([str(one), str(two)]) == 1
    text = capsys.readouterr().out
    assert 'The results are not comparable:\n  fixed: records is 1000 in A and 5 in B' in text
    assert 'verdict' not in text


def test_results_without_a_common_group_are_not_comparable(tmp_path: Path) -> None:
    one = write_results(tmp_path / 'one', truth(hard={'store': ['postgres']}))
    two = write_results(tmp_path / 'two', truth(hard={'store': ['sqlite']}))
    found = compare_results(one, two)
    assert not found.comparable
    assert found.obstacles == ['they have no group in common']


def test_a_single_deployment_has_no_verdict_and_a_damaged_archive_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_results(tmp_path / 'one', truth(deployments=1))
    assert {group.verdict for group in compare_results(one, one).groups} == {'none'}
    assert main([str(one), str(one)]) == 0
    assert (
        'no verdict, because each needs 3 deployments, which show how much deployments differ'
        in capsys.readouterr().out
    )
    assert main([str(one), str(tmp_path)]) == 1
    assert 'is no results directory' in capsys.readouterr().err
    with pytest.raises(SystemExit, match='2'):
        main([str(one)])
