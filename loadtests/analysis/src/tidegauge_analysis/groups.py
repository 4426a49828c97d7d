"""Groups of observations, the input of every comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
GroupsLike = Mapping[str, ArrayLike]
"""Observations by the name of their group, in the order in which groups are reported."""


@dataclass(frozen=True)
class Groups:
    """Checked groups: at least two, each with finite observations in one dimension."""

    names: tuple[str, ...]
    values: tuple[Values, ...]

    @property
    def sizes(self) -> Values:
        """Number of observations of each group."""
        return np.array([len(group) for group in self.values], dtype=np.float64)

    @property
    def means(self) -> Values:
        """Mean of each group."""
        return np.array([group.mean() for group in self.values])

    @property
    def variances(self) -> Values:
        """Sample variance of each group (n - 1)."""
        return np.array([group.var(ddof=1) for group in self.values])

    @property
    def all(self) -> Values:
        """Every observation, group after group."""
        return np.concatenate(self.values)

    @property
    def residuals(self) -> Values:
        """Each observation minus the mean of its group."""
        return np.concatenate([group - group.mean() for group in self.values])

    def pairs(self) -> list[tuple[int, int]]:
        """Indexes of every pair of groups, in order."""
        return [(i, j) for i in range(len(self.names)) for j in range(i + 1, len(self.names))]


def check(groups: GroupsLike, least: int = 2) -> Groups:
    """Check groups before they are compared.

    :param least: the smallest number of observations that each group needs
    :raises ValueError: fewer than two groups, too few observations, or one that is not finite
    """
    if len(groups) < 2:
        raise ValueError(f'a comparison needs two groups or more, but got {len(groups)}')
    values: list[Values] = []
    for name, observations in groups.items():
        group = np.asarray(observations, dtype=np.float64)
        if group.ndim != 1:
            raise ValueError(f'group {name}: observations must be a list of numbers')
        if len(group) < least:
            raise ValueError(f'group {name}: needs {least} observations or more, but has {len(group)}')
        if not np.isfinite(group).all():
            raise ValueError(f'group {name}: has an observation that is not a finite number')
        values.append(group)
    return Groups(tuple(groups), tuple(values))


def best_first(groups: Groups, *, higher_is_better: bool) -> Sequence[int]:
    """Indexes of the groups from the best mean to the worst."""
    order = np.argsort(groups.means, kind='stable')
    return [int(index) for index in (order[::-1] if higher_is_better else order)]
