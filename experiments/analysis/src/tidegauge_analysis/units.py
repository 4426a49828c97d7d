"""The units of a comparison: what two groups have in common, deployment by deployment or turn by turn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from tidegauge_analysis.archive import Json, Run
from tidegauge_analysis.contrasts import FEWEST_UNITS, NO_PRIOR, Contrast, Decision, Prior, prior_of
from tidegauge_analysis.document import Combination, Estimate, Number
from tidegauge_analysis.effects import Interval, geometric_mean, mean
from tidegauge_analysis.numbers import Ledger, no_estimate
from tidegauge_analysis.series import effective_size, lag_one

DEPLOYMENT, TRIAL = 'deployment', 'trial'

ONE_DEPLOYMENT = (
    f'fewer than {FEWEST_UNITS} deployments have both, and no {FEWEST_UNITS} trials took turns: nothing shows how much '
    'deployments differ'
)
NOT_POSITIVE = 'a value is not positive, so that there is no ratio'
FEWEST_DEPENDENT = 8
DEPENDENT = 0.7
"""Trials count as dependent on their neighbours when their effective number is below this share of their number."""


@dataclass(frozen=True)
class Observation:
    """A run, or the load of a table, with the value of a metric."""

    factors: Combination
    block: int
    """Repetition of the deployment. Each block has all combinations."""
    turn: str
    """Runs of a block with the same text took turns, or followed each other in random order."""
    number: Number
    run: Run | None = None

    @property
    def value(self) -> float:
        """The value of the metric."""
        return self.number.value if self.number.value is not None else math.nan


Unit = tuple[Observation, ...]
BlockEffects = dict[int, tuple[float, str, Json]]
"""The effect of each block, with the formula that computes it and its inputs. Empty where a block has several units."""


def block_effects(blocks: Sequence[int], effects: Sequence[tuple[float, str, Json]]) -> BlockEffects:
    """The effects by block."""
    return dict(zip(blocks, effects, strict=True)) if len(set(blocks)) == len(blocks) else {}


@dataclass(frozen=True)
class Comparison:
    """Two groups by their common units."""

    first: tuple[Unit, ...]
    second: tuple[Unit, ...]
    kind: str
    """What a unit is: `deployment` or `trial`."""
    in_turns: bool
    """Whether the runs that are compared took turns within their deployment."""
    contrast: Contrast | None
    reason: str = ''
    """Why there is no contrast."""
    prior: tuple[Number, Number] | None = None

    def inputs(self, ledger: Ledger) -> Json:
        """What the formulas of `recompute.py` need: the numbers of each unit."""
        first, second = (_sets(units, ledger) for units in (self.first, self.second))
        return {'first': first, 'second': second, 'prior': [number.id for number in self.prior or ()]}

    def by_block(self, ledger: Ledger) -> BlockEffects:
        """The logarithm of the ratio of each block."""
        if self.contrast is None:
            return {}
        sets = (_sets(units, ledger) for units in (self.first, self.second))
        given = [{'first': [x], 'second': [y], 'prior': []} for x, y in zip(*sets, strict=True)]
        found = [(value, 'log_ratio', one) for value, one in zip(self.contrast.units, given, strict=True)]
        return block_effects([unit[0].block for unit in self.first], found)

    def ratio(self, ledger: Ledger, confidence: float = 0.95) -> Estimate:
        """Ratio of the geometric means with its interval, or without one where there are too few units."""
        if not self.first or _is_not_positive(self.first, self.second):
            return no_estimate('', NOT_POSITIVE if self.first else self.reason or ONE_DEPLOYMENT, confidence)
        found = Interval(float(np.mean(logs_of(self.first, self.second))), -math.inf, math.inf)
        if self.contrast is not None:
            found = self.contrast.interval(confidence)
        inputs = self.inputs(ledger)
        return ledger.estimate(_exponential(found), '', 'ratio', confidence, self.reason, **inputs)

    def difference(self, unit: str, ledger: Ledger, confidence: float = 0.95) -> Estimate:
        """Mean difference over the units, with Student's interval."""
        if not self.first:
            return no_estimate(unit, self.reason or ONE_DEPLOYMENT, confidence)
        values = [
            float(np.mean([one.value for one in x]) - np.mean([one.value for one in y]))
            for x, y in zip(self.first, self.second, strict=True)
        ]
        found = Interval(float(np.mean(values)), -math.inf, math.inf)
        if len(values) >= FEWEST_UNITS and np.ptp(values) > 0:
            found = mean(values, confidence)
        inputs = self.inputs(ledger)
        del inputs['prior']
        return ledger.estimate(found, unit, 'mean_difference', confidence, self.reason or 'it does not vary', **inputs)


