"""The formulas of recompute.py against published values, scipy and the package."""

import math

import numpy as np
import pytest
from scipy import special, stats

from tidegauge_analysis import recompute as again
from tidegauge_analysis.contrasts import Contrast, Prior, further_units, pool, pool_blocks, prior_of
from tidegauge_analysis.effects import geometric_mean
from tidegauge_analysis.letters import compact_letters
from tidegauge_analysis.units import unpaired


def test_quantiles_of_student_are_those_of_r() -> None:
    published = [12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139]
    assert [round(again.t_quantile(0.975, df), 6) for df in range(1, 11)] == published
    published = [2.085963, 2.008559, 1.983972, 1.962339]
    assert [round(again.t_quantile(0.975, df), 6) for df in (20, 50, 100, 1000)] == published
    assert again.t_quantile(0.05, 7) == -again.t_quantile(0.95, 7)


@pytest.mark.parametrize('seed', range(5))
def test_distributions_are_those_of_scipy(seed: int) -> None:
    draws = np.random.default_rng(seed)
    for _ in range(40):
        t, df = float(draws.uniform(0.01, 10)), float(draws.uniform(0.5, 300))
        assert again.t_sf(t, df) == pytest.approx(float(stats.t.sf(t, df)), rel=1e-9, abs=1e-13)
        n, share, p = int(draws.integers(1, 100_000)), float(draws.uniform(0.01, 0.999)), float(draws.uniform())
        assert again.binomial_quantile(p, n, share) == int(stats.binom.ppf(p, n, share))
        x = float(draws.uniform(0.05, 50))
        assert again.digamma(x) == pytest.approx(float(special.digamma(x)), rel=1e-12, abs=1e-12)
        assert again.trigamma(x) == pytest.approx(float(special.polygamma(1, x)), rel=1e-12)


