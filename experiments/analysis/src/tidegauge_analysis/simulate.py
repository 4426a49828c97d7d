"""How often a study would decide wrongly.

    python -m tidegauge_analysis.simulate RESULTS [--studies 500] [--drift 0.3]

Takes the spread of the deployments of real results, gives all comparisons a ratio that is known, and judges such
studies as `decide` does, block after block. Prints the share of studies with a false decision, the share of comparisons
that are decided, and the blocks that they needed. Claims over several conditions are judged once, with no effect:
prints the share of studies in which one of them is decided as a difference.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tidegauge_analysis.archive import read_archive
from tidegauge_analysis.claims import effects_in_blocks
from tidegauge_analysis.contrasts import (
    FEWEST_UNITS,
    Contrast,
    Decision,
    decide,
    mean_squares,
    pool_blocks,
    prior_of,
)
from tidegauge_analysis.families import contrasts_of
from tidegauge_analysis.looks import SCHEDULE
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.problems import InputError, reported
from tidegauge_analysis.report import scope_of
from tidegauge_analysis.scope import Scope

RATIOS = (1.0, 1.02, 1.1, 1.3)
"""Planted truths: none, within the margin, and beyond it."""


@dataclass(frozen=True)
class Rates:
    """What simulated studies decided."""

    ratio: float
    studies: int
    comparisons: int
    """Of each study."""
    false_studies: float
    """Share of the studies with a decision that is false: a difference that is none, or equivalence that is not."""
    decided: float
    """Share of the comparisons."""
    blocks: float
    """Mean number of blocks of a comparison until it was decided, or until the last look."""
    decided_at_once: float
    """Share of the comparisons that a study of so many blocks, judged once, decides."""


def spreads_of(scope: Scope, metrics: Sequence[Metric]) -> list[float]:
    """The standard deviation of the log ratio of a deployment, for each comparison of results.

    :raises InputError: no comparison has three deployments
    """
    results = scope.archive.path
    found = [float(np.std(one.units, ddof=1)) for one in contrasts_of(scope, metrics)]
    if not found:
        raise InputError(f'{results}: no comparison has {FEWEST_UNITS} deployments, so that nothing shows their spread')
    return found


def simulate(  # noqa: PLR0913
    spreads: Sequence[float], ratio: float, *, studies: int, margin: float, alpha: float, drift: float, seed: int
) -> Rates:
    """Judge studies whose comparisons all have this ratio.

    :param drift: change of the logarithm over the whole study, beside the spread of deployments: it stays in
        comparisons that take no turns
    """
    draws = np.random.default_rng(seed)
    each = alpha / len(SCHEDULE) / len(spreads)
    most = SCHEDULE[-1]
    false, decided, blocks, once = 0, 0, 0.0, 0
    for _ in range(studies):
        # Within a block the order is random, so a drift adds as much as half of the change over a block.
        moved = draws.choice([-0.5, 0.5], (len(spreads), most)) * drift / most
        units = math.log(ratio) + draws.normal(0, 1, (len(spreads), most)) * np.array(spreads)[:, None] + moved
        verdicts, used = _judge(units, margin, each)
        false += any(_is_false(verdict, ratio, margin) for verdict in verdicts)
        decided += sum(verdict is not Decision.UNDECIDED for verdict in verdicts)
        blocks += sum(used)
        last = _at(units, most, margin, alpha / len(spreads))
        once += sum(verdict is not Decision.UNDECIDED for verdict in last)
    total = studies * len(spreads)
    return Rates(ratio, studies, len(spreads), false / studies, decided / total, blocks / total, once / total)


def false_claims(
    layouts: Sequence[Sequence[Sequence[float]]], *, studies: int, margin: float, alpha: float, seed: int
) -> float:
    """The share of studies that decide a claim as a difference, where none has one.

    :param layouts: of each claim, the effects of its conditions in each block. Their variances are those of the
        simulated ones: of the conditions, of what they share in a block, and of the rest
    """
    draws = np.random.default_rng(seed)
    spreads = [(np.shape(layout), *_spreads(np.asarray(layout))) for layout in layouts]
    false = 0
    for _ in range(studies):
        drawn = (
            draws.normal(0, one, (rows, 1)) + draws.normal(0, luck, columns) + draws.normal(0, rest, (rows, columns))
            for (rows, columns), one, luck, rest in spreads
        )
        decided = [decide(pool_blocks(effects), margin, alpha / len(spreads)) for effects in drawn]
        false += Decision.DIFFERENT in decided
    return false / studies


def _spreads(effects: NDArray[np.float64]) -> tuple[float, float, float]:
    """Standard deviations between conditions, of what they share in a block, and of the rest."""
    rows, columns = effects.shape
    between, luck, rest = mean_squares(effects)
    return math.sqrt(max(0.0, between - rest) / columns), math.sqrt(max(0.0, luck - rest) / rows), math.sqrt(rest)


def _judge(units: NDArray[np.float64], margin: float, alpha: float) -> tuple[list[Decision], list[int]]:
    """The first decision of each comparison, and the blocks that it needed."""
    verdicts = [Decision.UNDECIDED] * len(units)
    used = [SCHEDULE[-1]] * len(units)
    for count in SCHEDULE:
        for index, verdict in enumerate(_at(units, count, margin, alpha)):
            if verdicts[index] is Decision.UNDECIDED and verdict is not Decision.UNDECIDED:
                verdicts[index], used[index] = verdict, count
    return verdicts, used


def _at(units: NDArray[np.float64], count: int, margin: float, alpha: float) -> list[Decision]:
    prior = prior_of([row[:count] for row in units])
    return [decide(Contrast(tuple(row[:count].tolist()), prior), margin, alpha) for row in units]


def _is_false(verdict: Decision, ratio: float, margin: float) -> bool:
    inside = abs(math.log(ratio)) < math.log1p(margin)
    if verdict is Decision.EQUIVALENT:
        return not inside
    return verdict is Decision.DIFFERENT and ratio == 1


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 done, 1 the archive is damaged or too small, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='simulate', description='Show how often a study would decide wrongly.')
    parser.add_argument('results', metavar='RESULTS', type=Path)
    parser.add_argument('--studies', type=int, default=500, help='simulated studies of each ratio (default 500)')
    parser.add_argument('--drift', type=float, default=0.0, help='change of the logarithm over a study (default 0)')
    given = parser.parse_args(arguments)
    archive = read_archive(given.results)
    scope, metrics, _ = scope_of(archive)
    margin, alpha = (float(archive.study['analyse'][name]) for name in ('margin', 'alpha'))
    spreads, layouts = spreads_of(scope, metrics), effects_in_blocks(scope)
    rates = [
        simulate(spreads, ratio, studies=given.studies, margin=margin, alpha=alpha, drift=given.drift, seed=1)
        for ratio in RATIOS
    ]
    false = false_claims(layouts, studies=given.studies, margin=margin, alpha=alpha, seed=1) if layouts else None
    found = {'comparisons': [asdict(one) for one in rates], 'claims': len(layouts), 'false_studies': false}
    sys.stdout.write(f'{json.dumps(found, indent=1)}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
