import math

import numpy as np
import pytest

from tidegauge_analysis.quantiles import quantile


def test_runs_are_merged_and_never_averaged() -> None:
    assert quantile([[1, 2, 3], [100]], 0.5).value == 2
    assert quantile([[1, 2, 3], [100]], 0.75).value == 3
    assert quantile([[1, 2, 3], [100]], 0.99).value == 100


def test_the_interval_of_a_median_is_that_of_the_sign_test() -> None:
    # Conover: for n = 20, the 95 % interval of the median lies between the 6th and the 15th observation.
    found = quantile([range(1, 21)], 0.5)
    assert (found.value, found.low, found.high) == (10, 6, 15)


def test_too_few_observations_beyond_a_quantile_leave_it_open() -> None:
    assert quantile([range(100)], 0.999).high == math.inf
    assert quantile([range(100)], 0.001).low == -math.inf


def test_the_interval_covers_the_quantile_as_often_as_it_claims() -> None:
    draws = np.random.default_rng(11)
    hits = 0
    for _ in range(600):
        found = quantile([draws.exponential(size=400)], 0.9)
        hits += found.low <= -math.log(0.1) <= found.high
    assert 0.93 <= hits / 600 <= 0.985


def test_dependent_operations_widen_the_interval() -> None:
    values = np.random.default_rng(5).normal(size=1000)
    wide, narrow = quantile([values], 0.5, size=100), quantile([values], 0.5)
    assert wide.value == narrow.value
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


@pytest.mark.parametrize(
    ('runs', 'at', 'size', 'problem'),
    [
        ([[]], 0.5, None, 'needs an observation'),
        ([[1]], 1.0, None, 'between 0 and 1, but 1.0 does not'),
        ([[1, 2]], 0.5, 3, 'between 1 and 2, but 3 does not'),
    ],
)
def test_refusals_name_what_is_wrong(runs: list[list[float]], at: float, size: float | None, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        quantile(runs, at, size=size)


def test_few_independent_observations_bound_a_high_quantile_on_one_side() -> None:
    found = quantile([range(1, 129)], 0.999, size=18.64)
    assert (found.value, found.low, found.high) == (128, 128, np.inf)
    dependent = quantile([range(1, 1001)], 0.999, size=20)
    assert dependent.low <= dependent.value == 999