def compare(first: Sequence[Observation], second: Sequence[Observation]) -> Comparison:
    """Compare two groups by the blocks that have both.

    Within a block, runs of the same turn are compared with each other; without any, all runs of the block are. From
    three blocks on, a block is a unit. With fewer, each turn is one: the result then holds for these deployments.
    """
    pairs: list[tuple[Unit, Unit]] = []
    turns: list[tuple[Unit, Unit]] = []
    in_turns = True
    for block in sorted({one.block for one in first} & {one.block for one in second}):
        x, y = ([one for one in group if one.block == block] for group in (first, second))
        common = list(dict.fromkeys(one.turn for one in x if one.turn in {other.turn for other in y}))
        if common:
            x, y = ([one for one in group if one.turn in common] for group in (x, y))
            turns += [(_of_turn(x, turn), _of_turn(y, turn)) for turn in common]
        else:
            in_turns = False
        pairs.append((tuple(x), tuple(y)))
    kind = DEPLOYMENT
    if len(pairs) < FEWEST_UNITS and in_turns and len(turns) >= FEWEST_UNITS:
        kind, pairs = TRIAL, _independent(turns)
    return _comparison(pairs, kind, in_turns=in_turns and bool(pairs))


def unpaired(first: Sequence[float], second: Sequence[float], confidence: float) -> tuple[Interval, float]:
    """Ratio of the geometric means of two independent samples, with Welch's interval of the logarithms, and p.

    With fewer than three values of a sample, or where neither varies, the bounds are infinite and p is NaN.

    :raises ValueError: there is no value, or one is not positive
    """
    if not first or not second:
        raise ValueError('there is no value')
    if min(*first, *second) <= 0:
        raise ValueError(NOT_POSITIVE)
    x, y = np.log(first), np.log(second)
    found = Interval(float(x.mean() - y.mean()), -math.inf, math.inf)
    if min(len(x), len(y)) < FEWEST_UNITS or np.ptp(x) + np.ptp(y) == 0:
        return _exponential(found), math.nan
    test = stats.ttest_ind(x, y, equal_var=False)
    bounds = test.confidence_interval(confidence)
    return _exponential(Interval(found.value, float(bounds.low), float(bounds.high))), float(test.pvalue)


def judge_unpaired(
    first: Sequence[float], second: Sequence[float], margin: float, alpha: float
) -> tuple[Interval, str]:
    """The ratio of two independent samples, its interval, and the verdict as of `decide`; `none` without an interval.

    :raises ValueError: as for `unpaired`
    """
    wide, p = unpaired(first, second, 1 - alpha)
    if math.isnan(p):
        return wide, 'none'
    narrow, _ = unpaired(first, second, 1 - 2 * alpha)
    if 1 / (1 + margin) < narrow.low and narrow.high < 1 + margin:
        return wide, str(Decision.EQUIVALENT)
    return wide, str(Decision.DIFFERENT if p < alpha else Decision.UNDECIDED)


