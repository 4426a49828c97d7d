"""Series of trials or operations: dependence between neighbours, warm-up, and whether a steady state exists."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tidegauge_analysis.effects import Values

ENOUGH_BATCHES = 4
"""The variance of fewer batch means is too uncertain."""

SHORTEST_CLASSIFIED = 10
"""A shorter series gives no evidence of a trend."""


def lag_one(series: ArrayLike) -> float:
    """Autocorrelation of neighbours, as NIST's StRD defines it; NaN where the series does not vary."""
    centred = _centred(series)
    total = float((centred**2).sum())
    return float((centred[1:] * centred[:-1]).sum()) / total if total > 0 else float('nan')


def effective_size(series: ArrayLike) -> float:
    """Number of independent observations whose mean would be as exact as the mean of this series.

    Neighbours are merged into batches of 1, 2, 4, … observations. The variance of batch means, relative to that of
    observations, gives the autocorrelation time at each length; the largest counts, until batches are five times
    longer than it (as in latte, https://github.com/pkolaczk/latte). For a series with autoregression φ of order one,
    the result tends to n (1 - φ) / (1 + φ).

    :raises ValueError: the series has fewer than two observations
    """
    centred = _centred(series)
    variance = float((centred**2).sum()) / (len(centred) - 1)
    if variance == 0:
        return float(len(centred))
    time, length, means = 1.0, 1, centred
    while len(means) >= 2 * ENOUGH_BATCHES:
        pairs = len(means) // 2
        means = means[: 2 * pairs].reshape(pairs, 2).mean(axis=1)
        length *= 2
        time = max(time, length * float(means.var(ddof=1)) / variance)
        if time <= 0.2 * length:
            break
    return len(centred) / time


def mser(series: ArrayLike, batch: int = 5) -> int | None:
    """Find how many observations at the start are warm-up, by the marginal standard error rule (MSER-5).

    The cut minimises the estimated squared error of the mean of the rest. A minimum in the second half means that
    the series has no steady state to cut to: the result is then None. Source: White 1997, Simulation 69; Franklin
    and White 2008, Winter Simulation Conference.

    :param batch: observations per batch; 5 in the original, 1 for a series of few trials
    :raises ValueError: the series has fewer than two batches
    """
    values = np.asarray(series, dtype=np.float64)
    count = len(values) // batch
    if count < 2:
        raise ValueError(f'{len(values)} observations are fewer than two batches of {batch}')
    means = values[: count * batch].reshape(count, batch).mean(axis=1)
    # Suffix sums of centred values: the statistic of every cut in one pass.
    centred = means - means.mean()
    sizes = np.arange(count, 0, -1)
    sums = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum((centred**2)[::-1])[::-1]
    statistic = (squares - sums**2 / sizes) / sizes**2
    # The last cuts leave so few batches that they are alike by chance.
    candidates = statistic[: max(1, count - ENOUGH_BATCHES)]
    cut = int(np.argmin(candidates))
    return None if cut > count // 2 else cut * batch


class Shape(StrEnum):
    """How a series goes on from its start to its end."""

    FLAT = 'flat'
    WARMING = 'warming'
    SLOWING = 'slowing'
    OSCILLATING = 'oscillating'
    UNSTEADY = 'no steady state'


@dataclass(frozen=True)
class Classification:
    """The shape of a series and the evidence for it."""

    shape: Shape
    warm_up: int
    """Observations of a series that warms or slows before its steady part; 0 for other shapes."""
    lag_one: float
    """Autocorrelation of neighbours in the steady part, or in the whole series."""
    change: float
    """Mean of the start relative to that of the steady part, minus one; without a steady state, the drift."""


def classify(series: ArrayLike, *, higher_is_better: bool, margin: float = 0.05, alpha: float = 0.01) -> Classification:
    """Classify a series of trials: its performance is steady, improves, worsens, alternates or never settles.

    - oscillating: neighbours differ systematically, with a negative autocorrelation beyond chance
    - no steady state: MSER finds no cut in the first half, or the part behind the cut has a trend beyond chance that
      moves it by more than the margin
    - warming, slowing: the part before the cut is worse, or better, than the rest by more than the margin
    - flat: none of these

    :param margin: relative change of the mean that matters
    :raises ValueError: the series has fewer than ten observations, or its mean is zero
    """
    values = np.asarray(series, dtype=np.float64)
    if len(values) < SHORTEST_CLASSIFIED:
        raise ValueError(f'a series of {len(values)} is too short to classify: {SHORTEST_CLASSIFIED} are needed')
    if values.mean() == 0:
        raise ValueError('the mean of the series is zero: there are no relative changes')
    cut = mser(values, 1 if len(values) < 20 * ENOUGH_BATCHES else 5)
    if cut is None:
        return Classification(Shape.UNSTEADY, 0, lag_one(values), _drift(values)[0])
    steady = values[cut:]
    neighbours = lag_one(steady)
    drift, p = _drift(steady)
    if abs(drift) > margin and p < alpha:
        return Classification(Shape.UNSTEADY, 0, neighbours, drift)
    change = float(values[:cut].mean() / steady.mean()) - 1 if cut > 0 else 0.0
    shape = Shape.FLAT
    if abs(change) > margin:
        shape = Shape.WARMING if (change < 0) == higher_is_better else Shape.SLOWING
    # Bartlett: the autocorrelation of independent observations has variance 1 / n.
    elif neighbours < -float(stats.norm.ppf(1 - alpha / 2)) / len(steady) ** 0.5:
        shape = Shape.OSCILLATING
    return Classification(shape, cut if abs(change) > margin else 0, neighbours, change)


def _drift(values: Values) -> tuple[float, float]:
    """Change of the fitted line over the series, relative to the mean, and the p value of its slope.

    The standard error is widened for the dependence of the residuals.
    """
    index = np.arange(len(values))
    line = stats.linregress(index, values)
    residuals = values - line.intercept - line.slope * index
    change = float(line.slope) * (len(values) - 1) / float(values.mean())
    if not residuals.any():
        return change, 0.0 if line.slope else 1.0
    size = max(effective_size(residuals), 3.0)
    error = float(line.stderr) * (len(values) / size) ** 0.5
    return change, float(2 * stats.t.sf(abs(line.slope) / error, size - 2)) if error > 0 else 0.0


def _centred(series: ArrayLike) -> Values:
    values = np.asarray(series, dtype=np.float64)
    if len(values) < 2:
        raise ValueError(f'a series needs two observations or more, but has {len(values)}')
    centred: Values = values - values.mean()
    return centred
