"""Comparisons on the scale of logarithms: ratios, three verdicts, and what several comparisons show together.

The unit of a comparison is what was randomised. Trials of one deployment are no independent observations of a store;
runs that took turns are compared with each other. A contrast has one value for each unit: the mean logarithm of the
first group minus that of the second.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from tidegauge_analysis.effects import Interval, Values

FEWEST_UNITS = 3
"""Fewer show next to nothing about their variance: there is no interval."""

FEWEST_POOLED = 4
"""Contrasts from which the variance of one is estimated with the help of the others."""

NORMAL_95 = 1.6448536269514722
"""95 % quantile of the normal distribution."""

MOST_UNITS = 1000
POWER = 0.8


@dataclass(frozen=True)
class Prior:
    """What other contrasts of the same kind show about the variance of one: a scaled inverse chi-squared variable."""

    df: float
    variance: float


NO_PRIOR = Prior(0.0, 0.0)


def prior_of(contrasts: Sequence[ArrayLike]) -> Prior:
    """Estimate the prior from the variances of several contrasts by the moments of their logarithms.

    Source: Smyth 2004, Statistical Applications in Genetics and Molecular Biology 3, section 6.2. Two things keep
    decisions at a level of a thousandth as seldom false as claimed, with four contrasts and with sides that several of
    them share: the spread of the logarithms is its upper limit of 95 %, and the variance at least the mean one. The
    degrees of freedom are at most those of all contrasts together.

    :param contrasts: the units of each
    """
    kept = [values for values in (np.asarray(each, dtype=np.float64) for each in contrasts) if _varies(values)]
    if len(kept) < FEWEST_POOLED:
        return NO_PRIOR
    df = np.array([len(values) - 1 for values in kept], dtype=np.float64)
    variances = np.array([values.var(ddof=1) for values in kept])
    logs = np.log(variances) - digamma(df / 2) + np.log(df / 2)
    excess = float(logs.var(ddof=1) / _least_share(len(kept) - 1) - polygamma(1, df / 2).mean())
    most = float(variances.mean())
    if excess <= 0:
        return Prior(float(df.sum()), most)
    half = _inverse_trigamma(excess)
    return Prior(min(float(df.sum()), 2 * half), max(most, math.exp(float(logs.mean() + digamma(half))) / half))


def _least_share(df: int) -> float:
    """The 5 % quantile of a chi-squared variable over its degrees of freedom (Wilson and Hilferty 1931)."""
    return float((1 - 2 / (9 * df) - NORMAL_95 * math.sqrt(2 / (9 * df))) ** 3)


def _varies(values: Values) -> bool:
    return len(values) > 1 and float(np.ptp(values)) > 0


def _inverse_trigamma(value: float) -> float:
    """Where the trigamma function, which falls from infinity to 0, has this value."""
    low, high = 1.0, 1.0
    while polygamma(1, low) < value:
        low /= 2
    while polygamma(1, high) > value:
        high *= 2
    return (
        float(brentq(lambda x: float(polygamma(1, x)) - value, low, high, xtol=1e-14, rtol=1e-13))
        if low < high
        else low
    )


class Decision(StrEnum):
    """What a contrast shows about two groups."""

    DIFFERENT = 'different'
    EQUIVALENT = 'equivalent'
    UNDECIDED = 'undecided'


@dataclass(frozen=True)
class Contrast:
    """The units of a comparison, as logarithms of ratios. Its mean has Student's t distribution.

    :raises ValueError: too few units, or they do not vary
    """

    units: tuple[float, ...]
    prior: Prior = NO_PRIOR

    def __post_init__(self) -> None:
        """Check the units."""
        if len(self.units) < FEWEST_UNITS:
            raise ValueError(f'{len(self.units)} of {FEWEST_UNITS} observations that an interval needs')
        if not self.variance > 0:
            raise ValueError('the observations do not vary')

    @property
    def value(self) -> float:
        """Mean of the units."""
        return float(np.mean(self.units))

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.prior.df + len(self.units) - 1

    @cached_property
    def variance(self) -> float:
        """Variance of a unit, moderated by the prior (Smyth 2004, section 3)."""
        own = len(self.units) - 1
        squares = self.prior.df * self.prior.variance + own * float(np.var(self.units, ddof=1))
        return squares / (self.prior.df + own)

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return math.sqrt(self.variance / len(self.units))

    @property
    def p(self) -> float:
        """Chance of a mean as far from zero, or further, if the true one is zero."""
        return _p(self.value, self.error, self.df)

    def interval(self, confidence: float) -> Interval:
        """The mean between its bounds."""
        return _interval(self.value, self.error, self.df, confidence)


def decide(contrast: 'Contrast | Pooled', margin: float, alpha: float, p: float | None = None) -> Decision:
    """Decide on two groups.

    - equivalent: two one-sided tests at `alpha` put the ratio within the margin (Schuirmann 1987, Journal of
      Pharmacokinetics and Biopharmaceutics 15). This holds also for a difference that is real, but too small to matter.
    - different: otherwise, if p is below `alpha`
    - undecided: otherwise

    :param margin: largest difference that does not matter, as a share: ratios from 1 / (1 + margin) to 1 + margin
    :param p: adjusted for other comparisons; None: that of this one
    """
    narrow = contrast.interval(1 - 2 * alpha)
    reach = math.log1p(margin)
    if -reach < narrow.low and narrow.high < reach:
        return Decision.EQUIVALENT
    return Decision.DIFFERENT if (contrast.p if p is None else p) < alpha else Decision.UNDECIDED


def further_units(contrast: Contrast, margin: float, alpha: float, comparisons: int = 1) -> int | None:
    """Further units that would decide with 80 % power, if mean and variance stay as they are.

    :param comparisons: the proof of a difference is held to `alpha` over all of them
    :return: None where more than a thousand units would be needed: the ratio then lies on the margin
    """
    apart = abs(contrast.value)
    counts = np.arange(FEWEST_UNITS, MOST_UNITS + 1)
    df = contrast.prior.df + counts - 1
    error = np.sqrt(contrast.variance / counts)
    # Both one-sided tests must succeed; where the ratio is 1, each may fail with half the chance.
    missed = (1 - POWER) / 2 if apart == 0 else 1 - POWER
    proofs = (
        (apart, alpha / comparisons / 2, 1 - POWER),
        (math.log1p(margin) - apart, alpha, missed),
    )
    found = []
    for distance, tail, beta in proofs:
        enough = (stats.t.ppf(1 - tail, df) + stats.t.ppf(1 - beta, df)) * error <= distance
        if distance > 0 and enough.any():
            found.append(int(counts[np.argmax(enough)]))
    return max(1, min(found) - len(contrast.units)) if found else None


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values so that the chance of any error is held (Holm 1979, Scandinavian Journal of Statistics 6)."""
    adjusted, largest = [0.0] * len(p), 0.0
    for place, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, p[index] * (len(p) - place)))
        adjusted[index] = largest
    return adjusted


