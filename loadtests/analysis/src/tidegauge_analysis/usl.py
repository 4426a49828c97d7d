"""The Universal Scalability Law (Gunther 2007, Guerrilla Capacity Planning), fitted with intervals.

Throughput of n nodes or threads: X(n) = gamma n / (1 + alpha (n - 1) + beta n (n - 1)). Here gamma is the throughput of
one, alpha the share of the work that is serial (contention), and beta the cost of exchange between each pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tidegauge_analysis.effects import Interval

BOOTSTRAPS = 1000
FEWEST_SIZES = 4
"""Sizes that a fit of three parameters needs, so that one is left to contradict it."""

EXACT = {'xtol': 1e-15, 'ftol': 1e-15, 'gtol': 1e-15}

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """Parameters of the law. `gamma` has the unit of the throughput."""

    alpha: float
    beta: float
    gamma: float

    def at(self, size: float) -> float:
        """Throughput of this many nodes or threads."""
        return self.gamma * size / (1 + self.alpha * (size - 1) + self.beta * size * (size - 1))

    @property
    def peak(self) -> float | None:
        """The size with the highest throughput; None: throughput rises without end."""
        if self.beta <= 0 or self.alpha >= 1:
            return None if self.beta <= 0 else 1.0
        return float(np.sqrt((1 - self.alpha) / self.beta))

    @property
    def limit(self) -> float | None:
        """Throughput that contention alone allows (Amdahl); None: there is no limit."""
        return self.gamma / self.alpha if self.alpha > 0 else None


@dataclass(frozen=True)
class ScalabilityFit:
    """A fitted law with intervals by bootstrap."""

    law: Law
    alpha: Interval
    beta: Interval
    gamma: Interval
    residual_error: float
    """Standard error of the residuals of the means, in the unit of the throughput."""
    largest: float
    """The largest measured size. Beyond it, a prediction is an extrapolation."""
    resampled: tuple[Law, ...]

    def predict(self, size: float, confidence: float = 0.95) -> Interval:
        """Throughput of this many nodes or threads, with the interval of the bootstrap."""
        return _interval(self.law.at(size), [law.at(size) for law in self.resampled], confidence)

    def is_extrapolation(self, size: float) -> bool:
        """Whether the size lies beyond those that were measured."""
        return size > self.largest

    def smallest_for(self, rate: float, most: int = 1000) -> int | None:
        """The smallest number of nodes whose lower bound reaches this rate; None: no number up to `most` does."""
        for size in range(1, most + 1):
            if self.predict(size).low >= rate:
                return size
            if self.law.peak is not None and size > self.law.peak:
                return None
        return None


def fit_law(sizes: Sequence[float], throughput: Sequence[float]) -> tuple[Law, float]:
    """Fit the law by least squares, with no parameter below 0.

    :return: the law, and the standard error of its residuals
    :raises ValueError: there are fewer than four sizes, or a value is not positive
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(throughput, dtype=np.float64)
    if len(set(x.tolist())) < FEWEST_SIZES or x.min() < 1 or y.min() <= 0:
        raise ValueError(f'the law needs {FEWEST_SIZES} sizes from 1 on, with positive throughput')
    found = _fit(x, y)
    rest = y - np.array([found.at(size) for size in x])
    return found, float(np.sqrt((rest**2).sum() / (len(x) - 3)))


def fit_scalability(
    sizes: Sequence[float], groups: Sequence[Sequence[float]], *, confidence: float = 0.95, seed: int = 1
) -> ScalabilityFit:
    """Fit the law to the means of groups of runs. Intervals are by a bootstrap of the runs within each size.

    :param sizes: nodes or threads of each group
    :param groups: throughput of the runs of each size, at least two of each
    :raises ValueError: as for `fit_law`, or a group has fewer than two runs
    """
    if min((len(group) for group in groups), default=0) < 2:
        raise ValueError('each size needs two runs or more')
    x = np.asarray(sizes, dtype=np.float64)
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    law, error = fit_law(sizes, [float(group.mean()) for group in arrays])
    draws = np.random.default_rng(seed)
    resampled = tuple(
        _fit(x, np.array([draws.choice(group, len(group)).mean() for group in arrays]), law) for _ in range(BOOTSTRAPS)
    )
    parts = {
        name: _interval(getattr(law, name), [getattr(one, name) for one in resampled], confidence)
        for name in ('alpha', 'beta', 'gamma')
    }
    return ScalabilityFit(law, **parts, residual_error=error, largest=float(x.max()), resampled=resampled)


def _fit(x: Values, y: Values, start: Law | None = None) -> Law:
    scale = float(y.max())
    first = float((y / x).max())

    def residuals(parameters: Values) -> Values:
        alpha, beta, gamma = parameters
        result: Values = (gamma * first * x / (1 + alpha * (x - 1) + beta * x * (x - 1)) - y) / scale
        return result

    guess = [0.05, 0.001, 1.0] if start is None else [start.alpha, start.beta, start.gamma / first]
    low, high = [0.0, 0.0, 1e-9], [np.inf, np.inf, np.inf]
    guess = [max(value, 1e-9) for value in guess]
    found = least_squares(residuals, guess, bounds=(low, high), x_scale=[0.01, 0.0001, 1.0], **EXACT)
    alpha, beta, gamma = (float(value) for value in found.x)
    return Law(alpha, beta, gamma * first)


def _interval(value: float, resampled: Sequence[float], confidence: float) -> Interval:
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(value, float(low), float(high))
