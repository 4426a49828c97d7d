"""Numbers with addresses: each has an id, a formula of `recompute.py`, and inputs that are rows or other numbers."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tidegauge_analysis.document import Estimate, Number, NumberList
from tidegauge_analysis.effects import Interval

Json = dict[str, Any]


class Ledger:
    """Gives each number its id, and keeps how it was computed.

    The package computes values with numpy and scipy. `recompute.py` computes them again from the formula and the
    inputs, with other code, so that an error of either shows.
    """

    def __init__(self) -> None:
        self._sets: dict[tuple[str, ...], str] = {}
        self._known: dict[str, Number | NumberList] = {}
        self._entries: list[Json] = []

    @property
    def entries(self) -> Sequence[Json]:
        """What `numbers.json` has of each number."""
        return self._entries

    def set(self, names: Iterable[str | None]) -> str:
        """Name a list of runs or of numbers, for use as an input.

        :raises ValueError: a name is None: a number without a value is no input
        """
        members = tuple(name for name in names if name is not None)
        return self._sets.setdefault(members, f's{len(self._sets) + 1}')

    def add(self, value: float | None, unit: str, formula: str, reason: str = '', **inputs: object) -> Number:
        """Register a number; the same formula with the same inputs has one id.

        :param reason: why there is no value, where `value` is None or is not finite
        """
        if value is None or not math.isfinite(value):
            return missing(unit, reason or 'the data does not determine it')
        key = json.dumps([formula, inputs], sort_keys=True)
        known = self._known.get(key)
        if known is None:
            known = Number(self._enter(value, unit, formula, inputs), float(value), unit)
            self._known[key] = known
        if not isinstance(known, Number):
            raise TypeError(f'{formula} gives a list')
        return known

    def add_list(self, values: Sequence[float | None], unit: str, formula: str, **inputs: object) -> NumberList:
        """Register numbers that one formula gives together."""
        plain = [None if value is None or not math.isfinite(value) else float(value) for value in values]
        return NumberList(self._enter(plain, unit, formula, inputs), plain, unit)

    def estimate(
        self, interval: Interval, unit: str, formula: str, confidence: float, reason: str = '', **inputs: object
    ) -> Estimate:
        """Register a value with its bounds: `formula`, `formula_low` and `formula_high`."""
        return Estimate(
            self.add(interval.value, unit, formula, reason, **inputs),
            self.add(interval.low, unit, f'{formula}_low', reason, confidence=confidence, **inputs),
            self.add(interval.high, unit, f'{formula}_high', reason, confidence=confidence, **inputs),
            confidence,
        )

    def inputs(self, number: Number) -> Json:
        """What a number of this ledger was computed from.

        :raises KeyError: it has no value
        """
        return next(entry['inputs'] for entry in self._entries if entry['id'] == number.id)

    def document(self, files: dict[str, str]) -> Json:
        """All of `numbers.json`.

        :param files: SHA-256 of each file that numbers rest on, by its path in the results directory
        """
        return {
            'format': 1,
            'sets': {name: list(members) for members, name in self._sets.items()},
            'numbers': self._entries,
            'files': files,
        }

    def _enter(self, value: object, unit: str, formula: str, inputs: Json) -> str:
        name = f'n{len(self._entries) + 1}'
        self._entries.append({'id': name, 'value': value, 'unit': unit, 'formula': formula, 'inputs': inputs})
        return name


def missing(unit: str, reason: str) -> Number:
    """A number without a value."""
    return Number(None, None, unit, reason)


def no_estimate(unit: str, reason: str, confidence: float = 0.95) -> Estimate:
    """An estimate without a value."""
    none = missing(unit, reason)
    return Estimate(none, none, none, confidence)


def interval_in_words(value: Number, low: Number, high: Number) -> str:
    """Placeholders of a value with its bounds, whose unit is that of the value: `3.2 ms (2.9 to 3.5)`."""
    return f'{{{value.id}}} ({{{low.id}!}} to {{{high.id}!}})' if low.id and high.id else f'{{{value.id}}}'


def estimate_in_words(estimate: Estimate) -> str:
    """Placeholders of an estimate that has a value, as `interval_in_words`."""
    return interval_in_words(estimate.value, estimate.low, estimate.high)


def ratio_in_words(ratio: float, low: float | None, high: float | None) -> str:
    """The ratio of B to A with its bounds, which can be infinite or missing."""
    bounds = ('no bound' if bound is None or math.isinf(bound) else f'{bound:.3f}' for bound in (low, high))
    return f'B is {ratio:.3f} times A ({" to ".join(bounds)})'


def anchor(*parts: str) -> str:
    """Make an id that is usable as an anchor and as a file name."""
    return re.sub(r'[^a-z0-9]+', '-', ' '.join(parts).lower()).strip('-')
