"""Quantiles of merged operations. Percentiles of runs are never averaged."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tidegauge_analysis.effects import Interval


def quantile(
    operations: Iterable[ArrayLike], at: float, confidence: float = 0.95, size: float | None = None
) -> Interval:
    """Compute a quantile over the operations of all runs, with its order-statistics interval.

    The value is the smallest observation that at least this share of observations does not exceed. The bounds are
    observations too, by the binomial distribution of the number of observations below the quantile (Conover, Practical
    Nonparametric Statistics, section 3.2); a bound is infinite where too few observations lie beyond the quantile.

    :param operations: latencies of each run, in any unit
    :param at: between 0 and 1, both excluded
    :param size: effective number of observations, where they depend on each other; default: all
    :raises ValueError: there is no observation, or `at` or `size` is out of its range
    """
    merged = np.sort(np.concatenate([np.asarray(run, dtype=np.float64) for run in operations]))
    total = len(merged)
    if total == 0:
        raise ValueError('a quantile needs an observation')
    if not 0 < at < 1:
        raise ValueError(f'a quantile lies between 0 and 1, but {at} does not')
    independent = float(total) if size is None else size
    if not 1 <= independent <= total:
        raise ValueError(f'the effective size lies between 1 and {total}, but {size} does not')
    rank = max(1, math.ceil(total * at))
    # Ranks of independent observations, stretched to the observations that there are.
    tail, count = (1 - confidence) / 2, round(independent)
    stretch = total / count
    low = min(rank, math.floor(float(stats.binom.ppf(tail, count, at)) * stretch))
    high = max(rank, math.ceil((float(stats.binom.ppf(1 - tail, count, at)) + 1) * stretch))
    return Interval(
        float(merged[rank - 1]),
        float(merged[low - 1]) if low >= 1 else -math.inf,
        float(merged[high - 1]) if high <= total else math.inf,
    )
