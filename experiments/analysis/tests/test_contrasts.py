import math

import numpy as np
import pytest
from scipy import stats

from tidegauge_analysis.contrasts import (
    NO_PRIOR,
    Contrast,
    Decision,
    Prior,
    decide,
    further_units,
    holm,
    pool,
    pool_blocks,
    power_slope,
    prior_of,
)

# Treated with a vaccine: with tuberculosis, without; then not treated (R's metafor, dat.bcg; Colditz et al. 1994).
BCG = [
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
    (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
]  # fmt: skip

# Six samples of penicillin on each of 24 plates: diameters (R's lme4, Penicillin; Davies and Goldsmith 1972).
PENICILLIN = [
    '27 23 26 23 23 21', '27 23 26 23 23 21', '25 21 25 24 24 20', '26 23 25 23 23 20',
    '25 22 26 22 23 20', '24 22 25 23 22 19', '24 20 23 21 22 19', '26 22 26 24 24 21',
    '24 21 24 22 22 20', '24 21 24 23 22 19', '26 23 26 24 24 21', '25 22 26 24 24 20',
    '26 24 26 24 25 22', '26 23 26 23 23 20', '26 23 25 24 24 22', '25 22 25 23 23 20',
    '25 21 24 23 23 20', '25 22 24 23 23 19', '24 21 23 21 21 19', '26 23 26 24 24 21',
    '25 21 24 22 22 18', '25 22 25 22 22 20', '24 21 24 22 24 19', '24 21 24 22 21 18',
]  # fmt: skip
# Slope of the reaction time of each subject over the days (R's lme4, sleepstudy, by lmList).
SLEEP = (
    21.764702, 2.261785, 6.114899, 3.008073, 5.266019, 9.566768, 9.142045, 12.253141, -2.881034, 19.025974, 13.493933,
    19.504017, 6.433498, 13.566549, 11.348109, 18.056151, 9.188445, 11.298073,
)  # fmt: skip


def units(mean: float, spread: float, count: int, seed: int = 0) -> tuple[float, ...]:
    """Units with exactly this mean and this standard deviation."""
    draws = np.random.default_rng(seed).normal(size=count)
    centred = draws - draws.mean()
    return tuple(mean + centred * (spread / float(draws.std(ddof=1))))


def test_without_a_prior_the_interval_and_p_are_those_of_student() -> None:
    values = (0.31, 0.12, 0.25, 0.4, 0.05)
    found = Contrast(values)
    test = stats.ttest_1samp(values, 0)
    bounds = test.confidence_interval(0.95)
    interval = found.interval(0.95)
    assert found.p == pytest.approx(test.pvalue, rel=1e-12)
    assert (interval.low, interval.high) == pytest.approx((bounds.low, bounds.high), rel=1e-12)


def test_a_prior_moderates_the_variance_and_adds_degrees_of_freedom() -> None:
    own = Contrast((0.1, 0.2, 0.3))
    found = Contrast((0.1, 0.2, 0.3), Prior(4.0, 0.02))
    assert own.variance == pytest.approx(0.01)
    assert found.variance == pytest.approx((4 * 0.02 + 2 * 0.01) / 6)
    assert (own.df, found.df) == (2, 6)


def test_too_few_units_and_units_that_do_not_vary_are_refused() -> None:
    with pytest.raises(ValueError, match='2 of 3 observations'):
        Contrast((0.1, 0.2))
    with pytest.raises(ValueError, match='do not vary'):
        Contrast((0.5, 0.5, 0.5))


def test_the_prior_is_that_from_which_the_variances_were_drawn() -> None:
    draws = np.random.default_rng(3)
    variances = 0.04 * 8 / draws.chisquare(8, 4000)
    found = prior_of([draws.normal(0, math.sqrt(variance), 6) for variance in variances])
    assert found.df == pytest.approx(8, rel=0.15)
    # The mean of these variances is larger than the one of the prior.
    assert found.variance == pytest.approx(0.04 * 8 / 6, rel=0.05)


def test_equal_variances_are_pooled_and_few_contrasts_are_not() -> None:
    contrasts = [units(0.1 * seed, 0.2, 5, seed) for seed in range(6)]
    found = prior_of(contrasts)
    assert found.df == 6 * 4
    assert found.variance == pytest.approx(0.04)
    assert prior_of(contrasts[:3]) == NO_PRIOR
    assert prior_of([*contrasts[:3], (0.5, 0.5, 0.5)]) == NO_PRIOR


def test_three_verdicts() -> None:
    assert decide(Contrast(units(0.2, 0.03, 5)), 0.05, 0.05) is Decision.DIFFERENT
    assert decide(Contrast(units(0.005, 0.02, 20)), 0.05, 0.05) is Decision.EQUIVALENT
    assert decide(Contrast(units(0.04, 0.1, 5)), 0.05, 0.05) is Decision.UNDECIDED
    # A difference that is real and too small to matter.
    assert decide(Contrast(units(0.01, 0.005, 20)), 0.05, 0.05) is Decision.EQUIVALENT
    # Adjusted for others.
    assert decide(Contrast(units(0.2, 0.03, 5)), 0.05, 0.05, p=0.2) is Decision.UNDECIDED


def test_a_level_against_itself_differs_as_seldom_as_claimed() -> None:
    draws = np.random.default_rng(8)
    different = 0
    for _ in range(100):
        many = [draws.normal(0, 0.1, 4) for _ in range(10)]
        prior = prior_of(many)
        different += sum(Contrast(tuple(each), prior).p < 0.05 for each in many)
    # 1000 comparisons: 50 are expected, and more than 75 have a chance below 1 in 1000.
    assert 25 <= different <= 75


def test_small_levels_are_kept_with_few_contrasts_of_different_variances() -> None:
    draws = np.random.default_rng(5)
    false, comparisons = 0, 0
    for _ in range(1500):
        spreads = 0.1 * np.exp(draws.normal(0, 0.6, (3, 3, 1)))
        stores = draws.normal(0, 1, (3, 3, 5)) * spreads
        many = [tuple(one) for one in (stores[[0, 0, 1]] - stores[[1, 2, 2]]).reshape(9, 5).tolist()]
        prior = prior_of(many)
        false += sum(Contrast(each, prior).p < 0.005 for each in many)
        comparisons += len(many)
    # 68 are expected at most. Without the limits of the prior there are three times as many.
    assert false <= 0.005 * comparisons + 3 * math.sqrt(0.005 * comparisons)


def test_the_named_further_units_decide_with_the_target_power() -> None:
    first = Contrast(units(0.1, 0.2, 5))
    more = further_units(first, 0.02, 0.05)
    assert more is not None
    draws = np.random.default_rng(9)
    decided = [
        decide(Contrast(tuple(draws.normal(0.1, 0.2, 5 + more))), 0.02, 0.05) is Decision.DIFFERENT for _ in range(400)
    ]
    assert np.mean(decided) == pytest.approx(0.8, abs=0.07)
    # The ratio lies on the margin: neither a difference nor equivalence of so little can be shown.
    assert further_units(Contrast(units(0.0001, 0.2, 5)), 0.0001, 0.05) is None


def test_p_values_are_adjusted_by_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_effects_are_pooled_as_by_metafor() -> None:
    treated = [(a / (a + b), 1 / a - 1 / (a + b)) for a, b, _, _ in BCG]
    control = [(c / (c + d), 1 / c - 1 / (c + d)) for _, _, c, d in BCG]
    effects = [math.log(one / two) for (one, _), (two, _) in zip(treated, control, strict=True)]
    variances = [one + two for (_, one), (_, two) in zip(treated, control, strict=True)]
    found = pool(effects, variances)
    assert found.value == pytest.approx(-0.7145323, abs=5e-7)
    assert found.tau_squared == pytest.approx(0.3132433, abs=5e-6)
    # The error of the model; that of Hartung and Knapp is never below it.
    weights = 1 / (np.array(variances) + found.tau_squared)
    assert math.sqrt(1 / weights.sum()) == pytest.approx(0.1797815, abs=5e-7)
    assert found.error >= 0.1797815 - 5e-7
    assert found.df == 12


def test_effects_without_heterogeneity_are_weighted_by_their_exactness() -> None:
    found = pool([0.1, 0.12, 0.11], [0.01, 0.04, 0.02])
    assert found.tau_squared == 0
    assert found.value == pytest.approx((0.1 * 100 + 0.12 * 25 + 0.11 * 50) / 175)
    with pytest.raises(ValueError, match='nothing to be pooled with'):
        pool([0.1], [0.01])


def test_conditions_in_the_same_blocks_are_pooled_as_by_lme4() -> None:
    found = pool_blocks([[float(diameter) for diameter in plate.split()] for plate in PENICILLIN])
    assert found.value == pytest.approx(22.9722, abs=5e-5)
    assert found.error == pytest.approx(0.808573, abs=5e-7)
    # The variance between plates.
    assert found.tau_squared == pytest.approx(0.716908, abs=5e-6)
    # Nearly all of the error is that of the six samples.
    assert 5 < found.df < 6
    with pytest.raises(ValueError, match='nothing to be pooled with'):
        pool_blocks([[0.1, 0.2, 0.3]])


@pytest.mark.parametrize('luck', [0.0, 0.1, 0.3])
def test_the_luck_of_a_block_is_no_effect_of_all_conditions(luck: float) -> None:
    draws = np.random.default_rng(6)
    false = 0
    for _ in range(2000):
        blocks = draws.normal(0, luck, 5)
        false += pool_blocks(draws.normal(0, 0.1, (12, 5)) + blocks).p < 0.01
    # 20 are expected at most, and 34 have a chance below 1 in 1000. A model without blocks has 600 with a luck of 0.3.
    assert false <= 34


def test_slopes_of_units_give_the_mixed_model_of_lme4() -> None:
    found = Contrast(SLEEP)
    assert found.value == pytest.approx(10.46729, abs=5e-6)
    assert found.error == pytest.approx(1.545790, abs=5e-6)


def test_an_exponent_is_the_slope_of_logarithms() -> None:
    levels = [1.0, 2.0, 8.0]
    assert power_slope(levels, [3 * level**0.7 for level in levels]) == pytest.approx(0.7)
    x, y = np.log(levels), np.log([2.0, 5.0, 7.0])
    assert power_slope(levels, [2.0, 5.0, 7.0]) == pytest.approx(stats.linregress(x, y).slope)