def with_priors(ledger: Ledger, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Moderate the variance of each comparison by those of the others, which must be of the same kind.

    :param comparisons: of one metric: of the same two levels under several conditions, or of one claim
    """
    alike: dict[str, list[Comparison]] = {}
    for one in comparisons:
        if one.contrast is not None:
            alike.setdefault(one.kind, []).append(one)
    priors = {kind: _prior(ledger, members) for kind, members in alike.items()}
    return [_moderated(one, priors.get(one.kind)) for one in comparisons]


def prior_numbers(ledger: Ledger, prior: Prior, formula: str, given: Json) -> tuple[Number, Number]:
    """The degrees of freedom and the variance of a prior, with what recomputes them."""
    return (
        ledger.add(prior.df, '', formula, what='df', **given),
        ledger.add(prior.variance, '', formula, what='variance', **given),
    )


def logs_of(first: Sequence[Unit], second: Sequence[Unit]) -> list[float]:
    """The logarithm of the ratio of each unit."""
    return [
        float(np.mean(np.log([one.value for one in x])) - np.mean(np.log([one.value for one in y])))
        for x, y in zip(first, second, strict=True)
    ]


def mean_of(observations: Sequence[Observation], unit: str, ledger: Ledger, confidence: float = 0.95) -> Estimate:
    """Geometric mean of a group; arithmetic, where a value is not positive.

    Deployments are the units of its interval if there are three or more, else runs are.
    """
    if not observations:
        return no_estimate(unit, 'there is no run', confidence)
    units = units_of(observations)
    given: Json = {'of': _sets(units, ledger)}
    why = f'{len(units)} of {FEWEST_UNITS} observations that an interval needs'
    values = [[one.value for one in each] for each in units]
    positive = min(min(each) for each in values) > 0
    centres = [float(np.exp(np.mean(np.log(each))) if positive else np.mean(each)) for each in values]
    formula = 'geometric_mean' if positive else 'mean_of_units'
    if len(units) < FEWEST_UNITS:
        value = float(np.exp(np.mean(np.log(centres))) if positive else np.mean(centres))
        return ledger.estimate(Interval(value, -math.inf, math.inf), unit, formula, confidence, why, **given)
    found = geometric_mean(centres, confidence) if positive else mean(centres, confidence)
    return ledger.estimate(found, unit, formula, confidence, why, **given)


def units_of(observations: Sequence[Observation]) -> tuple[Unit, ...]:
    """Deployments, if there are three or more; else runs."""
    blocks = sorted({one.block for one in observations})
    if len(blocks) < FEWEST_UNITS:
        return tuple((one,) for one in observations)
    return tuple(tuple(one for one in observations if one.block == block) for block in blocks)


def _of_turn(group: Sequence[Observation], turn: str) -> Unit:
    return tuple(one for one in group if one.turn == turn)


def _independent(turns: list[tuple[Unit, Unit]]) -> list[tuple[Unit, Unit]]:
    """Merge neighbours where they are shown to depend on each other, so that units are about independent."""
    values = [(x, y) for x, y in turns if not _is_not_positive((x,), (y,))]
    if len(values) < FEWEST_DEPENDENT or len(values) < len(turns):
        return turns
    logs = logs_of([x for x, _ in turns], [y for _, y in turns])
    size = effective_size(logs)
    # Bartlett: chance alone exceeds this in one of twenty series.
    if size >= DEPENDENT * len(logs) or not lag_one(logs) > 1.645 / math.sqrt(len(logs)):
        return turns
    length = math.ceil(len(logs) / size)
    merged = [turns[at : at + length] for at in range(0, len(turns) - length + 1, length)]
    if len(merged) < FEWEST_UNITS:
        return turns
    return [(sum((x for x, _ in part), ()), sum((y for _, y in part), ())) for part in merged]


def _comparison(pairs: Sequence[tuple[Unit, Unit]], kind: str, *, in_turns: bool) -> Comparison:
    first, second = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    contrast, reason = None, ONE_DEPLOYMENT
    if pairs and _is_not_positive(first, second):
        reason = NOT_POSITIVE
    elif len(pairs) >= FEWEST_UNITS:
        try:
            contrast, reason = Contrast(tuple(logs_of(first, second))), ''
        except ValueError as error:
            reason = str(error)
    return Comparison(first, second, kind, in_turns, contrast, reason)


def _is_not_positive(*groups: Sequence[Unit]) -> bool:
    return any(one.value <= 0 for group in groups for unit in group for one in unit)


def _prior(ledger: Ledger, comparisons: Sequence[Comparison]) -> tuple[Prior, tuple[Number, Number] | None]:
    found = prior_of([one.contrast.units for one in comparisons if one.contrast is not None])
    if found == NO_PRIOR:
        return found, None
    given = [[_sets(one.first, ledger), _sets(one.second, ledger)] for one in comparisons]
    return found, prior_numbers(ledger, found, 'prior', {'contrasts': given})


def _moderated(one: Comparison, prior: tuple[Prior, tuple[Number, Number] | None] | None) -> Comparison:
    if one.contrast is None or prior is None or prior[1] is None:
        return one
    return replace(one, contrast=replace(one.contrast, prior=prior[0]), prior=prior[1])


def _sets(units: Sequence[Unit], ledger: Ledger) -> list[str]:
    return [ledger.set([one.number.id for one in unit]) for unit in units]


def _exponential(found: Interval) -> Interval:
    """Bounds that do not exist stay infinite."""
    ends = (math.exp(end) if math.isfinite(end) else end for end in (found.low, found.high))
    return Interval(math.exp(found.value), *ends)
