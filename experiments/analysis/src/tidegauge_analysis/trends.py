"""Exponents of a metric over the levels of a factor, with a slope for each unit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegauge_analysis.archive import Json
from tidegauge_analysis.contrasts import FEWEST_UNITS, NO_PRIOR, Contrast, power_slope, prior_of
from tidegauge_analysis.document import Estimate, Number
from tidegauge_analysis.numbers import Ledger
from tidegauge_analysis.units import (
    NOT_POSITIVE,
    ONE_DEPLOYMENT,
    BlockEffects,
    Observation,
    Unit,
    block_effects,
    prior_numbers,
)


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
    prior: tuple[Number, Number] | None = None

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

    def by_block(self, ledger: Ledger) -> BlockEffects:
        """The exponent of each block."""
        if self.contrast is None:
            return {}
        found: list[tuple[float, str, Json]] = [
            (value, 'exponent', {'levels': list(self.levels), 'units': [sets], 'prior': []})
            for value, sets in zip(self.contrast.units, self.sets(ledger), strict=True)
        ]
        return block_effects([unit[0][0].block for unit in self.units], found)

    def sets(self, ledger: Ledger) -> list[list[str]]:
        """The numbers of each level of each unit."""
        return [[ledger.set([one.number.id for one in level]) for level in unit] for unit in self.units]

    def _inputs(self, ledger: Ledger) -> Json:
        prior = [number.id for number in self.prior or ()]
        return {'levels': list(self.levels), 'units': self.sets(ledger), 'prior': prior}


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


def with_trend_priors(ledger: Ledger, trends: Sequence[Trend]) -> list[Trend]:
    """Moderate the variance of each slope by those of the others.

    :param trends: of one metric along one factor
    """
    known = [(one, one.contrast) for one in trends if one.contrast is not None]
    found = prior_of([contrast.units for _, contrast in known])
    if found == NO_PRIOR:
        return list(trends)
    given = [[list(one.levels), one.sets(ledger)] for one, _ in known]
    numbers = prior_numbers(ledger, found, 'prior_of_exponents', {'trends': given})
    return [
        one if one.contrast is None else replace(one, contrast=replace(one.contrast, prior=found), prior=numbers)
        for one in trends
    ]


def _slope(levels: Sequence[float], unit: Sequence[Unit]) -> float:
    means = [math.exp(sum(math.log(one.value) for one in level) / len(level)) for level in unit]
    return power_slope(levels, means)