def ratios(draws: np.random.Generator, count: int) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Values of each unit of two groups."""
    first = [tuple(np.exp(draws.normal(0.05, 0.1, 3)).tolist()) for _ in range(count)]
    return first, [tuple(np.exp(draws.normal(0, 0.1, 3)).tolist()) for _ in range(count)]


@pytest.mark.parametrize('seed', range(8))
def test_ratios_and_their_priors_are_those_of_the_package(seed: int) -> None:
    draws = np.random.default_rng(seed)
    spreads = draws.uniform(0.5, 3, 6) if seed % 2 else np.ones(6)
    groups = []
    for spread in spreads:
        first, second = ratios(draws, 4)
        groups.append(([tuple(v**spread for v in unit) for unit in first], second))
    units = [tuple(again.log_ratios(*group)) for group in groups]
    expected = prior_of(units)
    found = [again.prior(groups, what) for what in ('df', 'variance')]
    assert found == pytest.approx([expected.df, expected.variance], rel=1e-9)
    for (first, second), logs in zip(groups, units, strict=True):
        for prior in (None, expected):
            contrast = Contrast(logs, prior or Prior(0.0, 0.0))
            given = [] if prior is None else [prior.df, prior.variance]
            interval = contrast.interval(0.95)
            assert again.ratio(first, second, given, confidence=0.95, side=-1) == pytest.approx(math.exp(interval.low))
            assert again.ratio(first, second, given) == pytest.approx(math.exp(interval.value), rel=1e-12)
            assert again.ratio_p(first, second, given) == pytest.approx(contrast.p, rel=1e-9)
            assert again.log_ratio(first, second, given, 'variance') == pytest.approx(contrast.error**2, rel=1e-12)
            more = further_units(contrast, 0.05, 0.05, 3)
            if more is not None:
                assert again.further_units(first, second, given, 0.05, 0.05, 3) == more


@pytest.mark.parametrize('seed', range(4))
def test_exponents_and_their_priors_are_those_of_the_package(seed: int) -> None:
    draws = np.random.default_rng(seed)
    levels = [1.0, 8.0, 64.0]
    trends = [
        (levels, [[tuple(np.exp(draws.normal(0, 0.2, 2)).tolist()) for _ in levels] for _ in range(5)])
        for _ in range(6)
    ]
    slopes = [tuple(again.slope(levels, unit) for unit in units) for _, units in trends]
    expected = prior_of(slopes)
    found = [again.prior_of_exponents(trends, what) for what in ('df', 'variance')]
    assert found == pytest.approx([expected.df, expected.variance], rel=1e-9)
    for (_, units), own in zip(trends, slopes, strict=True):
        for prior in (Prior(0.0, 0.0), expected):
            contrast = Contrast(own, prior)
            given = [prior.df, prior.variance] if prior.df else []
            interval = contrast.interval(0.95)
            assert again.mean_exponent(levels, units, given, side=1) == pytest.approx(interval.high, rel=1e-9)
            assert again.mean_exponent(levels, units, given) == pytest.approx(interval.value, rel=1e-12)
            assert again.exponent(levels, units, given, 'variance') == pytest.approx(contrast.error**2, rel=1e-12)


@pytest.mark.parametrize('seed', range(8))
def test_pooled_effects_are_those_of_the_package(seed: int) -> None:
    draws = np.random.default_rng(seed)
    effects = draws.normal(0.1, 0.2 if seed % 2 else 0.01, 7).tolist()
    variances = draws.uniform(0.001, 0.01, 7).tolist()
    expected = pool(effects, variances)
    interval = expected.interval(0.95)
    assert again.pooled(effects, variances, 'value', side=1) == pytest.approx(interval.high, rel=1e-9)
    assert again.pooled(effects, variances, 'ratio') == pytest.approx(math.exp(interval.value), rel=1e-9)
    assert again.pooled(effects, variances, 'spread') == pytest.approx(math.sqrt(expected.tau_squared), rel=1e-9)


@pytest.mark.parametrize('luck', [0.0, 0.2])
def test_effects_in_blocks_are_pooled_as_in_the_package(luck: float) -> None:
    draws = np.random.default_rng(1)
    units = (draws.normal(0.1, 0.1, (7, 5)) + draws.normal(0, luck, 5)).tolist()
    expected = pool_blocks(units)
    interval = expected.interval(0.95)
    assert again.pooled_blocks(units, 'value', side=1) == pytest.approx(interval.high, rel=1e-9)
    assert again.pooled_blocks(units, 'ratio', side=-1) == pytest.approx(math.exp(interval.low), rel=1e-9)
    assert again.pooled_blocks(units, 'spread') == pytest.approx(math.sqrt(expected.tau_squared), abs=1e-12)


def test_means_and_ratios_of_samples_are_those_of_the_package() -> None:
    first, second = [2.0, 2.2, 2.4, 1.9], [1.0, 1.3, 0.9]
    expected = geometric_mean(first)
    assert again.geometric_mean(first, side=1) == pytest.approx(expected.high)
    assert again.geometric_mean([(2.0, 8.0), (4.0,), (4.0, 4.0, 4.0)]) == pytest.approx(4.0)
    interval, _ = unpaired(first, second, 0.95)
    assert math.exp(again.unpaired(first, second, side=-1)) == pytest.approx(interval.low)


@pytest.mark.parametrize('seed', range(12))
def test_letters_are_those_of_the_package(seed: int) -> None:
    draws = np.random.default_rng(seed)
    count = int(draws.integers(2, 9))
    apart = [(i, j) for i in range(count) for j in range(i + 1, count) if draws.random() < 0.5]
    names = [str(number) for number in range(count)]
    expected = compact_letters(names, {frozenset((names[i], names[j])) for i, j in apart})
    assert again.letters_of(count, apart) == list(expected.values())


def test_bad_usage_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sys.argv', ['recompute.py'])
    assert again.main() == 2
    assert capsys.readouterr().err == 'Usage: python3 recompute.py RESULTS\n'
    monkeypatch.setattr('sys.argv', ['recompute.py', 'nowhere'])
    assert again.main() == 2
    assert capsys.readouterr().err.startswith('nowhere: there is no report/numbers.json: npm run study')
