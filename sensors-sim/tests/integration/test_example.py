from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support import Mosquitto, Subscriber, free_port

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'real_sensor.py'


def test_the_real_sensor_sends_value_time_boot_and_seq(
    broker: Mosquitto, subscriber: Subscriber, tmp_path: Path
) -> None:
    thermometer = tmp_path / 'temp'
    thermometer.write_text('48500\n')
    settings = {'DEVICE': 'site-1/roof/probe-1', 'PORT': str(broker.port), 'PERIOD': '0.01'}
    with subprocess.Popen(
        [sys.executable, EXAMPLE], env=os.environ | settings | {'THERMOMETER': str(thermometer)}
    ) as sensor:
        try:
            received = subscriber.wait(20)[:20]
        finally:
            sensor.kill()
    assert {topic for topic, _ in received} == {'sensors/site-1/roof/probe-1/temperature'}
    readings = [json.loads(payload) for _, payload in received]
    assert [reading['seq'] for reading in readings] == list(range(20))
    assert {reading['v'] for reading in readings} == {48.5}
    assert len({reading['boot'] for reading in readings}) == 1
    assert len({reading['t'] for reading in readings}) == 20


def run(arguments: list[str], **settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={'PATH': os.environ['PATH'], **settings},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_each_connection_that_fails_is_reported_with_its_reason(tmp_path: Path) -> None:
    thermometer = tmp_path / 'temp'
    thermometer.write_text('48500\n')
    with run([str(EXAMPLE)], PORT=str(free_port()), THERMOMETER=str(thermometer)) as sensor:
        assert sensor.stderr is not None
        lines = [sensor.stderr.readline(), sensor.stderr.readline()]
        sensor.kill()
    assert all('no connection: [Errno 111] Connection refused' in line for line in lines), lines


def test_without_paho_the_error_names_the_package() -> None:
    with run(['-S', str(EXAMPLE)]) as sensor:
        _, error = sensor.communicate(timeout=20)
    assert sensor.returncode == 1
    assert 'pip install "paho-mqtt>=2"' in error


def test_without_a_thermometer_the_error_names_the_variable(tmp_path: Path) -> None:
    with run([str(EXAMPLE)], THERMOMETER=str(tmp_path / 'none')) as sensor:
        _, error = sensor.communicate(timeout=20)
    assert sensor.returncode == 1
    assert 'set THERMOMETER' in error
