import numpy as np
import pytest

from datasets import CHICKWTS, INSECT_SPRAYS, PLANT_GROWTH, POOH
from tidegauge_analysis.compare import Method, compare


def test_equal_variances_go_to_anova() -> None:
    found = compare(PLANT_GROWTH, higher_is_better=True)
    assert found.method is Method.ANOVA
    assert found.p == pytest.approx(0.0159099583256, rel=1e-7)
    assert found.letters == {'trt2': 'a', 'ctrl': 'ab', 'trt1': 'b'}
    assert 'no evidence of unequal variances' in found.reason


def test_unequal_variances_go_to_welch() -> None:
    found = compare(INSECT_SPRAYS, higher_is_better=False)
    assert found.method is Method.WELCH
    assert found.checks.brown_forsythe_p == pytest.approx(0.004222791139, rel=1e-7)
    assert found.statistic == pytest.approx(36.06544389, rel=1e-7)
    assert 'p = 0.00422' in found.reason


def test_heavy_ties_go_to_ranks() -> None:
    found = compare(POOH, higher_is_better=True)
    assert found.method is Method.RANKS
    assert found.statistic == pytest.approx(16.84230769, rel=1e-7)
    assert found.p == pytest.approx(0.0002201604749, rel=1e-7)
    assert 'not means' in found.reason
    assert found.letters == {'Pooh': 'a', 'Tigger': 'a', 'Piglet': 'b'}


def test_strong_skew_goes_to_ranks() -> None:
    draws = np.random.default_rng(0)
    skewed = {name: np.exp(draws.normal(0, 2, 60)) for name in 'ab'}
    assert compare(skewed, higher_is_better=False).method is Method.RANKS


def test_the_best_group_has_the_letter_a_whichever_way_is_better() -> None:
    high = compare(CHICKWTS, higher_is_better=True).letters
    low = compare(CHICKWTS, higher_is_better=False).letters
    assert high is not None
    assert low is not None
    assert list(high) == list(low)[::-1]
    assert (high['sunflower'], low['horsebean']) == ('a', 'a')


def test_four_observations_get_no_letters() -> None:
    few = {name: values[:4] for name, values in PLANT_GROWTH.items()}
    assert compare(few, higher_is_better=True).letters is None


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='group b: needs 3 observations or more, but has 2'):
        compare({'a': [1, 2, 3], 'b': [1, 2]}, higher_is_better=True)
    with pytest.raises(ValueError, match='do not vary within groups'):
        compare({'a': [1, 1, 1], 'b': [2, 2, 2]}, higher_is_better=True)
