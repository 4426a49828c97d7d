import numpy as np
import pytest

from tidegauge_analysis.usl import Law, fit_law, fit_scalability

# SPEC SDM 91, Sun SPARCcenter 2000: data and results of the R package usl (Moeding), its README and vignette.
LOAD = [1, 18, 36, 72, 108, 144, 216]
THROUGHPUT = [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]


def test_the_fit_of_specsdm91_is_that_of_the_r_package_usl() -> None:
    law, error = fit_law(LOAD, THROUGHPUT)
    # R stops a little before the least sum of squares: it prints 0.0277285 and 89.9952330.
    assert law.alpha == pytest.approx(0.0277285, rel=5e-6)
    assert law.beta == pytest.approx(0.0001044, abs=5e-8)
    assert law.gamma == pytest.approx(89.9952330, rel=1e-6)
    assert error == pytest.approx(82.8, abs=0.05)
    assert law.peak == pytest.approx(96.52, abs=0.005)
    assert law.at(law.peak or 0) == pytest.approx(1884, abs=0.5)
    assert law.limit == pytest.approx(3246, abs=0.5)


def test_a_law_is_found_again_with_intervals_that_contain_it() -> None:
    truth, draws = Law(0.05, 0.002, 400.0), np.random.default_rng(3)
    sizes = [1, 2, 3, 4, 6, 8]
    groups = [list(truth.at(size) * draws.normal(1, 0.02, 12)) for size in sizes]
    fit = fit_scalability(sizes, groups)
    for name in ('alpha', 'beta', 'gamma'):
        interval = getattr(fit, name)
        assert interval.low < getattr(truth, name) < interval.high
        assert interval.low <= interval.value <= interval.high
    assert fit.is_extrapolation(9)
    assert not fit.is_extrapolation(8)
    inside, beyond = fit.predict(4), fit.predict(16)
    assert inside.low < truth.at(4) < inside.high
    assert beyond.high - beyond.low > inside.high - inside.low
    assert fit.smallest_for(700) == 2 + (fit.predict(2).low < 700)
    assert fit.smallest_for(1e6) is None


def test_linear_scaling_has_neither_peak_nor_limit() -> None:
    law, _ = fit_law([1, 2, 3, 4], [10, 20, 30, 40])
    assert law.alpha == pytest.approx(0, abs=1e-6)
    assert law.at(8) == pytest.approx(80, rel=1e-4)
    assert Law(0, 0, 10).peak is None
    assert Law(0, 0, 10).limit is None


def test_too_few_sizes_or_runs_are_refused() -> None:
    with pytest.raises(ValueError, match='4 sizes'):
        fit_law([1, 2, 3, 3], [1, 2, 3, 4])
    with pytest.raises(ValueError, match='two runs'):
        fit_scalability([1, 2, 3, 4], [[1.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0]])
