"""The distributions of recompute.py against published values and against scipy."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from datasets import AIR_QUALITY, INSECT_SPRAYS, JAN_SHIEH, PLANT_GROWTH, POOH
from tidegauge_analysis import recompute as again
from tidegauge_analysis.compare import compare
from tidegauge_analysis.verdict import Decision, decide

GROUPS = [list(map(float, values)) for values in INSECT_SPRAYS.values()]


def test_the_studentized_range_is_that_of_r() -> None:
    published = [
        0, 0.4889159, 0.7835628, 0.9126407, 0.9632574, 0.9833586, 0.9918510, 0.9957141, 0.9976011, 0.9985838, 0.9991249,
    ]  # fmt: skip
    assert [1 - again.range_sf(q, 2, 5) for q in range(11)] == pytest.approx(published, abs=6e-8)
    published = [
        4.500659, 3.926503, 3.635351, 3.460456, 3.344084, 3.261182, 3.199173, 3.151064, 3.112663,
    ]  # fmt: skip
    assert [again.range_quantile(0.95, 2, df) for df in range(3, 12)] == pytest.approx(published, abs=2e-5)
    # For two groups it is Student's. R's quantiles have four digits, and that for two degrees of freedom has three.
    assert again.range_quantile(0.95, 2, 2) == pytest.approx(math.sqrt(2) * 4.302653, abs=1e-6)
    assert again.range_quantile(0.95, 2, 2) == pytest.approx(6.079637, rel=1e-3)


def test_quantiles_of_student_are_those_of_r() -> None:
    published = [12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139]
    assert [round(again.t_quantile(0.975, df), 6) for df in range(1, 11)] == published
    published = [2.085963, 2.008559, 1.983972, 1.962339]
    assert [round(again.t_quantile(0.975, df), 6) for df in (20, 50, 100, 1000)] == published
    assert again.t_quantile(0.05, 7) == -again.t_quantile(0.95, 7)


@pytest.mark.parametrize('k', [2, 3, 6, 9])
@pytest.mark.parametrize('df', [2, 3.7, 12, 66, 500])
def test_the_studentized_range_is_that_of_scipy(k: int, df: float) -> None:
    for q in (0.5, 2.0, 3.5, 6.0):
        assert again.range_sf(q, k, df) == pytest.approx(float(stats.studentized_range.sf(q, k, df)), abs=1e-9)


@pytest.mark.parametrize('seed', range(5))
def test_other_distributions_are_those_of_scipy(seed: int) -> None:
    draws = np.random.default_rng(seed)
    for _ in range(40):
        a, b = (float(value) for value in draws.uniform(0.5, 300, 2))
        f, df = float(draws.uniform(0.01, 10)), int(draws.integers(1, 40))
        assert again.f_sf(f, a, b) == pytest.approx(float(stats.f.sf(f, a, b)), rel=1e-9, abs=1e-13)
        assert again.chi2_sf(f * df, df) == pytest.approx(float(stats.chi2.sf(f * df, df)), rel=1e-9, abs=1e-13)
        assert again.t_sf(f, b) == pytest.approx(float(stats.t.sf(f, b)), rel=1e-9, abs=1e-13)
        n, share, p = int(draws.integers(1, 100_000)), float(draws.uniform(0.01, 0.999)), float(draws.uniform())
        assert again.binomial_quantile(p, n, share) == int(stats.binom.ppf(p, n, share))
        shift = float(draws.uniform(0.1, 50))
        assert again.noncentral_f_cdf(f, a, b, shift) == pytest.approx(
            float(stats.ncf.cdf(f, a, b, shift)), rel=1e-7, abs=1e-10
        )


@pytest.mark.parametrize('n', [3, 4, 5, 6, 11, 12, 40, 300])
def test_shapiro_and_wilk_is_that_of_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(5, 2, n).tolist()
    assert again.shapiro(values) == pytest.approx(float(stats.shapiro(values).pvalue), rel=1e-6)


def test_tests_of_published_data() -> None:
    assert again.one_way(GROUPS)[0] == pytest.approx(34.7022820555, rel=1e-9)
    assert again.welch_anova(GROUPS)[0] == pytest.approx(36.06544389, rel=1e-9)
    assert again.kruskal_h(GROUPS) == pytest.approx(54.69134462, rel=1e-9)
    assert again.levene_p(GROUPS) == pytest.approx(0.004222791139, rel=1e-9)
    growth = list(PLANT_GROWTH.values())
    assert again.tukey(growth, 2, 1, 'p') == pytest.approx(0.0120064, abs=6e-8)
    assert again.omega_squared(growth, False, 0.95, 'value') == pytest.approx(0.2040788, rel=1e-6)  # noqa: FBT003
    pooh = [list(map(float, values)) for values in POOH.values()]
    ranked = [again.dunn_p(pooh, *pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert ranked == pytest.approx([4.892694e-4, 0.6302980448, 2.0113532e-3], rel=1e-6)


def test_kruskal_of_airquality() -> None:
    h = again.kruskal_h([list(map(float, values)) for values in AIR_QUALITY.values()])
    assert h == pytest.approx(29.267, abs=5e-4)
    assert again.chi2_sf(h, 4) == pytest.approx(6.901e-06, rel=1e-4)


def test_shapiro_and_wilk_of_insect_sprays_in_r() -> None:
    assert again.shapiro(GROUPS[3]) == pytest.approx(0.002713, abs=5e-7)
    assert again.shapiro([value for group in GROUPS for value in group]) == pytest.approx(0.0002525, abs=5e-8)


@pytest.mark.parametrize(
    ('test', 'f', 'df', 'p'),
    [(again.one_way, 0.0926, 46, 0.0083), (again.welch_anova, 0.1102, 22.6536, 0.0110)],
    ids=['equal variances', 'Welch'],
)
def test_equivalence_of_jan_and_shieh(
    test: Callable[[list[list[float]]], tuple[float, ...]], f: float, df: float, p: float
) -> None:
    """Jan and Shieh 2019: F lies in the lower tail of the noncentral F at the margin, 0.5 by Wellek's definition."""
    groups = list(JAN_SHIEH.values())
    statistic, between, within, *_ = test(groups)
    assert statistic == pytest.approx(f, abs=6e-5)
    assert (between, within) == pytest.approx((3, df), abs=6e-5)
    shift = 0.5**2 * sum(map(len, groups)) / len(groups)
    assert again.noncentral_f_cdf(statistic, between, within, shift) == pytest.approx(p, abs=6e-5)


