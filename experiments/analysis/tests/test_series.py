import math

import numpy as np
import pytest
from numpy.typing import NDArray

from datasets import MAVRO, MICHELSON, pi_digits
from tidegauge_analysis.series import Shape, classify, effective_size, lag_one, mser


def autoregressive(phi: float, count: int, seed: int) -> NDArray[np.float64]:
    noise = np.random.default_rng(seed).normal(size=count)
    series = np.empty(count)
    series[0] = noise[0] / math.sqrt(1 - phi**2)
    for index in range(1, count):
        series[index] = phi * series[index - 1] + noise[index]
    return series


def test_lag_one_of_nist_michelso() -> None:
    assert MICHELSON.mean() == pytest.approx(299.8524, rel=1e-9)
    assert MICHELSON.std(ddof=1) == pytest.approx(0.0790105478190518, rel=1e-7)
    assert lag_one(MICHELSON) == pytest.approx(0.535199668621283, rel=1e-7)


def test_lag_one_of_nist_mavro() -> None:
    assert np.mean(MAVRO) == pytest.approx(2.001856, rel=1e-9)
    assert np.std(MAVRO, ddof=1) == pytest.approx(0.000429123454003053, rel=1e-7)
    assert lag_one(MAVRO) == pytest.approx(0.937989183438248, rel=1e-7)


def test_lag_one_of_nist_pi_digits() -> None:
    digits = pi_digits()
    assert (len(digits), digits[:6]) == (5000, [3, 1, 4, 1, 5, 9])
    assert np.mean(digits) == pytest.approx(4.5348, rel=1e-12)
    assert np.std(digits, ddof=1) == pytest.approx(2.86733906028871, rel=1e-12)
    assert lag_one(digits) == pytest.approx(-0.00355099287237972, rel=1e-7)


def test_lag_one_of_nist_num_acc() -> None:
    assert lag_one([10000001, 10000003, 10000002]) == pytest.approx(-0.5, rel=1e-7)
    assert lag_one([1.2, *([1.1, 1.3] * 500)]) == pytest.approx(-0.999, rel=1e-7)
    assert math.isnan(lag_one([5, 5, 5]))


@pytest.mark.parametrize('phi', [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregression_is_what_theory_gives(phi: float) -> None:
    count = 1 << 15
    found = np.median([effective_size(autoregressive(phi, count, seed)) for seed in range(9)])
    assert found / count == pytest.approx((1 - phi) / (1 + phi), rel=0.15)


def test_the_effective_size_lies_between_one_and_the_size() -> None:
    assert effective_size([5.0] * 40) == 40
    assert effective_size([1.0, -1.0] * 40) == 80
    assert 1 <= effective_size(list(range(80))) < 20


def test_mser_finds_the_end_of_a_warm_up() -> None:
    draws = np.random.default_rng(1)
    series = np.concatenate([np.linspace(3, 1, 100), np.ones(900)]) + draws.normal(0, 0.05, 1000)
    cut = mser(series)
    assert cut is not None
    assert 60 <= cut <= 110
    assert cut % 5 == 0


def test_mser_minimises_its_definition() -> None:
    series = [9.0, 7.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]
    rest = [np.var(series[cut:]) / len(series[cut:]) for cut in range(8)]
    assert mser(series, 1) == int(np.argmin(rest)) == 2


def test_mser_finds_no_steady_state_in_a_series_that_keeps_changing() -> None:
    draws = np.random.default_rng(2)
    assert mser(np.linspace(0, 10, 200) + draws.normal(0, 0.1, 200)) is None


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize(
    ('shape', 'start', 'end'),
    [
        (Shape.FLAT, [], []),
        (Shape.WARMING, [60, 75, 85], []),
        (Shape.SLOWING, [140, 130, 120], []),
        (Shape.UNSTEADY, [], [1.0]),
        (Shape.OSCILLATING, [], [0.0]),
    ],
)
def test_throughput_series_are_classified(shape: Shape, start: list[float], end: list[float], seed: int) -> None:
    count = 30 - len(start)
    steady = 100 + np.random.default_rng(seed).normal(0, 1.0, count)
    if shape is Shape.UNSTEADY:
        steady += np.linspace(0, 60, count) * end[0]
    if shape is Shape.OSCILLATING:
        steady += np.where(np.arange(count) % 2 == 0, 4, -4)
    found = classify([*start, *steady], higher_is_better=True)
    assert found.shape is shape
    # Noise can move the cut of a short series into its steady part.
    assert found.warm_up >= len(start) - 1
    assert found.warm_up <= (15 if start else 0)


def test_of_latencies_a_fall_is_the_warm_up() -> None:
    steady = 100 + np.random.default_rng(4).normal(0, 1, 27)
    assert classify([300, 200, 150, *steady], higher_is_better=False).shape is Shape.WARMING
    assert classify([60, 75, 85, *steady], higher_is_better=False).shape is Shape.SLOWING


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='a series of 3 is too short to classify: 10 are needed'):
        classify([1, 2, 3], higher_is_better=True)
    with pytest.raises(ValueError, match='mean of the series is zero'):
        classify([-1, 1] * 5, higher_is_better=True)
    with pytest.raises(ValueError, match='4 observations are fewer than two batches of 5'):
        mser([1, 2, 3, 4])
    with pytest.raises(ValueError, match='needs two observations or more, but has 1'):
        lag_one([1])
