from __future__ import annotations

import json
from decimal import Decimal

import pytest

from tidegauge_sim.payloads import Reading, TimeUnit, encoder, resolution
from tidegauge_sim.signals import Value

DEVICE = 'site-3/boiler/probe-7'
TIME = 1_790_000_000_123_456


def reading(metric: str = 'temperature', value: Value = 21.5, seq: int = 4) -> Reading:
    return Reading(metric, TIME, value, '1a0-2', seq)


@pytest.mark.parametrize(
    ('value', 'text'), [(21.5, b'21.5'), (True, b'true'), (False, b'false'), (17, b'17')]
)
def test_plain_is_the_bare_value(value: Value, text: bytes) -> None:
    assert encoder('plain', 'us')(DEVICE, [reading(value=value)]) == text


@pytest.mark.parametrize(
    ('unit', 'time'), [('us', TIME), ('ms', TIME // 1000), ('s', Decimal('1790000000.123456'))]
)
def test_json_carries_time_value_boot_and_seq(unit: TimeUnit, time: Decimal) -> None:
    payload = encoder('json', unit)(DEVICE, [reading()])
    assert json.loads(payload, parse_float=Decimal) == {
        't': time,
        'v': Decimal('21.5'),
        'boot': '1a0-2',
        'seq': 4,
    }


def test_json_writes_booleans_as_booleans() -> None:
    assert json.loads(encoder('json', 'us')(DEVICE, [reading('door', value=True)]))['v'] is True


def test_senml_names_device_and_metric_with_unit_and_exact_seconds() -> None:
    payload = encoder('senml', 'us')(DEVICE, [reading()])
    assert json.loads(payload, parse_float=str) == [
        {
            'bn': f'{DEVICE}/',
            'bt': '1790000000.123456',
            'n': 'temperature',
            'u': 'Cel',
            'v': '21.5',
        }
    ]


def test_senml_has_all_metrics_of_a_moment_under_one_base_name() -> None:
    pack = [reading(), reading('door', value=True, seq=5), reading('battery', value=80.1, seq=6)]
    records = json.loads(encoder('senml', 'us')(DEVICE, pack))
    assert [record['n'] for record in records] == ['temperature', 'door', 'battery']
    assert ['bn' in record for record in records] == [True, False, False]
    assert records[1]['vb'] is True
    assert 'u' not in records[1]
    assert records[2]['u'] == '%EL'


def test_only_json_in_milliseconds_loses_time() -> None:
    assert resolution('json', 'ms') == 1000
    assert resolution('json', 's') == resolution('json', 'us') == resolution('senml', 'ms') == 1
