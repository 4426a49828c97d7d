import json
from pathlib import Path

import numpy as np
import pytest

from results import Truth, write_results
from tidegauge_analysis.simulate import false_claims, main, simulate

SPREADS = [0.05] * 6


@pytest.mark.parametrize(('drift', 'decided'), [(0.0, 0.35), (0.5, 0.2)])
def test_without_a_difference_few_studies_decide_falsely(drift: float, decided: float) -> None:
    found = simulate(SPREADS, 1.0, studies=150, margin=0.05, alpha=0.05, drift=drift, seed=2)
    # At 5 %, more than 16 of 150 have a chance below 1 in 1000.
    assert found.false_studies <= 16 / 150
    assert found.decided > decided


def test_a_large_difference_is_decided_early() -> None:
    found = simulate(SPREADS, 1.3, studies=40, margin=0.05, alpha=0.05, drift=0.0, seed=3)
    assert found.false_studies == 0
    assert found.decided == 1
    assert found.blocks < 8


def test_claims_without_an_effect_are_seldom_decided() -> None:
    draws = np.random.default_rng(4)
    layouts = [
        (draws.normal(0, 0.05, (12, 5)) + draws.normal(0, 0.2, 5) + draws.normal(0, 0.1, (12, 1))).tolist()
        for _ in range(8)
    ]
    # At 5 %, more than 16 of 150 have a chance below 1 in 1000.
    assert false_claims(layouts, studies=150, margin=0.05, alpha=0.05, seed=2) <= 16 / 150


def test_the_program_takes_the_spread_of_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = {'easy': {'driver': ['raw']}, 'per': [], 'metrics': ['read.mean'], 'trials': 3}
    results = write_results(tmp_path / 'results', Truth(**small, deployments=4, between_deployments=0.05))  # type: ignore[arg-type]
    assert main([str(results), '--studies', '5']) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found['claims'], found['false_studies']) == (0, None)
    rows = found['comparisons']
    assert [row['ratio'] for row in rows] == [1.0, 1.02, 1.1, 1.3]
    assert all(row['comparisons'] == 1 for row in rows)
    one = write_results(tmp_path / 'one', Truth(**small))  # type: ignore[arg-type]
    assert main([str(one)]) == 1
    assert 'no comparison has 3 deployments' in capsys.readouterr().err
