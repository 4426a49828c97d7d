"""Readings as bytes: a plain value, JSON, or a SenML JSON pack (RFC 8428)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from tidegauge_sim.signals import KINDS, Value

Format = Literal['plain', 'json', 'senml']
TimeUnit = Literal['s', 'ms', 'us']

FORMATS: tuple[Format, ...] = get_args(Format)
TIME_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)


class Reading(NamedTuple):
    """One measured value with the stamps of its sensor."""

    metric: str
    # Microseconds since the epoch, by the sensor's clock.
    time: int
    value: Value
    boot: str
    seq: int


# Encodes the readings of one device for one message. The first argument is the device's name.
Encode = Callable[[str, Sequence[Reading]], bytes]


def encoder(payload_format: Format, unit: TimeUnit) -> Encode:
    """Encoder for a format. `unit` is the unit of the time in JSON."""
    if payload_format == 'plain':
        return _plain
    if payload_format == 'senml':
        return _senml
    return {'s': _json_seconds, 'ms': _json_milliseconds, 'us': _json_microseconds}[unit]


def resolution(payload_format: Format, unit: TimeUnit) -> int:
    """Smallest difference of two times that this format keeps, microseconds."""
    return 1000 if (payload_format, unit) == ('json', 'ms') else 1


def _plain(_device: str, readings: Sequence[Reading]) -> bytes:
    return _literal(readings[0].value).encode()


def _json_seconds(_device: str, readings: Sequence[Reading]) -> bytes:
    return _json(readings[0], _seconds(readings[0].time))


def _json_milliseconds(_device: str, readings: Sequence[Reading]) -> bytes:
    return _json(readings[0], str(readings[0].time // 1000))


def _json_microseconds(_device: str, readings: Sequence[Reading]) -> bytes:
    return _json(readings[0], str(readings[0].time))


def _json(reading: Reading, time: str) -> bytes:
    return (
        f'{{"t":{time},"v":{_literal(reading.value)},"boot":"{reading.boot}","seq":{reading.seq}}}'.encode()
    )


def _senml(device: str, readings: Sequence[Reading]) -> bytes:
    """Put name and time into the base fields of the first record. SenML has no field for boot and seq."""
    records = ','.join(_senml_record(reading) for reading in readings)
    return f'[{{"bn":"{device}/","bt":{_seconds(readings[0].time)},{records[1:]}]'.encode()


def _senml_record(reading: Reading) -> str:
    unit = KINDS[reading.metric].unit
    value = (
        f'"vb":{_literal(reading.value)}' if unit is None else f'"u":"{unit}","v":{_literal(reading.value)}'
    )
    return f'{{"n":"{reading.metric}",{value}}}'


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    return repr(value)


def _seconds(time: int) -> str:
    """Microseconds as decimal seconds, exactly."""
    sign = '-' if time < 0 else ''
    seconds, micros = divmod(abs(time), 1_000_000)
    return f'{sign}{seconds}.{micros:06d}'
