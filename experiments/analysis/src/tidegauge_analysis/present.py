"""Shows the numbers of `analysis.json` as text. Rounding depends on the interval of a number, not on its size alone."""

import math
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

MINUS = '\N{MINUS SIGN}'
NONE = '\N{EN DASH}'
"""Shown where there is no value."""

LOW_P = 0.001
"""Smaller p values are shown as below this bound."""

_SCALES = ((1e12, 'T'), (1e9, 'G'), (1e6, 'M'), (1e3, 'k'))
_PLACEHOLDER = re.compile(r'\{(n\d+!?)\}')
_INTERVAL = re.compile(r'\{(n\d+)!?\}[^{}]*\(\{(n\d+)!\} to \{(n\d+)!\}\)')
"""A value and, after some words, its bounds."""

_P_FORMULAS = ('_p', 'holm')


def is_number(value: object) -> bool:
    """Whether a JSON value is a `Number` of the document."""
    return isinstance(value, dict) and 'id' in value and 'value' in value and 'unit' in value


def is_estimate(value: object) -> bool:
    """Whether a JSON value is an `Estimate` of the document."""
    return isinstance(value, dict) and is_number(value.get('value')) and 'low' in value and 'high' in value


def numbers_in(value: object) -> Iterator[Json]:
    """All numbers and lists of numbers that have an id, in the order of the document."""
    if isinstance(value, dict):
        if isinstance(value.get('id'), str) and 'unit' in value and ('value' in value or 'values' in value):
            if not is_estimate(value):
                yield value
            return
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_in(inner)


def show(value: float | None, unit: str = '', *, decimals: int | None = None, with_unit: bool = True) -> str:
    """Show a value with its unit. Sizes in bytes get a decimal prefix; others have about four significant digits.

    :param decimals: of the value in its unit, without a prefix; negative: it is rounded to tens, hundreds, …
    """
    if value is None:
        return NONE
    scaled, prefixed = _scale(value, unit)
    if decimals is None:
        text = _round(scaled, 4)
    else:
        places = decimals + (round(math.log10(value / scaled)) if scaled else 0)
        # Adding zero removes the sign of a zero.
        text = f'{round(scaled, places) + 0.0:,.{max(0, places)}f}'
    text = text.replace('-', MINUS)
    if not with_unit or not prefixed:
        return text
    return f'{text}%' if prefixed == '%' else f'{text}\N{NO-BREAK SPACE}{prefixed}'


def show_p(value: float | None) -> str:
    """Show a p value, as `< 0.001` or with three decimals."""
    if value is None:
        return NONE
    return f'<\N{NO-BREAK SPACE}{LOW_P}' if value < LOW_P else f'{value:.3f}'


def show_entry(entry: Json) -> str:
    """Show an entry of `numbers.json`: a p value, or a value with its unit. `decimals`: as `fill` adds them."""
    if entry.get('formula', '').endswith(_P_FORMULAS) or entry.get('inputs', {}).get('what') == 'p':
        return show_p(entry['value'])
    return show(entry['value'], entry['unit'], decimals=entry.get('decimals'))


def decimals_of(estimate: Json) -> int | None:
    """Decimals that the interval allows: two significant digits of its half. None without an interval.

    They are negative for a half above a hundred. A bound that is not zero is not rounded to zero, down to 0.000001.
    """
    return _decimals(estimate['low'], estimate['high'])


def show_estimate(estimate: Json, *, with_unit: bool = True) -> str:
    """Show an estimate with its interval: `5,172 [4,981, 5,363] ops/s`."""
    value = estimate['value']
    if value['value'] is None:
        return NONE
    decimals, unit = decimals_of(estimate), value['unit']
    low, high = (
        show(estimate[side]['value'], unit, decimals=decimals, with_unit=unit.startswith('bytes'))
        for side in ('low', 'high')
    )
    text = show(value['value'], unit, decimals=decimals, with_unit=unit.startswith('bytes'))
    if estimate['low']['value'] is not None or estimate['high']['value'] is not None:
        text += f' [{low}, {high}]'
    return f'{text}\N{NO-BREAK SPACE}{unit}' if with_unit and unit and not unit.startswith('bytes') else text


def capital(text: str) -> str:
    """The text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def fill(text: str, numbers: dict[str, Json]) -> list[str | Json]:
    """Divide a sentence into text and the numbers that its placeholders name. `{n17!}` leaves out the unit.

    In `{n1} times that of B ({n2!} to {n3!})`, all three numbers have the `decimals` that the interval allows.

    :raises KeyError: a placeholder names a number that does not exist
    """
    decimals = {
        name: _decimals(numbers[low], numbers[high])
        for value, low, high in _INTERVAL.findall(text)
        for name in (value, low, high)
    }
    found: list[str | Json] = []
    for index, part in enumerate(_PLACEHOLDER.split(text)):
        if index % 2:
            name = part.removesuffix('!')
            number = {**numbers[name], 'decimals': decimals.get(name)}
            bare = part.endswith('!') and not number['unit'].startswith('bytes')
            found.append({**number, 'unit': ''} if bare else number)
        elif part:
            found.append(part)
    return found


def plain(text: str, numbers: dict[str, Json]) -> str:
    """Fill a sentence with the text of its numbers."""
    return ''.join(part if isinstance(part, str) else show_entry(part) for part in fill(text, numbers))


def combination(levels: Json) -> str:
    """Show levels of factors: `store cassandra, workload a`."""
    return ', '.join(f'{name} {level_of(level)}' for name, level in levels.items())


def level_of(level: object) -> str:
    """Show one level as the experiment file has it."""
    if isinstance(level, bool):
        return 'true' if level else 'false'
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)


def _decimals(lower: Json, upper: Json) -> int | None:
    low, high = lower['value'], upper['value']
    if low is None or high is None or high <= low:
        return None
    places = 1 - math.floor(math.log10((high - low) / 2))
    if low * high > 0:
        places = max(places, -math.floor(math.log10(min(abs(low), abs(high)))))
    return min(6, places)


def _scale(value: float, unit: str) -> tuple[float, str]:
    if unit not in {'bytes', 'bytes/s'}:
        return value, unit
    short = unit.replace('bytes', 'B')
    for factor, prefix in _SCALES:
        if abs(value) >= factor:
            return value / factor, prefix + short
    return value, short


def _round(value: float, digits: int) -> str:
    if value == 0:
        return '0'
    if float(value).is_integer() and abs(value) < 1e15:
        return f'{int(value):,}'
    size = math.floor(math.log10(abs(value)))
    if size < -5 or size > 14:
        return f'{value:.{digits - 1}e}'
    text = f'{value:,.{max(0, digits - 1 - size)}f}'
    return text.rstrip('0').rstrip('.') if '.' in text else text
