"""A study that is judged while it runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from results import Truth, Writer
from tidegauge_analysis.archive import read_archive
from tidegauge_analysis.decide import complete_blocks, decide_study, main
from tidegauge_analysis.looks import SCHEDULE, level_of_each
from tidegauge_analysis.report import analyse

Json = dict[str, Any]
CLAIM: Json = {
    'id': 'faster', 'text': 'PostgreSQL is slower.', 'source': None, 'check': 'read.mean: …',
    'notRun': None, 'because': None,
    'parsed': {
        'metric': 'read.mean',
        'test': {'kind': 'order', 'sides': [[{'store': 'postgres'}], [{'store': 'sqlite'}]], 'relations': ['>']},
        'where': {},
    },
}  # fmt: skip


def truth(**changes: Any) -> Truth:  # noqa: ANN401
    small: Json = {'easy': {'driver': ['raw']}, 'per': [], 'metrics': ['read.mean'], 'trials': 3, 'paired': True}
    return Truth(**{**small, 'deployments': 3, **changes})


def results_of(path: Path, made: Truth, *, blocks: int) -> Path:
    """Results in which so many blocks are complete."""
    writer = Writer(path, made)
    for deployment in writer.plan['deployments']:
        if deployment['block'] <= blocks:
            for series in deployment['series']:
                writer.series(deployment, series)
    return path


def test_a_study_is_judged_after_complete_blocks_of_its_schedule(tmp_path: Path) -> None:
    two = results_of(tmp_path / 'two', truth(claims=[CLAIM]), blocks=2)
    assert complete_blocks(read_archive(two)) == 2
    assert decide_study(two) == {'look': None, 'decided': 0, 'undecided': 0, 'open': []}
    three = results_of(tmp_path / 'three', truth(claims=[CLAIM]), blocks=3)
    assert decide_study(three) == {'look': 1, 'decided': 1, 'undecided': 0, 'open': []}


def test_an_undecided_claim_names_the_levels_that_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = truth(claims=[CLAIM], latency={'postgres': 1100.0, 'sqlite': 1000.0}, between_trials=0.2)
    results = results_of(tmp_path / 'noisy', noisy, blocks=3)
    assert main([str(results)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found['look'], found['undecided']) == (1, 1)
    assert [one['claim'] for one in found['open']] == ['faster']
    assert [levels['store'] for levels in found['open'][0]['combinations']] == ['postgres', 'sqlite']


def test_without_claims_pairs_of_groups_are_decided(tmp_path: Path) -> None:
    clear = decide_study(results_of(tmp_path / 'clear', truth(), blocks=3))
    assert (clear['decided'], clear['open']) == (1, [])
    noisy = truth(latency={'postgres': 1100.0, 'sqlite': 1000.0}, between_trials=0.2)
    found = decide_study(results_of(tmp_path / 'noisy', noisy, blocks=3))
    assert [levels['store'] for levels in found['open'][0]['combinations']] == ['postgres', 'sqlite']


def test_looks_share_the_error(tmp_path: Path) -> None:
    results = results_of(tmp_path / 'looked', truth(), blocks=3)
    assert level_of_each(0.05, read_archive(results)) == 0.05
    with (results / 'journal.jsonl').open('a') as journal:
        journal.write('{"event": "look"}\n')
    assert level_of_each(0.05, read_archive(results)) == 0.05 / len(SCHEDULE)
    assert analyse(results)[0].study.alpha == 0.05 / len(SCHEDULE)
    # The next look needs another block.
    assert decide_study(results)['look'] is None


def test_bad_usage_and_no_results_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert 'is no results directory' in capsys.readouterr().err
    with pytest.raises(SystemExit, match='2'):
        main([])


def test_deployments_that_nothing_needs_are_not_missing(tmp_path: Path) -> None:
    results = results_of(tmp_path / 'three', truth(deployments=4), blocks=3)
    assert read_archive(results).partial
    plan = json.loads((results / 'plan.json').read_text())
    with (results / 'journal.jsonl').open('a') as journal:
        for deployment in plan['deployments']:
            if deployment['block'] == 4:
                journal.write(json.dumps({'event': 'deployment-skipped', 'deployment': deployment['id']}) + '\n')
    archive = read_archive(results)
    assert not archive.partial
    assert complete_blocks(archive) == 3
