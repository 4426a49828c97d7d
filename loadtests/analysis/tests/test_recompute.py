"""The distributions of recompute.py against published values and against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from datasets import INSECT_SPRAYS, PLANT_GROWTH, POOH
from tidegauge_analysis import recompute as again
from tidegauge_analysis.compare import compare
from tidegauge_analysis.verdict import Decision, decide

GROUPS = [list(map(float, values)) for values in INSECT_SPRAYS.values()]


def test_the_studentized_range_is_that_of_r() -> None:
    published = [0.4889159, 0.7835628, 0.9126407, 0.9632574, 0.9833586, 0.9918510, 0.9957141]
    assert [1 - again.range_sf(q, 2, 5) for q in range(1, 8)] == pytest.approx(published, abs=6e-8)
    # For two groups it is Student's, exactly; R's own quantiles (6.079637 for two degrees) have fewer digits.
    for df, t in {2: 4.302653, 5: 2.570582, 10: 2.228139, 50: 2.008559}.items():
        assert again.range_quantile(0.95, 2, df) == pytest.approx(math.sqrt(2) * t, abs=1e-6)


def test_quantiles_of_student_are_those_of_r() -> None:
    published = {1: 12.706205, 2: 4.302653, 5: 2.570582, 10: 2.228139, 50: 2.008559, 1000: 1.962339}
    assert {df: round(again.t_quantile(0.975, df), 6) for df in published} == published
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
