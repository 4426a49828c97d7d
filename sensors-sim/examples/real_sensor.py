"""A real sensor: stamps boot and seq, and keeps a reading until the broker has it.

BROKER=192.168.1.10 DEVICE=site-1/roof/probe-1 python3 real_sensor.py
"""

import json
import os
import re
import socket
import sys
import time
import uuid
from pathlib import Path

try:
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:
    sys.exit('paho-mqtt 2 is missing: python3 -m pip install "paho-mqtt>=2"')

env = os.environ.get
device = env('DEVICE') or re.sub('[^A-Za-z0-9_-]', '-', socket.gethostname())
thermometer = Path(env('THERMOMETER', '/sys/class/thermal/thermal_zone0/temp'))
if not thermometer.exists():
    sys.exit(f'{thermometer} is not there: set THERMOMETER to a file with thousandths of a degree')
host, port = env('BROKER', '127.0.0.1'), int(env('PORT', '1883'))


def say(what: object) -> None:
    """Report what happens to the connection."""
    sys.stderr.write(f'{host}:{port}: {what}\n')


boot = uuid.uuid4().hex[:8]  # new at every start: tells a restart from a gap
# MQTT 3.1.1, which every broker speaks.
client = Client(CallbackAPIVersion.VERSION2, f'sensor-{uuid.uuid4().hex[:12]}')
if user := env('MQTT_USER'):
    client.username_pw_set(user, env('MQTT_PASSWORD', ''))
client.on_connect = lambda *seen: say(f'refused: {seen[3]}' if seen[3].is_failure else 'connected')
client.on_connect_fail = lambda *_: say(f'no connection: {sys.exc_info()[1]}')
client.on_disconnect = lambda *seen: say(f'connection ended: {seen[3]}')
client.max_queued_messages_set(10_000)  # what it keeps while the broker is away
client.connect_async(host, port)
client.loop_start()  # connects, and again whenever the connection is lost

seq = 0  # counts this boot's readings over all metrics: a hole in it is a lost reading
while True:
    reading = {
        't': time.time_ns() // 1000,
        'v': int(thermometer.read_text()) / 1000,
        'boot': boot,
        'seq': seq,
    }
    client.publish(f'sensors/{device}/temperature', json.dumps(reading), qos=1)
    seq += 1
    time.sleep(float(env('PERIOD', '10')))
