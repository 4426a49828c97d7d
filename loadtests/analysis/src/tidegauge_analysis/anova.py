"""Analysis of variance: one factor, two factors, blocks, split plots, and Welch's for unequal variances."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tidegauge_analysis.groups import GroupsLike, Values, check


@dataclass(frozen=True)
class Term:
    """One row of an analysis of variance."""

    name: str
    df: float
    sum_of_squares: float
    f: float
    p: float


@dataclass(frozen=True)
class Anova:
    """The terms and the error that they were tested against."""

    terms: tuple[Term, ...]
    error_df: float
    error_sum_of_squares: float

    @property
    def error_mean_square(self) -> float:
        """Mean square of the error: the variance within groups."""
        return self.error_sum_of_squares / self.error_df

    @property
    def r_squared(self) -> float:
        """Share of the sum of squares that the terms explain."""
        explained = sum(term.sum_of_squares for term in self.terms)
        return explained / (explained + self.error_sum_of_squares)

    def term(self, name: str) -> Term:
        """Find the row with this name.

        :raises KeyError: no row has this name
        """
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)


@dataclass(frozen=True)
class WelchAnova:
    """Welch's test of equal means without equal variances."""

    f: float
    df_between: float
    df_within: float
    p: float


@dataclass(frozen=True)
class SplitPlot:
    """Hard factors are tested against the spread between deployments, easy ones against the spread within."""

    between: Anova
    within: Anova


def one_way(groups: GroupsLike, name: str = 'group') -> Anova:
    """Analyse one factor, with groups of any size.

    The grand mean is subtracted first, so that data with a large common offset keeps its digits (NIST StRD,
    https://www.itl.nist.gov/div898/strd/anova/anova.html).

    :raises ValueError: a group has fewer than two observations, or the groups do not vary at all
    """
    checked = check(groups)
    offset = checked.all.mean()
    values = [group - offset for group in checked.values]
    total = sum(float(group.sum()) for group in values)
    count = sum(len(group) for group in values)
    between = sum(len(group) * float(group.mean() - total / count) ** 2 for group in values)
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in values)
    return _table([(name, len(values) - 1, between)], count - len(values), within)


def two_way(first: Sequence[str], second: Sequence[str], observations: ArrayLike, *, interaction: bool) -> Anova:
    """Analyse two crossed factors of a balanced design; without the interaction, the second can be a block.

    The terms are called `first`, `second` and `first:second`.

    :param first: level of the first factor, for each observation
    :param second: level of the second factor, for each observation
    :raises ValueError: the design is not balanced, or has no degrees of freedom left for the error
    """
    cells = _cells(first, second, observations)
    n = cells.shape[2]
    rows, columns = cells.shape[:2]
    centred = cells - cells.mean()
    row_means = centred.mean(axis=(1, 2))
    column_means = centred.mean(axis=(0, 2))
    cell_means = centred.mean(axis=2)
    of_rows = columns * n * float((row_means**2).sum())
    of_columns = rows * n * float((column_means**2).sum())
    of_cells = n * float((cell_means**2).sum())
    total = float((centred**2).sum())
    terms = [('first', rows - 1, of_rows), ('second', columns - 1, of_columns)]
    if interaction:
        terms.append(('first:second', (rows - 1) * (columns - 1), of_cells - of_rows - of_columns))
    error = total - sum(squares for _, _, squares in terms)
    return _table(terms, cells.size - 1 - sum(df for _, df, _ in terms), error)


