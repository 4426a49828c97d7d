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
    # While paho connects, the next message can overtake one that waits.
    assert sorted(reading['seq'] for reading in readings) == list(range(20))
    assert {reading['v'] for reading in readings} == {48.5}
    assert len({reading['boot'] for reading in readings}) == 1
    assert len({reading['t'] for reading in readings}) == 20


def test_the_real_sensor_publishes_over_tls(tmp_path: Path) -> None:
    certificate, key, thermometer = tmp_path / 'broker.pem', tmp_path / 'broker.key', tmp_path / 'temp'
    request = [
        'openssl',
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
    ]
    names = ['-subj', '/CN=broker', '-addext', 'subjectAltName=IP:127.0.0.1']
    subprocess.run([*request, *names, '-keyout', key, '-out', certificate], check=True, capture_output=True)
    thermometer.write_text('48500\n')
    port = free_port()
    tls = f'listener {port} 127.0.0.1\ncertfile {certificate}\nkeyfile {key}\n'
    broker = Mosquitto(tmp_path, f'allow_anonymous true\n{tls}')
    broker.start()
    subscriber = Subscriber(broker.port)
    settings = {
        'CA_FILE': str(certificate),
        'PORT': str(port),
        'DEVICE': 'pi',
        'THERMOMETER': str(thermometer),
    }
    try:
        with run([str(EXAMPLE)], **settings) as sensor:
            topic, _ = subscriber.wait(1)[0]
            sensor.kill()
    finally:
        subscriber.close()
        broker.stop()
    assert topic == 'sensors/pi/temperature'


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
