"""Compare groups by the method that suits them, and report the reason for the choice."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from tidegauge_analysis.anova import one_way, welch
from tidegauge_analysis.groups import Groups, GroupsLike, best_first, check
from tidegauge_analysis.letters import compact_letters
from tidegauge_analysis.pairs import Comparison, dunn, games_howell, tukey_kramer

FEWEST_FOR_LETTERS = 5
"""With fewer observations in a group, points are shown and no letters."""

HEAVY_TIES = 0.95
"""A tie correction below this means that a few values dominate (Kruskal and Wallis 1952)."""

STRONG_SKEW = 2.0
"""Absolute skewness of residuals beyond which the mean is a poor summary."""


class Method(StrEnum):
    """A test of all groups, and the comparison of pairs that belongs to it."""

    ANOVA = 'ANOVA with Tukey-Kramer'
    WELCH = "Welch's ANOVA with Games-Howell"
    RANKS = 'Kruskal-Wallis with Dunn, adjusted by Holm'


@dataclass(frozen=True)
class Checks:
    """What the choice rests on."""

    shapiro_p: float
    """Normality of residuals. Reported only: with many observations it rejects trifles."""
    brown_forsythe_p: float
    """Equality of variances, by Levene's test around medians."""
    tie_correction: float
    """1 without ties; near 0 where almost all observations are equal."""
    skewness: float
    """Of the residuals."""


@dataclass(frozen=True)
class Report:
    """The comparison of a family of groups."""

    method: Method
    reason: str
    checks: Checks
    statistic: float
    """F, or H for ranks."""
    p: float
    pairs: tuple[Comparison, ...]
    letters: dict[str, str] | None
    """Groups from the best to the worst; None where a group has fewer than five observations."""


def compare(groups: GroupsLike, *, higher_is_better: bool, alpha: float = 0.05) -> Report:
    """Compare all groups of a family: one metric under one workload, say.

    Letters follow the convention that the best group has the letter a.

    :raises ValueError: a group has fewer than three observations, or nothing varies
    """
    checked = check(groups, least=3)
    checks = _checks(checked)
    method, reason = _choose(checks, alpha)
    if method is Method.RANKS:
        statistic, p = stats.kruskal(*checked.values)
        pairs = dunn(groups)
    elif method is Method.WELCH:
        test = welch(groups)
        statistic, p = test.f, test.p
        pairs = games_howell(groups, 1 - alpha)
    else:
        term = one_way(groups).term('group')
        statistic, p = term.f, term.p
        pairs = tukey_kramer(groups, 1 - alpha)
    letters = None
    if checked.sizes.min() >= FEWEST_FOR_LETTERS:
        order = [checked.names[index] for index in best_first(checked, higher_is_better=higher_is_better)]
        different = {frozenset((pair.first, pair.second)) for pair in pairs if pair.p < alpha}
        letters = compact_letters(order, different)
    return Report(method, reason, checks, float(statistic), float(p), pairs, letters)


def _checks(groups: Groups) -> Checks:
    residuals = groups.residuals
    if np.ptp(residuals) == 0:
        raise ValueError('the observations do not vary within groups, so that there is nothing to test against')
    return Checks(
        float(stats.shapiro(residuals).pvalue),
        float(stats.levene(*groups.values, center='median').pvalue),
        float(stats.tiecorrect(stats.rankdata(groups.all))),
        float(stats.skew(residuals)),
    )


def _choose(checks: Checks, alpha: float) -> tuple[Method, str]:
    if checks.tie_correction < HEAVY_TIES:
        return Method.RANKS, (
            f'few distinct values: the tie correction is {checks.tie_correction:.3f}, below {HEAVY_TIES}. '
            'Ranks are compared, not means.'
        )
    if abs(checks.skewness) > STRONG_SKEW:
        return Method.RANKS, (
            f'strongly skewed residuals: skewness {checks.skewness:.2f}, beyond {STRONG_SKEW}. '
            'Ranks are compared, not means.'
        )
    found = f'the Brown-Forsythe test gives p = {checks.brown_forsythe_p:.3g}'
    if checks.brown_forsythe_p < alpha:
        return Method.WELCH, f'unequal variances: {found}'
    return Method.ANOVA, f'no evidence of unequal variances: {found}'
