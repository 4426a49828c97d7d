"""Simulated measurements: one signal per kind of metric.

The random generator and the sample times determine a signal, so the same seed, sensor and times give the same
values. Times are seconds since the epoch and never decrease. Every analog signal is

    base + season + daily cycle + drift + noise

with noise as AR(1) in continuous time (Ornstein-Uhlenbeck), exact for any distance between two samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, pi, sin, sqrt
from random import Random
from typing import Protocol

DAY = 86_400.0
YEAR = 365.2425 * DAY

Value = float | int | bool


class Signal(Protocol):
    """A stream of values of one metric of one sensor."""

    def sample(self, time: float) -> Value:
        """Value at `time`, which must not be before the previous sample."""

    def reboot(self) -> None:
        """Reset the state that a real sensor loses at a restart."""


class Noise:
    """AR(1) noise with standard deviation `sigma` and correlation time `tau` in seconds."""

    def __init__(self, rng: Random, sigma: float, tau: float) -> None:
        self._rng = rng
        self._sigma = sigma
        self._tau = tau
        self._value = rng.gauss(0.0, sigma)
        self._time: float | None = None

    def sample(self, time: float) -> float:
        """Noise at `time`."""
        if self._time is not None:
            kept = exp((self._time - time) / self._tau)
            self._value = self._value * kept + self._sigma * sqrt(1.0 - kept * kept) * self._rng.gauss(
                0.0, 1.0
            )
        self._time = time
        return self._value


class Switch:
    """A two-state process with mean dwell times `off` and `on` in seconds: doors, machines."""

    def __init__(self, rng: Random, off: float, on: float) -> None:
        self._rng = rng
        self._rate = 1.0 / off + 1.0 / on
        self._share_on = on / (off + on)
        self._on = rng.random() < self._share_on
        self._time: float | None = None

    def sample(self, time: float) -> bool:
        """State at `time`, from the transition probability over the time since the last sample."""
        if self._time is not None:
            settled = 1.0 - exp((self._time - time) * self._rate)
            changes = settled * ((1.0 - self._share_on) if self._on else self._share_on)
            if self._rng.random() < changes:
                self._on = not self._on
        self._time = time
        return self._on


@dataclass(frozen=True, slots=True)
class Shape:
    """Parameters of an analog metric. A pair is a range. Each sensor draws its own value from it."""

    base: tuple[float, float]
    season: tuple[float, float]
    daily: tuple[float, float]
    # Hour (UTC) of the daily maximum; sensors differ by up to two hours.
    peak_hour: float
    drift_per_day: float
    sigma: float
    tau: float
    low: float
    high: float
    resolution: float
    # A nearby machine switches on and off: height of its steps, and its mean dwell times in seconds.
    step: tuple[float, float] = (0.0, 0.0)
    step_dwell: tuple[float, float] = (1800.0, 900.0)


class Analog:
    """A measured quantity that follows day and season, with noise, drift and steps."""

    def __init__(self, rng: Random, shape: Shape) -> None:
        self._shape = shape
        self._base = rng.uniform(*shape.base)
        self._season = rng.uniform(*shape.season)
        self._season_phase = rng.uniform(0.0, 2.0 * pi)
        self._daily = rng.uniform(*shape.daily)
        self._day_start = (shape.peak_hour + rng.uniform(-2.0, 2.0) - 6.0) * 3600.0
        self._drift = rng.uniform(-shape.drift_per_day, shape.drift_per_day)
        self._step = rng.uniform(*shape.step)
        self._noise = Noise(rng, shape.sigma, shape.tau)
        self._switch = Switch(rng, *shape.step_dwell)
        self._digits = 3 if shape.resolution < 0.01 else 2 if shape.resolution < 0.1 else 1  # noqa: PLR2004
        self._calibrated: float | None = None

    def sample(self, time: float) -> float:
        """Value at `time`, clipped to the sensor's range and rounded to its resolution."""
        if self._calibrated is None:
            self._calibrated = time
        shape = self._shape
        value = (
            self._base
            + self._season * sin(2.0 * pi * time / YEAR + self._season_phase)
            + self._daily * sin(2.0 * pi * (time - self._day_start) / DAY)
            + self._drift * (time - self._calibrated) / DAY
            + self._noise.sample(time)
        )
        if self._step and self._switch.sample(time):
            value += self._step
        value = min(max(value, shape.low), shape.high)
        # Adding 0.0 turns a negative zero into zero.
        return round(round(value / shape.resolution) * shape.resolution, self._digits) + 0.0

    def reboot(self) -> None:
        """Do nothing: the measured quantity does not depend on the sensor."""


