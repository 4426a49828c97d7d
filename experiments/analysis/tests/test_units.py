import math

import numpy as np
import pytest
from scipy import stats

from tidegauge_analysis.document import Number
from tidegauge_analysis.numbers import Ledger
from tidegauge_analysis.units import Observation, compare, judge_unpaired, mean_of, unpaired, with_priors


def observed(values: dict[int, list[float]], turn: str = 'r') -> list[Observation]:
    """Observations by block, each in its turn."""
    return [
        Observation({}, block, f'{turn}/{trial}', Number(f'{turn}{block}.{trial}', value, 'ms'))
        for block, inside in values.items()
        for trial, value in enumerate(inside)
    ]


def test_from_three_deployments_on_a_deployment_is_one_observation() -> None:
    first = observed({1: [2.0, 2.2], 2: [4.0, 4.4], 3: [1.0, 1.1]})
    second = observed({1: [1.0, 1.0], 2: [2.1, 2.1], 3: [0.45, 0.45]})
    found = compare(first, second)
    assert (found.kind, found.in_turns, len(found.first)) == ('deployment', True, 3)
    assert found.contrast is not None
    expected = [
        math.log(2.0 * 2.2) / 2 - 0.0,
        math.log(4.0 * 4.4) / 2 - math.log(2.1),
        math.log(1.1) / 2 - math.log(0.45),
    ]
    assert found.contrast.units == pytest.approx(expected)


def test_one_deployment_has_a_contrast_only_where_runs_took_turns() -> None:
    first, second = observed({1: [2.0, 2.2, 2.1, 1.9]}), observed({1: [1.0, 1.0, 1.2, 1.1]})
    paired = compare(first, second)
    assert (paired.kind, paired.in_turns, len(paired.first)) == ('trial', True, 4)
    apart = compare(first, observed({1: [1.0, 1.0, 1.2, 1.1]}, 'other'))
    assert apart.contrast is None
    assert 'nothing shows how much deployments differ' in apart.reason
    # The ratio is known all the same.
    ratio = apart.ratio(Ledger())
    assert ratio.value.value == pytest.approx(math.exp(np.mean(np.log([2.0, 2.2, 2.1, 1.9])) - np.log(1.32) / 4))
    assert ratio.low.value is None


def test_a_run_without_its_partner_is_left_out_of_its_turn() -> None:
    first = observed({1: [2.0, 2.0, 9.0]})
    second = [one for one in observed({1: [1.0, 1.1, 1.0]}) if not one.turn.endswith('/2')]
    assert [one.value for unit in compare(first, second).first for one in unit] == [2.0, 2.0]


def test_trials_that_depend_on_their_neighbours_are_merged() -> None:
    draws = np.random.default_rng(1)
    drift = np.cumsum(draws.normal(0, 0.1, 60))
    first = observed({1: list(np.exp(drift + draws.normal(0, 0.02, 60)))})
    second = observed({1: [1.0] * 60})
    assert len(compare(first, second).first) < 30
    independent = observed({1: list(np.exp(draws.normal(0, 0.1, 60)))})
    assert len(compare(independent, second).first) == 60


def test_values_that_are_not_positive_have_no_ratio_and_a_difference() -> None:
    first, second = observed({1: [0.0], 2: [1.0], 3: [2.0]}), observed({1: [1.0], 2: [1.0], 3: [3.5]})
    found = compare(first, second)
    ledger = Ledger()
    assert found.contrast is None
    assert found.ratio(ledger).value.reason == 'a value is not positive, so that there is no ratio'
    difference = found.difference('ms', ledger)
    bounds = stats.ttest_1samp([-1.0, 0.0, -1.5], 0).confidence_interval(0.95)
    assert difference.value.value == pytest.approx(-2.5 / 3)
    assert difference.low.value == pytest.approx(bounds.low)


def test_groups_without_a_common_block_have_no_result() -> None:
    found = compare(observed({1: [1.0]}), observed({2: [1.0]}))
    assert found.contrast is None
    assert found.ratio(Ledger()).value.value is None
    assert found.difference('ms', Ledger()).value.value is None


def test_the_same_comparison_under_four_conditions_has_more_degrees_of_freedom() -> None:
    draws = np.random.default_rng(2)
    many = [
        compare(
            observed({block: [float(np.exp(draws.normal(0.3, 0.1)))] for block in (1, 2, 3)}),
            observed({block: [1.0] for block in (1, 2, 3)}),
        )
        for _ in range(6)
    ]
    for one, moderated in zip(many, with_priors(Ledger(), many), strict=True):
        assert one.contrast is not None
        assert moderated.contrast is not None
        assert moderated.contrast.df > one.contrast.df == 2
        assert moderated.contrast.value == one.contrast.value


def test_the_mean_of_a_group_is_geometric_over_deployments() -> None:
    group = observed({1: [1.0, 4.0], 2: [8.0, 8.0], 3: [2.0, 2.0]})
    found = mean_of(group, 'ms', Ledger())
    assert found.value.value == pytest.approx((2 * 8 * 2) ** (1 / 3))
    assert found.low.value is not None
    assert 0 < found.low.value < 2
    alone = mean_of(observed({1: [1.0, 4.0]}), 'ms', Ledger())
    assert alone.value.value == pytest.approx(2.0)
    assert alone.low.value is None
    zero = mean_of(observed({1: [0.0], 2: [1.0], 3: [5.0]}), 'ms', Ledger())
    assert zero.value.value == pytest.approx(2.0)
    assert mean_of([], 'ms', Ledger()).value.reason == 'there is no run'


def test_independent_samples_have_welch_s_interval_of_the_logarithms() -> None:
    first, second = [2.0, 2.2, 2.4, 1.9], [1.0, 1.3, 0.9]
    found, p = unpaired(first, second, 0.95)
    test = stats.ttest_ind(np.log(first), np.log(second), equal_var=False)
    bounds = test.confidence_interval(0.95)
    assert p == pytest.approx(test.pvalue)
    assert (found.low, found.high) == pytest.approx((math.exp(bounds.low), math.exp(bounds.high)))
    assert judge_unpaired(first, second, 0.05, 0.05)[1] == 'different'
    assert judge_unpaired([1.0, 1.001, 0.999], [1.0, 1.001, 1.0], 0.05, 0.05)[1] == 'equivalent'
    few, verdict = judge_unpaired([2.0, 2.0], [1.0, 1.0], 0.05, 0.05)
    assert few.value == pytest.approx(2.0)
    assert verdict == 'none'
    with pytest.raises(ValueError, match='not positive'):
        unpaired([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], 0.95)
    with pytest.raises(ValueError, match='there is no value'):
        unpaired([], [1.0], 0.95)
