import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.stats.weightstats import ttost_ind

from tidegauge_analysis.verdict import Decision, decide


def runs(mean: float, spread: float, count: int, seed: int = 0) -> NDArray[np.float64]:
    """Runs with exactly this mean and this standard deviation."""
    draws = np.random.default_rng(seed).normal(size=count)
    centred: NDArray[np.float64] = draws - draws.mean()
    return mean + centred * (spread / float(draws.std(ddof=1)))


def test_three_verdicts() -> None:
    assert decide(runs(120, 2, 10), runs(100, 2, 10, 1), 0.05).decision is Decision.DIFFERENT
    assert decide(runs(100.5, 2, 30), runs(100, 2, 30, 1), 0.05).decision is Decision.EQUIVALENT
    assert decide(runs(104, 8, 5), runs(100, 8, 5, 1), 0.05).decision is Decision.UNDECIDED


def test_a_real_difference_that_is_too_small_to_matter_is_equivalent() -> None:
    found = decide(runs(101, 0.5, 40), runs(100, 0.5, 40, 1), 0.05)
    assert found.difference.low > 0
    assert found.decision is Decision.EQUIVALENT
    assert found.further_runs is None


@pytest.mark.parametrize('seed', range(20))
def test_equivalence_is_what_two_one_sided_tests_give(seed: int) -> None:
    draws = np.random.default_rng(seed)
    first, second = draws.normal(100, 4, 12), draws.normal(101, 6, 15)
    reach = 0.05 * abs(second.mean())
    p, _, _ = ttost_ind(first, second, -reach, reach, usevar='unequal')
    assert (decide(first, second, 0.05).decision is Decision.EQUIVALENT) == (p < 0.05)


def test_the_named_further_runs_decide_with_the_target_power() -> None:
    first, second = runs(106, 8, 6), runs(100, 8, 6, 1)
    found = decide(first, second, 0.02)
    assert found.decision is Decision.UNDECIDED
    assert found.further_runs is not None
    total = 6 + found.further_runs
    draws = np.random.default_rng(9)
    decided = [
        decide(draws.normal(106, 8, total), draws.normal(100, 8, total), 0.02).decision is Decision.DIFFERENT
        for _ in range(400)
    ]
    assert np.mean(decided) == pytest.approx(0.8, abs=0.07)
    fewer = total // 2
    decided = [
        decide(draws.normal(106, 8, fewer), draws.normal(100, 8, fewer), 0.02).decision is Decision.DIFFERENT
        for _ in range(400)
    ]
    assert np.mean(decided) < 0.7


def test_a_difference_on_the_margin_and_none_at_all() -> None:
    assert decide(runs(100, 5, 6), runs(100, 5, 6, 1), 0.03).further_runs is not None
    tiny = decide(runs(100.0001, 5, 6), runs(100, 5, 6, 1), 0.000001)
    assert (tiny.decision, tiny.further_runs) == (Decision.UNDECIDED, None)


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='margin must be positive, but is 0'):
        decide([1, 2], [1, 3], 0)
    with pytest.raises(ValueError, match='group second: needs 2 observations'):
        decide([1, 2], [1], 0.05)