@dataclass(frozen=True)
class Pooled:
    """The mean effect over several conditions that differ at random. It has Student's t distribution."""

    value: float
    error: float
    df: float
    tau_squared: float
    """Variance of the true effects between conditions."""

    @property
    def p(self) -> float:
        """As for a contrast."""
        return _p(self.value, self.error, self.df)

    def interval(self, confidence: float) -> Interval:
        """The mean between its bounds."""
        return _interval(self.value, self.error, self.df, confidence)


def pool(effects: ArrayLike, variances: ArrayLike) -> Pooled:
    """Pool effects by a random-effects model, fitted by restricted maximum likelihood (REML).

    Sources: Viechtbauer 2005, Journal of Educational and Behavioral Statistics 30; for the error Knapp and Hartung
    2003, Statistics in Medicine 22, never below that of the model (Röver, Knapp and Friede 2015, BMC Medical Research
    Methodology 15).

    :param variances: squared standard error of each effect, above 0
    :raises ValueError: fewer than two effects
    """
    y, v = np.asarray(effects, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if len(y) < 2:
        raise ValueError('a single condition has nothing to be pooled with')

    def centre(tau: float) -> tuple[Values, float]:
        weights = 1 / (v + tau)
        return weights, float((weights * y).sum() / weights.sum())

    def score(tau: float) -> float:
        weights, mu = centre(tau)
        squares = weights**2
        return float((squares * (y - mu) ** 2).sum() - weights.sum() + squares.sum() / weights.sum())

    tau = 0.0
    if score(0.0) > 0:
        high = float(y.var(ddof=1))
        while score(high) > 0:
            high *= 2
        tau = float(brentq(score, 0.0, high, xtol=1e-15, rtol=1e-14))
    weights, mu = centre(tau)
    spread = float((weights * (y - mu) ** 2).sum()) / (len(y) - 1)
    return Pooled(mu, math.sqrt(max(1.0, spread) / float(weights.sum())), len(y) - 1.0, tau)


def pool_blocks(units: ArrayLike) -> Pooled:
    """Pool effects that were measured in the same blocks, which each have a luck that all conditions share.

    A two-way layout, conditions and blocks both random, without replication: the error of the grand mean has the mean
    squares of conditions and blocks less that of the rest, and is never below either of them. Sources: Searle, Casella
    and McCulloch 1992, Variance Components, chapter 4; degrees of freedom by Satterthwaite 1946, Biometrics Bulletin 2.

    :param units: one row for each condition, one column for each block; they vary
    :raises ValueError: fewer than two conditions or blocks
    """
    y = np.asarray(units, dtype=np.float64)
    count, blocks = y.shape
    if min(count, blocks) < 2:
        raise ValueError('a single condition or block has nothing to be pooled with')
    between, luck, rest = mean_squares(y)
    total = between + luck - rest
    df = total**2 / (between**2 / (count - 1) + luck**2 / (blocks - 1) + rest**2 / ((count - 1) * (blocks - 1)))
    error = math.sqrt(max(total, between, luck) / y.size)
    return Pooled(float(y.mean()), error, max(1.0, df), max(0.0, (between - rest) / blocks))


def mean_squares(y: Values) -> tuple[float, float, float]:
    """The mean squares of a two-way layout: of its rows, of its columns, and of the rest."""
    count, blocks = y.shape
    rows, columns = y.mean(axis=1), y.mean(axis=0)
    rest = float(((y - rows[:, None] - columns + y.mean()) ** 2).sum()) / ((count - 1) * (blocks - 1))
    return blocks * float(rows.var(ddof=1)), count * float(columns.var(ddof=1)), rest


def power_slope(levels: Sequence[float], values: Sequence[float]) -> float:
    """Exponent of value = constant x level^exponent, by least squares of logarithms.

    :param levels: above 0, at least two different ones
    """
    x, y = np.log(levels), np.log(values)
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def _p(value: float, error: float, df: float) -> float:
    """The p of Student's test that a value with this standard error is zero."""
    return float(2 * stats.t.sf(abs(value) / error, df))


def _interval(value: float, error: float, df: float, confidence: float) -> Interval:
    """Student's interval of a value with this standard error."""
    reach = float(stats.t.ppf((1 + confidence) / 2, df)) * error
    return Interval(value, value - reach, value + reach)
