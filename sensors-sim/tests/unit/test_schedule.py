from __future__ import annotations

import json
from itertools import islice, pairwise
from typing import NamedTuple

import pytest

from tidegauge_sim.devices import Message
from tidegauge_sim.options import Options, load
from tidegauge_sim.publisher import shares
from tidegauge_sim.schedule import fleet, schedule

ROUGH = ('--profile', 'rough', '--until-count', '20000')


def options(*flags: str) -> Options:
    return load(['--start', '2026-01-01', *flags], {})


def messages(*flags: str) -> list[Message]:
    return list(schedule(options(*flags)))


class Stamp(NamedTuple):
    boot: str
    seq: int


def stamps(stream: list[Message]) -> list[Stamp]:
    return [Stamp(message.boot, message.seq) for message in stream]


def times(stream: list[Message]) -> list[int]:
    return [json.loads(message.payload)['t'] for message in stream]


def by_device(stream: list[Message]) -> dict[int, list[Message]]:
    devices: dict[int, list[Message]] = {}
    for message in stream:
        devices.setdefault(message.device, []).append(message)
    return devices


def test_two_runs_of_one_seed_are_the_same_to_the_byte() -> None:
    assert messages(*ROUGH) == messages(*ROUGH)


def test_another_seed_gives_another_stream() -> None:
    assert messages(*ROUGH) != messages(*ROUGH, '--seed', '2')


def test_the_number_of_processes_does_not_change_any_sensors_stream() -> None:
    whole = by_device(messages(*ROUGH))
    spread = options(*ROUGH, '--processes', '3')
    apart: dict[int, list[Message]] = {}
    for part in shares(spread):
        apart |= by_device(list(schedule(spread, part)))
    assert apart == whole


def test_every_sensor_belongs_to_one_process() -> None:
    parts = shares(options('--sensors', '101', '--processes', '4', '--gateways', '7'))
    assert sorted(number for part in parts for number in part) == list(range(101))
    assert len(parts) == 4


def test_messages_come_in_the_order_in_which_they_are_due() -> None:
    stream = messages(*ROUGH)
    assert all(a.due <= b.due for a, b in pairwise(stream))


@pytest.mark.parametrize('count', [1, 49, 50, 12_345])
@pytest.mark.parametrize('profile', ['calm', 'rough'])
def test_until_count_is_exact(count: int, profile: str) -> None:
    assert len(messages('--until-count', str(count), '--profile', profile)) == count


def test_a_calm_fleet_sends_every_period_without_faults() -> None:
    stream = messages('--sensors', '5', '--period', '2', '--duration', '100', '--metrics', 'temperature,door')
    assert len(stream) == 5 * 50 * 2
    for device in by_device(stream).values():
        assert stamps(device) == [(device[0].boot, seq) for seq in range(100)]
        assert all(message.distinct == 1 and not message.copy for message in device)
        moments = times(device)[::2]
        assert moments == times(device)[1::2]
        assert all(abs(b - a - 2_000_000) <= 200_000 for a, b in pairwise(moments))


def test_a_rate_is_reached_by_the_whole_fleet() -> None:
    stream = messages('--rate', '500', '--duration', '20')
    assert len(stream) == pytest.approx(10_000, rel=0.02)


def test_no_reading_is_due_before_its_measurement() -> None:
    start = options().start
    for message, time in zip(stream := messages(*ROUGH, '--skew', '0'), times(stream), strict=True):
        assert start + message.due >= time


@pytest.mark.parametrize('ending', [('--duration', '300'), ('--until-count', '20000')])
def test_faults_leave_no_gap_within_a_boot(ending: tuple[str, str]) -> None:
    for device in by_device(messages('--profile', 'rough', *ending)).values():
        originals = stamps([message for message in device if not message.copy])
        assert len(originals) == len(set(originals))
        for boot in {stamp.boot for stamp in originals}:
            assert sorted(stamp.seq for stamp in originals if stamp.boot == boot) == list(
                range(sum(stamp.boot == boot for stamp in originals))
            )