class Battery:
    """Charge in percent. It falls over days and rises within hours. A pure function of time."""

    def __init__(self, rng: Random) -> None:
        self._discharge = rng.uniform(3.0, 14.0) * DAY
        self._charge = rng.uniform(1.5, 4.0) * 3600.0
        self._empty = rng.uniform(5.0, 25.0)
        self._phase = rng.uniform(0.0, self._discharge + self._charge)

    def sample(self, time: float) -> float:
        """Charge at `time`."""
        at = (time + self._phase) % (self._discharge + self._charge)
        span = 100.0 - self._empty
        if at < self._discharge:
            return round(100.0 - span * at / self._discharge, 1)
        return round(self._empty + span * (at - self._discharge) / self._charge, 1)

    def reboot(self) -> None:
        """Do nothing: a restart does not charge a battery."""


class Door:
    """True while open: short openings, long pauses."""

    def __init__(self, rng: Random) -> None:
        self._switch = Switch(rng, off=rng.uniform(300.0, 1800.0), on=rng.uniform(10.0, 60.0))

    def sample(self, time: float) -> bool:
        """Whether the door is open at `time`."""
        return self._switch.sample(time)

    def reboot(self) -> None:
        """Nothing: the door stays as it is."""


class Counter:
    """Pulses since boot: an integer that grows at a rate with a daily cycle, and restarts at zero."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._rate = rng.uniform(0.2, 3.0)
        self._phase = rng.uniform(0.0, DAY)
        self._pulses = 0.0
        self._time: float | None = None

    def sample(self, time: float) -> int:
        """Pulses up to `time`."""
        if self._time is not None:
            rate = self._rate * (1.0 + 0.8 * sin(2.0 * pi * (time + self._phase) / DAY))
            self._pulses += rate * (time - self._time) * self._rng.uniform(0.5, 1.5)
        self._time = time
        return int(self._pulses)

    def reboot(self) -> None:
        """Set the counter to 0, because it is in memory only."""
        self._pulses = 0.0


TEMPERATURE = Shape(
    base=(12.0, 24.0), season=(1.0, 8.0), daily=(0.5, 5.0), peak_hour=14.0, drift_per_day=0.02,
    sigma=0.25, tau=900.0, low=-40.0, high=125.0, resolution=0.01, step=(0.0, 1.5),
)  # fmt: skip
HUMIDITY = Shape(
    base=(40.0, 65.0), season=(2.0, 10.0), daily=(3.0, 12.0), peak_hour=4.0, drift_per_day=0.05,
    sigma=1.2, tau=1800.0, low=0.0, high=100.0, resolution=0.1,
)  # fmt: skip
PRESSURE = Shape(
    base=(99_800.0, 102_200.0), season=(50.0, 300.0), daily=(40.0, 120.0), peak_hour=10.0, drift_per_day=2.0,
    sigma=450.0, tau=1.5 * DAY, low=30_000.0, high=110_000.0, resolution=1.0,
)  # fmt: skip
POWER = Shape(
    base=(60.0, 250.0), season=(5.0, 40.0), daily=(20.0, 80.0), peak_hour=13.0, drift_per_day=0.0,
    sigma=6.0, tau=60.0, low=0.0, high=20_000.0, resolution=0.1,
    step=(200.0, 2200.0), step_dwell=(600.0, 240.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A metric: constructor of its signal, and SenML unit (RFC 8428 section 12.1; None: a boolean)."""

    create: Callable[[Random], Signal]
    unit: str | None


KINDS: dict[str, Kind] = {
    'temperature': Kind(lambda rng: Analog(rng, TEMPERATURE), 'Cel'),
    'humidity': Kind(lambda rng: Analog(rng, HUMIDITY), '%RH'),
    'pressure': Kind(lambda rng: Analog(rng, PRESSURE), 'Pa'),
    'power': Kind(lambda rng: Analog(rng, POWER), 'W'),
    'battery': Kind(Battery, '%EL'),
    'door': Kind(Door, None),
    'counter': Kind(Counter, 'count'),
}
