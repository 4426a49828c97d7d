"""Comparisons of every pair of groups, with the error rate held over the whole family."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tidegauge_analysis.anova import one_way
from tidegauge_analysis.groups import Groups, GroupsLike, check


@dataclass(frozen=True)
class Comparison:
    """The first group minus the second, and whether that can be chance.

    `low` and `high` bound the difference with simultaneous confidence. A comparison of ranks has neither them nor a
    difference.
    """

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    statistic: float
    p: float


def tukey_kramer(
    groups: GroupsLike, confidence: float = 0.95, *, error: tuple[float, float] | None = None
) -> tuple[Comparison, ...]:
    """Compare means of groups with equal variances, of any sizes (Kramer 1956, Biometrics 12).

    :param error: mean square and degrees of freedom of another error term: that of an analysis with blocks, say
    :raises ValueError: a group has fewer than two observations
    """
    checked = check(groups)
    if error is None:
        table = one_way(groups)
        error = (table.error_mean_square, table.error_df)
    mean_square, df = error
    found = []
    for i, j in checked.pairs():
        width = np.sqrt(mean_square / 2 * (1 / checked.sizes[i] + 1 / checked.sizes[j]))
        found.append(_studentized(checked, i, j, float(width), df, confidence))
    return tuple(found)


def games_howell(groups: GroupsLike, confidence: float = 0.95) -> tuple[Comparison, ...]:
    """Compare means of groups with unequal variances (Games and Howell 1976, Journal of Educational Statistics 1).

    :raises ValueError: a group has fewer than two observations, or two groups do not vary
    """
    checked = check(groups)
    parts = checked.variances / checked.sizes
    found = []
    for i, j in checked.pairs():
        together = parts[i] + parts[j]
        if together == 0:
            raise ValueError(f'groups {checked.names[i]} and {checked.names[j]} do not vary')
        within = parts[i] ** 2 / (checked.sizes[i] - 1) + parts[j] ** 2 / (checked.sizes[j] - 1)
        df = float(together**2 / within)
        found.append(_studentized(checked, i, j, float(np.sqrt(together / 2)), df, confidence))
    return tuple(found)


def dunn(groups: GroupsLike) -> tuple[Comparison, ...]:
    """Compare mean ranks after a Kruskal-Wallis test (Dunn 1964, Technometrics 6), corrected for ties.

    p values are two-sided and adjusted by Holm's method. They compare ranks, not means.
    """
    checked = check(groups, least=1)
    raw = dunn_unadjusted(checked)
    _, adjusted, _, _ = multipletests([p for _, p in raw], method='holm')
    return tuple(
        Comparison(checked.names[i], checked.names[j], None, None, None, z, float(p))
        for (i, j), (z, _), p in zip(checked.pairs(), raw, adjusted, strict=True)
    )


def dunn_unadjusted(groups: Groups) -> list[tuple[float, float]]:
    """Test statistics and two-sided p values of every pair, before the adjustment for their number."""
    ranks = stats.rankdata(groups.all)
    total = len(ranks)
    _, ties = np.unique(ranks, return_counts=True)
    variance = total * (total + 1) / 12 - float((ties**3 - ties).sum()) / (12 * (total - 1))
    if variance <= 0:
        raise ValueError('all observations are equal: there are no ranks to compare')
    edges = np.cumsum(groups.sizes).astype(int)
    means = [float(part.mean()) for part in np.split(ranks, edges[:-1])]
    found = []
    for i, j in groups.pairs():
        width = np.sqrt(variance * (1 / groups.sizes[i] + 1 / groups.sizes[j]))
        z = (means[i] - means[j]) / float(width)
        found.append((z, float(2 * stats.norm.sf(abs(z)))))
    return found


@lru_cache(maxsize=1024)
def _studentized_quantile(confidence: float, k: int, df: float) -> float:
    """Quantile of the studentized range: slow, and the same for all pairs of a family with one error term."""
    return float(stats.studentized_range.ppf(confidence, k, df))


def _studentized(  # noqa: PLR0913, PLR0917
    groups: Groups, i: int, j: int, width: float, df: float, confidence: float
) -> Comparison:
    k = len(groups.names)
    difference = float(groups.means[i] - groups.means[j])
    reach = _studentized_quantile(confidence, k, df) * width
    q = difference / width
    p = float(stats.studentized_range.sf(abs(q), k, df))
    return Comparison(groups.names[i], groups.names[j], difference, difference - reach, difference + reach, q, p)
