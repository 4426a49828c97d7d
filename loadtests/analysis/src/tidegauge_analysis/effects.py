"""How large a difference is, with its interval, and what a design can find."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq
from statsmodels.stats.power import FTestAnovaPower

from tidegauge_analysis.groups import Values, check


@dataclass(frozen=True)
class Interval:
    """A value between its bounds; a bound is infinite where the data does not limit the value on that side."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class EffectSizes:
    """Share of the variance that a factor explains, by three estimators, and Cohen's f."""

    eta_squared: Interval
    epsilon_squared: Interval
    omega_squared: Interval
    cohen_f: Interval


def effect_sizes(f: float, df_between: float, df_within: float, confidence: float = 0.95) -> EffectSizes:
    """Effect sizes of an F test, with intervals from the noncentral F distribution.

    Sources: Steiger 2004, Psychological Methods 9, for the interval of the noncentrality; the R package effectsize
    for what follows from it. Bounds below zero are reported as zero.
    """
    df = (df_between, df_within)
    low, high = (_noncentrality(f, df, tail) for tail in ((1 + confidence) / 2, (1 - confidence) / 2))
    at = [_explained(value, df) for value in (f, low / df_between, high / df_between)]
    eta, epsilon, omega, cohen = (
        Interval(value, max(lower, 0.0), max(upper, 0.0)) for value, lower, upper in zip(*at, strict=True)
    )
    return EffectSizes(eta, epsilon, omega, cohen)


def _noncentrality(f: float, df: tuple[float, float], below: float) -> float:
    """Noncentrality at which this share of the distribution lies below the statistic; 0 where there is none."""

    def excess(value: float) -> float:
        return float(stats.ncf.cdf(f, *df, value)) - below

    if float(stats.f.cdf(f, *df)) <= below:
        return 0.0
    high = 10.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 1e-12, high, xtol=1e-12, rtol=1e-14))


def _explained(f: float, df: tuple[float, float]) -> tuple[float, float, float, float]:
    """Eta squared, epsilon squared, omega squared and Cohen's f of an F statistic."""
    between, within = df
    squared = f * between / within
    chance = between / within
    return (
        squared / (squared + 1),
        (squared - chance) / (squared + 1),
        (squared - chance) / (squared + 1 + 1 / within),
        squared**0.5,
    )


def power(cohen_f: float, groups: int, observations: int, alpha: float = 0.05) -> float:
    """Chance that an analysis of variance finds an effect of this size.

    :param observations: of all groups together
    """
    return float(FTestAnovaPower().power(cohen_f, observations, alpha, k_groups=groups))


def minimum_detectable_difference(
    first: ArrayLike, second: ArrayLike, alpha: float = 0.05, target: float = 0.8
) -> float:
    """Smallest difference of two means that samples of these sizes and this spread find with the target power."""
    groups = check({'first': first, 'second': second})
    df = groups.sizes - 1
    pooled = float(np.sqrt((df * groups.variances).sum() / df.sum()))
    total = float(df.sum())
    critical = float(stats.t.ppf(1 - alpha / 2, total))

    def excess(shift: float) -> float:
        # scipy gives NaN for the far tail, which is then negligible.
        other = float(np.nan_to_num(stats.nct.cdf(-critical, total, shift)))
        return float(stats.nct.sf(critical, total, shift)) + other - target

    shift = float(brentq(excess, 1e-9, 2 * critical + 10, xtol=1e-12, rtol=1e-14))
    return shift * float(np.sqrt((1 / groups.sizes).sum())) * pooled


def difference_of_means(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Interval:
    """The mean of the first minus that of the second, with Welch's interval."""
    groups = check({'first': first, 'second': second})
    width, df = _welch_error(groups.variances, groups.sizes)
    value = float(groups.means[0] - groups.means[1])
    reach = float(stats.t.ppf((1 + confidence) / 2, df)) * width
    return Interval(value, value - reach, value + reach)


def ratio_of_means(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Interval:
    """The mean of the first over that of the second, with Fieller's interval (Fieller 1954).

    Source: Journal of the Royal Statistical Society B 16. Degrees of freedom are Welch's. Where the second mean is
    not shown to differ from zero, no finite interval exists, and the bounds are infinite.
    """
    groups = check({'first': first, 'second': second})
    (a, b), parts = groups.means, groups.variances / groups.sizes
    if b == 0:
        raise ValueError('the second mean is zero: there is no ratio')
    ratio = float(a / b)
    _, df = _welch_error(np.array([groups.variances[0], ratio**2 * groups.variances[1]]), groups.sizes)
    t = float(stats.t.ppf((1 + confidence) / 2, df))
    g = t**2 * parts[1] / b**2
    if g >= 1:
        return Interval(ratio, -np.inf, np.inf)
    root = t / abs(b) * float(np.sqrt((1 - g) * parts[0] + ratio**2 * parts[1]))
    return Interval(ratio, float((ratio - root) / (1 - g)), float((ratio + root) / (1 - g)))


def paired_difference(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of the differences between observations that belong together: application and raw database, say.

    :raises ValueError: the samples differ in length, or have fewer than two observations
    """
    groups = check({'first': first, 'second': second})
    if groups.sizes[0] != groups.sizes[1]:
        raise ValueError('paired samples must have the same length')
    differences = groups.values[0] - groups.values[1]
    return mean(differences, confidence)


def mean(observations: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent observations, with Student's interval."""
    values = np.asarray(observations, dtype=np.float64)
    if len(values) < 2:
        raise ValueError(f'an interval needs two observations or more, but got {len(values)}')
    value = float(values.mean())
    reach = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * stats.sem(values))
    return Interval(value, value - reach, value + reach)


def _welch_error(variances: Values, sizes: Values) -> tuple[float, float]:
    """Standard error of a difference of two means and its degrees of freedom (Welch-Satterthwaite)."""
    parts = variances / sizes
    total = float(parts.sum())
    if total == 0:
        raise ValueError('neither sample varies, so that the difference has no interval')
    return float(np.sqrt(total)), total**2 / float((parts**2 / (sizes - 1)).sum())
