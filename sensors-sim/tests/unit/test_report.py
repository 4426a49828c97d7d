from __future__ import annotations

import json
from pathlib import Path

from tidegauge_sim.options import Options, load
from tidegauge_sim.publisher import shares
from tidegauge_sim.report import Tally, document, succeeded, summary, write
from tidegauge_sim.schedule import fleet, schedule


def published(options: Options, parts: list[list[int]]) -> Tally:
    whole = Tally(())
    for part in parts:
        tally = Tally(part)
        for message in schedule(options, part):
            tally.publish(message)
            tally.settle(message)
        whole.merge(tally)
    return whole


def test_the_parts_of_three_processes_add_up_to_one_run() -> None:
    flags = ['--profile', 'rough', '--until-count', '5000', '--start', '2026-01-01']
    options = load([*flags, '--processes', '3'], {})
    spread = document(published(options, shares(options)), fleet(options), options, 1.0)
    alone = document(published(options, [list(range(50))]), fleet(options), options, 1.0)
    assert spread == alone
    totals = spread['totals']
    assert totals['published'] == totals['acknowledged'] == 5000
    for key in ('published', 'acknowledged', 'values', 'distinct'):
        assert sum(device[key] for device in spread['devices']) == totals[key]
    readings = sum(boot['readings'] for device in spread['devices'] for boot in device['boots'])
    assert readings == totals['distinct']
    assert all(
        boot['last'] - boot['first'] + 1 == boot['readings'] and boot['first'] == 0
        for device in spread['devices']
        for boot in device['boots']
    )


def test_the_report_of_plain_payloads_has_no_boots_and_no_distinct_readings() -> None:
    options = load(['--format', 'plain', '--until-count', '100'], {})
    content = document(published(options, shares(options)), fleet(options), options, 1.0)
    assert content['totals']['distinct'] is None
    assert content['devices'][0]['boots'] is None


def test_the_report_of_senml_payloads_has_distinct_readings_but_no_boots() -> None:
    options = load(['--format', 'senml', '--until-count', '100'], {})
    content = document(published(options, shares(options)), fleet(options), options, 1.0)
    assert content['totals']['distinct'] == 100
    assert content['devices'][0]['boots'] is None


def test_the_report_of_qos_0_has_no_acknowledgements() -> None:
    options = load(['--qos', '0', '--until-count', '100'], {})
    tally = published(options, shares(options))
    assert document(tally, fleet(options), options, 1.0)['totals']['acknowledged'] is None
    assert 'QoS 0 has no acknowledgements' in summary(tally, options, 1.0)


def test_a_run_succeeds_only_when_every_message_is_acknowledged() -> None:
    options = load(['--until-count', '2', '--sensors', '1', '--metrics', 'door'], {})
    first, second = schedule(options)
    tally = Tally([0])
    tally.publish(first)
    tally.publish(second)
    tally.settle(first)
    assert not succeeded(tally)
    assert 'published 2, acknowledged 1, unacknowledged 1' in summary(tally, options, 2.0)
    tally.reject(second)
    assert not succeeded(tally)
    tally = published(options, [[0]])
    assert succeeded(tally)
    tally.failures.append('refused')
    assert not succeeded(tally)


def test_a_report_replaces_the_old_file_atomically(tmp_path: Path) -> None:
    path = tmp_path / 'report.json'
    path.write_text('old')
    write(path, {'a': 1})
    assert json.loads(path.read_text()) == {'a': 1}
    assert list(tmp_path.iterdir()) == [path]


def test_the_report_has_the_numbers_that_the_broker_acknowledged() -> None:
    options = load(['--until-count', '400', '--profile', 'rough'], {})
    tally = Tally(range(options.sensors))
    messages = list(schedule(options))
    for number, message in enumerate(messages):
        tally.publish(message)
        if number % 3:
            tally.settle(message)
    content = document(tally, fleet(options), options, 1.0)
    acknowledged = {
        (device['device'], boot['boot'], seq)
        for device in content['devices']
        for boot in device['boots']
        for first, last in boot['acknowledged']
        for seq in range(first, last + 1)
    }
    names = [device.name for device in fleet(options)]
    expected = {
        (names[message.device], message.boot, message.seq) for n, message in enumerate(messages) if n % 3
    }
    assert acknowledged == expected


def test_the_metric_of_a_number_follows_from_the_order_of_the_metrics() -> None:
    options = load(['--until-count', '700', '--profile', 'rough'], {})
    devices = fleet(options)
    for message in schedule(options):
        metrics = devices[message.device].metrics
        assert message.topic.endswith('/' + metrics[message.seq % len(metrics)])
