"""A value between its bounds, and the mean of independent observations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A value between its bounds; a bound is infinite where the data does not limit the value on that side."""

    value: float
    low: float
    high: float


def mean(observations: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent observations, with Student's interval.

    :raises ValueError: fewer than two observations
    """
    values = np.asarray(observations, dtype=np.float64)
    if len(values) < 2:
        raise ValueError(f'an interval needs two observations or more, but got {len(values)}')
    value = float(values.mean())
    reach = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * stats.sem(values))
    return Interval(value, value - reach, value + reach)


def geometric_mean(observations: ArrayLike, confidence: float = 0.95) -> Interval:
    """Geometric mean of independent positive observations, with Student's interval of their logarithms.

    :raises ValueError: fewer than two observations, or one that is not positive
    """
    values = np.asarray(observations, dtype=np.float64)
    if len(values) and values.min() <= 0:
        raise ValueError('an observation is not positive, so that it has no logarithm')
    found = mean(np.log(values), confidence)
    return Interval(*(float(np.exp(each)) for each in (found.value, found.low, found.high)))
