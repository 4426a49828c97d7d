"""Numbers of one group of values: mean, median, spread and dependence, each with its address."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidegauge_analysis.document import Estimate, Number
from tidegauge_analysis.effects import Interval, geometric_mean, mean
from tidegauge_analysis.numbers import Ledger, missing, no_estimate
from tidegauge_analysis.quantiles import quantile
from tidegauge_analysis.series import effective_size, lag_one


@dataclass(frozen=True)
class Sample:
    """Numbers of one kind: a metric of the runs of a group."""

    numbers: tuple[Number, ...]
    """Each has a value."""
    unit: str
    ledger: Ledger

    @property
    def values(self) -> list[float]:
        """Values, in order."""
        return [number.value for number in self.numbers if number.value is not None]

    @property
    def name(self) -> str:
        """Name of the set of these numbers, for use as an input."""
        return self.ledger.set([number.id for number in self.numbers])

    def add(self, value: float | None, formula: str, reason: str = '', **inputs: object) -> Number:
        """Register a number that a formula makes from this sample, in the same unit."""
        return self.ledger.add(value, self.unit, formula, reason, of=self.name, **inputs)

    def mean(self, confidence: float = 0.95) -> Estimate:
        """Geometric mean with Student's interval of the logarithms; arithmetic, where a value is not positive."""
        if not self.numbers:
            return no_estimate(self.unit, 'there is no run')
        make, formula = (geometric_mean, 'geometric_mean') if min(self.values) > 0 else (mean, 'mean')
        alone = Interval(self.values[0], -math.inf, math.inf)
        interval = make(self.values, confidence) if len(self.numbers) > 1 else alone
        why = 'a single run has no interval'
        return self.ledger.estimate(interval, self.unit, formula, confidence, why, of=self.name)

    def median(self, confidence: float = 0.95) -> Estimate:
        """Median with the interval of order statistics."""
        if not self.numbers:
            return no_estimate(self.unit, 'there is no run')
        bounds = quantile([self.values], 0.5, confidence)
        interval = Interval(float(np.median(self.values)), bounds.low, bounds.high)
        why = f'{len(self.numbers)} runs are too few for an interval of the median'
        return self.ledger.estimate(interval, self.unit, 'median', confidence, why, of=self.name)

    def sd(self) -> Number:
        """Standard deviation."""
        value = float(np.std(self.values, ddof=1)) if len(self.numbers) > 1 else None
        return self.add(value, 'sd', 'a single run has no spread')

    def quartile(self, at: float) -> Number:
        """Quartile by linear interpolation (R's type 7)."""
        return self.add(float(np.quantile(self.values, at)) if self.numbers else None, 'quartile', 'no runs', at=at)

    def minimum(self) -> Number:
        """Smallest value."""
        return self.add(min(self.values, default=None), 'minimum', 'there is no run')

    def maximum(self) -> Number:
        """Largest value."""
        return self.add(max(self.values, default=None), 'maximum', 'there is no run')

    def lag_one(self) -> Number:
        """Autocorrelation of neighbours."""
        if len(self.numbers) < 3:
            return missing('', 'fewer than three runs')
        return self.ledger.add(lag_one(self.values), '', 'lag_one', 'the runs do not vary', of=self.name)

    def effective_size(self) -> Number:
        """Number of independent runs whose mean would be as exact."""
        if len(self.numbers) < 2:
            return missing('runs', 'fewer than two runs')
        return self.ledger.add(effective_size(self.values), 'runs', 'effective_size', of=self.name)


def sample_of(numbers: Sequence[Number], unit: str, ledger: Ledger) -> Sample:
    """Make a sample of the numbers that have a value."""
    return Sample(tuple(number for number in numbers if number.value is not None), unit, ledger)
