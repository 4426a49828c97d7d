from __future__ import annotations

from itertools import pairwise
from random import Random

from tidegauge_sim.ranges import Ranges


def test_ranges_hold_exactly_the_numbers_that_were_added() -> None:
    rng = Random('ranges')
    for _ in range(300):
        ranges = Ranges()
        expected: set[int] = set()
        for _ in range(rng.randint(0, 30)):
            first = rng.randint(0, 60)
            last = first + rng.randint(0, 4)
            ranges.add(first, last)
            expected.update(range(first, last + 1))
            pairs = ranges.pairs()
            assert [number for first, last in pairs for number in range(first, last + 1)] == sorted(expected)
            # Neighbours are one range.
            assert all(left[1] + 1 < right[0] for left, right in pairwise(pairs))