def test_kruskal_of_hollander_and_wolfe() -> None:
    groups = [[2.9, 3.0, 2.5, 2.6, 3.2], [3.8, 2.7, 4.0, 2.4], [2.8, 3.4, 3.7, 2.2, 2.0]]
    assert again.kruskal_h(groups) == pytest.approx(27 / 35, rel=1e-12)
    assert again.chi2_sf(27 / 35, 2) == pytest.approx(math.exp(-27 / 70), rel=1e-12)


@pytest.mark.parametrize('seed', range(12))
def test_methods_letters_and_verdicts_are_those_of_the_package(seed: int) -> None:
    draws = np.random.default_rng(seed)
    shifts = draws.integers(0, 4, int(draws.integers(2, 8)))
    skewed = draws.random() < 0.2
    groups = [
        (10 + shift + (draws.pareto(1.5, 12) if skewed else draws.normal(0, draws.uniform(0.2, 2), 12))).tolist()
        for shift in shifts
    ]
    names = [str(number) for number in range(len(groups))]
    higher = bool(seed % 2)
    expected = compare(dict(zip(names, groups, strict=True)), higher_is_better=higher)
    method, letters, verdicts = again.conclude(groups, {'alpha': 0.05, 'margin': 0.05}, higher)
    assert method == expected.method
    assert dict(zip(names, letters, strict=True)) == expected.letters
    for pair in expected.pairs:
        first, second = int(pair.first), int(pair.second)
        decision = decide(groups[first], groups[second], 0.05).decision
        if decision != Decision.EQUIVALENT:
            decision = Decision.DIFFERENT if pair.p < 0.05 else Decision.UNDECIDED
        assert verdicts[first, second] == decision


def test_bad_usage_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sys.argv', ['recompute.py'])
    assert again.main() == 2
    assert capsys.readouterr().err == 'Usage: python3 recompute.py RESULTS\n'
    monkeypatch.setattr('sys.argv', ['recompute.py', 'nowhere'])
    assert again.main() == 2
    assert capsys.readouterr().err.startswith('nowhere: there is no report/numbers.json: npm run study')
