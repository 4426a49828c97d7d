from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support import Mosquitto, Subscriber

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'real_sensor.py'


def test_the_real_sensor_stamps_what_it_measures(
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
