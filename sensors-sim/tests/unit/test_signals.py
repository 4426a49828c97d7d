from __future__ import annotations

from itertools import pairwise
from random import Random
from statistics import fmean, pstdev

import pytest

from tidegauge_sim.signals import (
    DAY,
    KINDS,
    POWER,
    TEMPERATURE,
    Analog,
    Battery,
    Counter,
    Noise,
    Switch,
    Value,
)

START = 1_790_000_000.0


def samples(kind: str, seed: str, count: int = 500, step: float = 60.0) -> list[Value]:
    signal = KINDS[kind].create(Random(seed))
    return [signal.sample(START + number * step) for number in range(count)]


@pytest.mark.parametrize('kind', KINDS)
def test_a_signal_is_the_same_for_the_same_seed_and_times(kind: str) -> None:
    assert samples(kind, '1/7') == samples(kind, '1/7')


@pytest.mark.parametrize('kind', [kind for kind in KINDS if kind != 'door'])
def test_a_signal_differs_between_seeds(kind: str) -> None:
    assert samples(kind, '1/7') != samples(kind, '2/7')


@pytest.mark.parametrize(
    ('kind', 'low', 'high'),
    [
        ('temperature', -40, 125), ('humidity', 0, 100), ('pressure', 30_000, 110_000),
        ('power', 0, 20_000), ('battery', 0, 100), ('counter', 0, 1e9),
    ],
)  # fmt: skip
def test_a_signal_stays_in_its_range_for_a_year(kind: str, low: float, high: float) -> None:
    values = samples(kind, '1/3', count=9000, step=3600.0)
    assert low <= min(values) <= max(values) <= high


def test_noise_has_the_configured_deviation_and_correlation_time() -> None:
    noise = Noise(Random(1), sigma=2.0, tau=10.0)
    values = [noise.sample(float(second)) for second in range(50_000)]
    assert pstdev(values) == pytest.approx(2.0, rel=0.05)
    lagged = fmean(a * b for a, b in zip(values, values[10:], strict=False)) / pstdev(values) ** 2
    assert lagged == pytest.approx(0.368, abs=0.05)


def test_noise_does_not_depend_on_the_sampling_interval() -> None:
    coarse = Noise(Random(2), sigma=1.0, tau=60.0)
    assert pstdev([coarse.sample(second * 600.0) for second in range(5_000)]) == pytest.approx(1.0, rel=0.05)


def test_a_switch_spends_its_dwell_time_in_each_state() -> None:
    switch = Switch(Random(3), off=30.0, on=10.0)
    states = [switch.sample(float(second)) for second in range(100_000)]
    assert fmean(states) == pytest.approx(0.25, abs=0.02)
    changes = sum(a != b for a, b in pairwise(states))
    assert changes == pytest.approx(2 * 100_000 / 40, rel=0.1)


def test_temperature_is_higher_in_the_afternoon_than_at_night() -> None:
    signal = Analog(Random('noon'), TEMPERATURE)
    by_hour: dict[int, list[float]] = {}
    for hour in range(24 * 60):
        by_hour.setdefault(hour % 24, []).append(signal.sample(DAY * 20_000 + hour * 3600.0))
    assert fmean(by_hour[14]) > fmean(by_hour[2])


def test_power_moves_in_steps() -> None:
    signal = Analog(Random('1/3/power'), POWER)
    values = [signal.sample(START + second) for second in range(0, 20_000, 10)]
    assert max(abs(b - a) for a, b in pairwise(values)) > 150


def test_a_battery_discharges_slowly_and_recharges_fast() -> None:
    battery = Battery(Random(4))
    values = [battery.sample(START + minute * 60.0) for minute in range(40 * 24 * 60)]
    steps = [b - a for a, b in pairwise(values)]
    falling, rising = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
    assert rising > 0
    assert max(values) == pytest.approx(100.0, abs=1.0)
    assert max(steps) > 5 * -min(steps)
    assert falling > rising


def test_a_counter_only_grows_until_a_reboot_resets_it() -> None:
    counter = Counter(Random(5))
    values = [counter.sample(START + second) for second in range(1000)]
    assert all(a <= b for a, b in pairwise(values))
    assert values[-1] > 0
    counter.reboot()
    assert counter.sample(START + 1001.0) < values[-1]


def test_a_door_is_true_or_false() -> None:
    assert set(map(type, samples('door', '1/1'))) == {bool}
    assert len(set(samples('door', '1/1', count=5000))) == 2
