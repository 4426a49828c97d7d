"""Exponents of a metric over the levels of a factor, with a slope for each unit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge_analysis.archive import Json
from tidegauge_analysis.contrasts import FEWEST_UNITS, Contrast, power_slope
from tidegauge_analysis.document import Estimate, Number
from tidegauge_analysis.numbers import Ledger
from tidegauge_analysis.units import NOT_POSITIVE, ONE_DEPLOYMENT, Observation, Unit


@dataclass(frozen=True)
class Trend:
    """A slope for each deployment, or for each turn in which all levels were measured (a two-stage analysis).

    With the same levels in each unit, the mean slope and its error are those of a mixed model with random slopes.
    """

    levels: tuple[float, ...]
    units: tuple[tuple[Unit, ...], ...]
    """For each unit, the observations of each level."""
    contrast: Contrast | None
    reason: str = ''
    """Why there is no contrast."""

    def estimate(self, ledger: Ledger, confidence: float = 0.95) -> Estimate:
        """The mean exponent with its interval.

        :raises ValueError: there is no contrast
        """
        if self.contrast is None:
            raise ValueError(self.reason)
        return ledger.estimate(
            self.contrast.interval(confidence), '', 'mean_exponent', confidence, **self._inputs(ledger)
        )

    def numbers(self, ledger: Ledger) -> tuple[Number, Number] | None:
        """The mean exponent and its squared error, for pooling."""
        if self.contrast is None:
            return None
        given = self._inputs(ledger)
        return (
            ledger.add(self.contrast.value, '', 'exponent', what='value', **given),
            ledger.add(self.contrast.error**2, '', 'exponent', what='variance', **given),
        )

    def _inputs(self, ledger: Ledger) -> Json:
        units = [[ledger.set([one.number.id for one in level]) for level in unit] for unit in self.units]
        return {'levels': list(self.levels), 'units': units}


def trend_of(levels: Sequence[float], groups: Sequence[Sequence[Observation]]) -> Trend:
    """Fit an exponent in each unit that has all levels.

    :param levels: of each group, above 0
    """
    if any(one.value <= 0 for group in groups for one in group):
        return Trend(tuple(levels), (), None, NOT_POSITIVE)
    blocks = sorted(set.intersection(*({one.block for one in group} for group in groups)))
    units = [tuple(tuple(one for one in group if one.block == block) for group in groups) for block in blocks]
    if len(units) < FEWEST_UNITS:
        turns = sorted(set.intersection(*({(one.block, one.turn) for one in group} for group in groups)))
        units = [
            tuple(tuple(one for one in group if (one.block, one.turn) == turn) for group in groups) for turn in turns
        ]
    if len(units) < FEWEST_UNITS:
        return Trend(tuple(levels), (), None, ONE_DEPLOYMENT)
    try:
        contrast = Contrast(tuple(_slope(levels, unit) for unit in units))
    except ValueError as problem:
        return Trend(tuple(levels), tuple(units), None, str(problem))
    return Trend(tuple(levels), tuple(units), contrast)


def _slope(levels: Sequence[float], unit: Sequence[Unit]) -> float:
    means = [math.exp(sum(math.log(one.value) for one in level) / len(level)) for level in unit]
    return power_slope(levels, means)