def split_plot(block: Sequence[str], hard: Sequence[str], easy: Sequence[str], observations: ArrayLike) -> SplitPlot:
    """Analyse a factor that needs a new deployment (hard) and one that changes within a deployment (easy).

    Every block has one deployment of each hard level, and every deployment has each easy level. Trials of one cell
    are averaged first: they share a deployment, so that they are no replicates of it. For a balanced design this is
    the exact test (Montgomery, Design and Analysis of Experiments, chapter 14).

    The terms are `block` and `hard` in `between`; `easy` and `hard:easy` in `within`.

    :raises ValueError: the design is not balanced, or has one block, one hard level or one easy level only
    """
    names = [sorted(set(levels)) for levels in (block, hard, easy)]
    for what, levels in zip(('block', 'hard factor', 'easy factor'), names, strict=True):
        if len(levels) < 2:
            raise ValueError(f'a split plot needs two levels or more of the {what}, but has {len(levels)}')
    plots = [f'{one}\0{other}' for one, other in zip(block, hard, strict=True)]
    means = _cells(plots, easy, observations).mean(axis=2)
    y = means.reshape(len(names[0]), len(names[1]), len(names[2]))
    y = y - y.mean()
    blocks, hards, easies = y.shape
    plot = y.mean(axis=2)
    of_plots = easies * float((plot**2).sum())
    of_blocks = hards * easies * float((plot.mean(axis=1) ** 2).sum())
    of_hard = blocks * easies * float((plot.mean(axis=0) ** 2).sum())
    of_easy = blocks * hards * float((y.mean(axis=(0, 1)) ** 2).sum())
    of_both = blocks * float((y.mean(axis=0) ** 2).sum()) - of_hard - of_easy
    between = _table(
        [('block', blocks - 1, of_blocks), ('hard', hards - 1, of_hard)],
        (blocks - 1) * (hards - 1),
        of_plots - of_blocks - of_hard,
    )
    within = _table(
        [('easy', easies - 1, of_easy), ('hard:easy', (hards - 1) * (easies - 1), of_both)],
        hards * (blocks - 1) * (easies - 1),
        float((y**2).sum()) - of_plots - of_easy - of_both,
    )
    return SplitPlot(between, within)


def welch(groups: GroupsLike) -> WelchAnova:
    """Test for equal means where variances differ (Welch 1951, Biometrika 38).

    :raises ValueError: a group has fewer than two observations, or does not vary
    """
    checked = check(groups)
    variances = checked.variances
    if (variances == 0).any():
        name = checked.names[int(np.argmin(variances))]
        raise ValueError(f'group {name}: all observations are equal, so that it has no variance to weigh it by')
    k = len(checked.names)
    weights = checked.sizes / variances
    shares = weights / weights.sum()
    centre = float((shares * checked.means).sum())
    spread = float(((1 - shares) ** 2 / (checked.sizes - 1)).sum())
    numerator = float((weights * (checked.means - centre) ** 2).sum()) / (k - 1)
    f = numerator / (1 + 2 * (k - 2) / (k**2 - 1) * spread)
    df = (k**2 - 1) / (3 * spread)
    return WelchAnova(f, k - 1, df, float(stats.f.sf(f, k - 1, df)))


def _cells(rows: Sequence[str], columns: Sequence[str], observations: ArrayLike) -> Values:
    """Arrange the observations of a balanced design as row x column x replicate, levels in alphabetical order."""
    values = np.asarray(observations, dtype=np.float64)
    if not len(rows) == len(columns) == len(values):
        raise ValueError('every observation needs its level of each factor')
    cells: dict[tuple[str, str], list[float]] = {}
    for row, column, value in zip(rows, columns, values, strict=True):
        cells.setdefault((row, column), []).append(float(value))
    row_levels, column_levels = sorted(set(rows)), sorted(set(columns))
    sizes = {len(cells.get((row, column), [])) for row in row_levels for column in column_levels}
    if len(sizes) != 1:
        raise ValueError(f'the design is not balanced: its cells have {_listed(sizes)} observations')
    return np.array([[cells[row, column] for column in column_levels] for row in row_levels])


def _listed(sizes: set[int]) -> str:
    return ', '.join(str(size) for size in sorted(sizes))


def _table(terms: Sequence[tuple[str, int, float]], error_df: int, error: float) -> Anova:
    if error_df < 1:
        raise ValueError('the design leaves no degrees of freedom for the error: it needs more replicates')
    # Rounding can leave a tiny negative rest where the terms explain everything.
    error = max(error, 0.0)
    if error == 0:
        raise ValueError('the observations do not vary within groups, so that there is nothing to test against')
    rows = []
    for name, df, squares in terms:
        f = squares / df / (error / error_df)
        rows.append(Term(name, df, squares, f, float(stats.f.sf(f, df, error_df))))
    return Anova(tuple(rows), error_df, error)
