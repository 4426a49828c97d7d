import math

import numpy as np
import pytest
from scipy import stats

from datasets import PLANT_GROWTH
from tidegauge_analysis.anova import one_way
from tidegauge_analysis.effects import (
    difference_of_means,
    effect_sizes,
    mean,
    minimum_detectable_difference,
    paired_difference,
    power,
    ratio_of_means,
)


def test_effect_sizes_as_in_the_r_package_effectsize() -> None:
    found = effect_sizes(45.8, 3, 35, 0.9)
    assert found.eta_squared.value == pytest.approx(0.796983758700696, rel=1e-12)
    assert found.epsilon_squared.value == pytest.approx(0.779582366589327, rel=1e-12)
    assert found.omega_squared.value == pytest.approx(0.775086505190311, rel=1e-12)
    assert found.cohen_f.value == pytest.approx(1.98134153686695, rel=1e-12)
    assert (found.eta_squared.low, found.eta_squared.high) == pytest.approx(
        (0.685670133284926, 0.855981325777856), rel=1e-6
    )
    assert (found.cohen_f.low, found.cohen_f.high) == pytest.approx((1.47694659580859, 2.43793847155554), rel=1e-6)


def test_eta_squared_as_in_stata() -> None:
    found = effect_sizes(7.47403193349075, 2, 40, 0.9).eta_squared
    assert found.value == pytest.approx(0.2720398648288652, rel=1e-12)
    # Stata divides the noncentrality by one more than both degrees of freedom, R's effectsize by the second.
    noncentrality = [40 * bound / (1 - bound) for bound in (found.low, found.high)]
    bounds = [value / (value + 2 + 40 + 1) for value in noncentrality]
    assert bounds == pytest.approx([0.0742092468714613, 0.4156116886974804], rel=1e-4)


def test_the_interval_of_the_noncentrality_is_that_of_steiger() -> None:
    """Steiger 2004, Psychological Methods 9: F = 5 with 3 and 76 degrees of freedom."""
    found = effect_sizes(5, 3, 76, 0.95).eta_squared
    bounds = [76 * bound / (1 - bound) for bound in (found.low, found.high)]
    assert bounds == pytest.approx([1.8666, 32.563], rel=3e-5)


def test_effect_sizes_of_plant_growth() -> None:
    table = one_way(PLANT_GROWTH)
    found = effect_sizes(table.terms[0].f, 2, 27)
    assert found.omega_squared.value == pytest.approx(0.2040788, rel=1e-6)
    assert found.eta_squared.value == pytest.approx(0.264148, rel=1e-5)
    assert found.eta_squared.value == pytest.approx(table.r_squared, rel=1e-12)


def test_an_effect_that_may_be_none_begins_at_zero() -> None:
    found = effect_sizes(0.5, 2, 27)
    assert found.omega_squared.low == 0
    assert found.cohen_f.low == 0
    assert found.cohen_f.high > 0


def test_power_as_in_pass() -> None:
    means = np.array([527.86, 660.43, 649.14])
    cohen_f = means.std() / 107.4304
    assert cohen_f == pytest.approx(0.559, abs=6e-4)
    assert power(cohen_f, 3, 36) == pytest.approx(0.8251, abs=1e-4)


def test_the_minimum_detectable_difference_is_found_with_the_target_power() -> None:
    draws = np.random.default_rng(3)
    first, second = draws.normal(10, 1, 12), draws.normal(10, 1, 12)
    smallest = minimum_detectable_difference(first, second)
    spread = math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
    found = [
        stats.ttest_ind(draws.normal(0, spread, 12), draws.normal(smallest, spread, 12)).pvalue < 0.05
        for _ in range(2000)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


def test_a_difference_has_welch_s_interval() -> None:
    first, second = PLANT_GROWTH['trt2'], PLANT_GROWTH['ctrl']
    bounds = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    found = difference_of_means(first, second)
    assert found.value == pytest.approx(0.494)
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high))


def test_the_bounds_of_a_ratio_are_where_the_t_test_turns() -> None:
    first, second = np.array(PLANT_GROWTH['trt2']), np.array(PLANT_GROWTH['ctrl'])
    found = ratio_of_means(first, second)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(first.mean() / second.mean())
    for bound in (found.low, found.high):
        error = math.sqrt(first.var(ddof=1) / 10 + bound**2 * second.var(ddof=1) / 10)
        t = (first.mean() - bound * second.mean()) / error
        parts = np.array([first.var(ddof=1), found.value**2 * second.var(ddof=1)]) / 10
        df = parts.sum() ** 2 / (parts**2 / 9).sum()
        assert abs(t) == pytest.approx(stats.t.ppf(0.975, df))


def test_a_ratio_to_a_mean_near_zero_has_no_bounds() -> None:
    found = ratio_of_means([5, 6, 7], [-1, 0.1, 1.2])
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_pairs_are_compared_within() -> None:
    raw = [100, 200, 300, 400]
    found = paired_difference([value + 10 + noise for value, noise in zip(raw, (1, -1, 1, -1), strict=True)], raw)
    assert found.value == pytest.approx(10)
    assert found.low > 8
    assert found.high < 12


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='same length'):
        paired_difference([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match='second mean is zero'):
        ratio_of_means([1, 2], [-1, 1])
    with pytest.raises(ValueError, match='neither sample varies'):
        difference_of_means([1, 1], [2, 2])
    with pytest.raises(ValueError, match='but got 1'):
        mean([1])
