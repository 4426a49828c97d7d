"""Three verdicts on a pair: different, equivalent within a margin, or undecided."""

import math
from dataclasses import dataclass
from enum import StrEnum

from numpy.typing import ArrayLike
from scipy import stats

from tidegauge_analysis.effects import Interval, difference_of_means
from tidegauge_analysis.groups import check

MOST_RUNS = 1_000_000


class Decision(StrEnum):
    """What the runs show about two means."""

    DIFFERENT = 'different'
    EQUIVALENT = 'equivalent'
    UNDECIDED = 'undecided'


@dataclass(frozen=True)
class Verdict:
    """The decision, the interval that it rests on, and what would decide an open one."""

    decision: Decision
    difference: Interval
    margin: float
    """Absolute margin, in the unit of the observations."""
    further_runs: int | None
    """Further runs of each group that would decide with 80 % power, if means and spread stay; None once decided.

    Also None where more than a million runs would be needed: the difference then lies on the margin.
    """


def decide(first: ArrayLike, second: ArrayLike, margin: float, alpha: float = 0.05, power: float = 0.8) -> Verdict:
    """Decide on two groups of runs.

    - equivalent: two one-sided Welch tests at `alpha` put the difference within the margin (Schuirmann 1987, Journal
      of Pharmacokinetics and Biopharmaceutics 15). This holds also for a difference that is real, but too small to
      matter.
    - different: otherwise, if Welch's interval at 1 - `alpha` excludes zero
    - undecided: otherwise

    :param margin: largest difference that does not matter, as a share of the mean of the second group
    :raises ValueError: a group has fewer than two observations, or the margin is not positive
    """
    groups = check({'first': first, 'second': second})
    if not margin > 0:
        raise ValueError(f'the margin must be positive, but is {margin}')
    reach = margin * abs(float(groups.means[1]))
    narrow = difference_of_means(first, second, 1 - 2 * alpha)
    wide = difference_of_means(first, second, 1 - alpha)
    if -reach < narrow.low and narrow.high < reach:
        return Verdict(Decision.EQUIVALENT, wide, reach, None)
    if wide.low > 0 or wide.high < 0:
        return Verdict(Decision.DIFFERENT, wide, reach, None)
    return Verdict(Decision.UNDECIDED, wide, reach, further_runs(first, second, margin, alpha, power))


def further_runs(  # noqa: PLR0913
    first: ArrayLike,
    second: ArrayLike,
    margin: float,
    alpha: float = 0.05,
    power: float = 0.8,
    *,
    comparisons: int = 1,
) -> int | None:
    """Further runs of each group that would decide, if means and spread stay as they are.

    :param margin: as for `decide`
    :param comparisons: pairs that are compared; the proof of a difference is then held to `alpha` over all of them
    :return: None where more than a million runs would be needed
    """
    groups = check({'first': first, 'second': second})
    distance = abs(float(groups.means[0] - groups.means[1]))
    reach = margin * abs(float(groups.means[1]))
    needed = _runs_that_decide(distance, reach, float(groups.variances.sum()), (alpha / comparisons, alpha), power)
    return None if needed is None else max(1, needed - int(groups.sizes.min()))


def _runs_that_decide(
    distance: float, reach: float, variance: float, alpha: tuple[float, float], power: float
) -> int | None:
    """Runs of each group for the cheaper of the two proofs: of a difference, or of equivalence."""
    found = [
        _runs(distance, variance, alpha[0] / 2, 1 - power),
        # Both one-sided tests must succeed; where the difference is zero, each may fail with half the chance.
        _runs(reach - distance, variance, alpha[1], (1 - power) / 2 if distance == 0 else 1 - power),
    ]
    possible = [runs for runs in found if runs is not None]
    return min(possible) if possible else None


def _runs(distance: float, variance: float, alpha: float, beta: float) -> int | None:
    """Smallest n with (t[1-alpha] + t[1-beta]) * sqrt(variance / n) <= distance, both groups of size n."""
    if distance <= 0:
        return None

    def enough(n: int) -> bool:
        df = 2 * (n - 1)
        quantiles = stats.t.ppf(1 - alpha, df) + stats.t.ppf(1 - beta, df)
        return bool(quantiles * math.sqrt(variance / n) <= distance)

    high = 2
    while not enough(high):
        if high > MOST_RUNS:
            return None
        high *= 2
    # The last doubling was needed: the answer lies above half.
    low = high // 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= 2 and enough(middle) else (middle + 1, high)
    return low