def test_a_reboot_changes_boot_and_restarts_seq_and_counters() -> None:
    stream = messages('--sensors', '1', '--metrics', 'counter', '--reboots', '0.02', '--duration', '600')
    restarts = [(a, b) for a, b in pairwise(stream) if a.boot != b.boot]
    assert restarts
    for before, after in restarts:
        assert after.seq == 0
        assert json.loads(after.payload)['v'] < max(json.loads(before.payload)['v'], 1) + 10


def test_duplicates_repeat_payloads_and_add_no_distinct_readings() -> None:
    stream = messages('--sensors', '10', '--duplicates', '0.1', '--until-count', '5000')
    copies = [message for message in stream if message.copy]
    assert len(copies) == pytest.approx(455, rel=0.2)
    originals = {(message.topic, message.payload) for message in stream if not message.copy}
    assert all((message.topic, message.payload) in originals and message.distinct == 0 for message in copies)
    assert sum(message.distinct for message in stream) == len(originals)


def test_late_readings_arrive_after_newer_ones() -> None:
    stream = messages('--sensors', '1', '--metrics', 'temperature', '--late', '0.1', '--until-count', '2000')
    overtaken = sum(b < a for a, b in pairwise(times(stream)))
    assert overtaken == pytest.approx(200, rel=0.3)


def test_after_a_dropout_the_missed_readings_follow() -> None:
    stream = messages(
        '--sensors', '1', '--metrics', 'temperature', '--dropouts', '0.01', '--duration', '3000'
    )
    pauses = [(a, b) for a, b in pairwise(stream) if b.due - a.due > 5_000_000]
    assert pauses
    assert sorted(times(stream)) == times(sorted(stream, key=lambda message: message.seq))
    start = options().start
    _, back = pauses[0]
    assert start + back.due - json.loads(back.payload)['t'] > 4_000_000


def test_skewed_clocks_are_wrong_but_never_go_backwards() -> None:
    stream = messages('--sensors', '40', '--skew', '0.5', '--until-count', '4000', '--metrics', 'temperature')
    start = options().start
    off = 0
    for device in by_device(stream).values():
        assert all(a < b for a, b in pairwise(times(device)))
        off += abs(times(device)[0] - start - device[0].due) > 1_000_000
    assert 8 <= off <= 32


def test_faults_do_not_change_the_values() -> None:
    flags = ('--sensors', '3', '--metrics', 'temperature', '--duration', '200')
    calm = {message.payload for message in messages(*flags)}
    noisy = {message.payload for message in messages(*flags, '--duplicates', '0.2', '--late', '0.2')}
    assert noisy == calm


def test_readings_with_equal_times_after_rounding_are_counted_once() -> None:
    flags = ('--sensors', '1', '--metrics', 'temperature', '--rate', '5000', '--until-count', '5000')
    stream = messages(*flags, '--time-unit', 'ms')
    assert sum(message.distinct for message in stream) == len(set(times(stream))) < 1500


def test_a_senml_topic_without_metric_has_one_message_per_measurement() -> None:
    stream = messages('--format', 'senml', '--topic', 'packs/{device}', '--duration', '10', '--sensors', '2')
    climate = [message for message in stream if message.device == 1]
    assert [message.seq for message in climate] == list(range(0, 30, 3))
    assert all(message.readings == message.distinct == 3 for message in climate)


def test_device_names_are_unique_paths_with_a_mixed_fleet() -> None:
    devices = fleet(options('--sensors', '500'))
    assert len({device.name for device in devices}) == 500
    assert devices[0].name.startswith('site-1/')
    assert {metric for device in devices for metric in device.metrics} == {
        'temperature', 'humidity', 'pressure', 'power', 'counter', 'door', 'battery',
    }  # fmt: skip


def test_the_schedule_is_lazy() -> None:
    endless = schedule(options('--rate', '1000000', '--sensors', '1000'))
    assert len(list(islice(endless, 5000))) == 5000
