"""Sets of whole numbers that are mostly consecutive."""

from __future__ import annotations

from bisect import bisect_right


class Ranges:
    """A set of whole numbers, stored as inclusive ranges in ascending order."""

    __slots__ = ('_firsts', '_lasts')

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, first: int, last: int) -> None:
        """Add the numbers from `first` to `last`."""
        firsts, lasts = self._firsts, self._lasts
        if lasts and lasts[-1] + 1 == first:
            lasts[-1] = last
            return
        # The ranges from `at` to `end` touch or overlap the new one.
        at = bisect_right(firsts, first)
        if at > 0 and lasts[at - 1] + 1 >= first:
            at -= 1
            first = firsts[at]
        end = at
        while end < len(firsts) and firsts[end] <= last + 1:
            last = max(last, lasts[end])
            end += 1
        firsts[at:end] = [first]
        lasts[at:end] = [last]

    def pairs(self) -> list[list[int]]:
        """All ranges as `[first, last]`."""
        return [[first, last] for first, last in zip(self._firsts, self._lasts, strict=True)]
