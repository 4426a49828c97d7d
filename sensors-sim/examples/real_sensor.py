"""A real sensor. It sends boot and seq, and keeps its last readings, to send again what did not arrive.

BROKER=192.168.1.10 DEVICE=site-1/roof/probe-1 python3 real_sensor.py
With TLS, also: CA_FILE=ca.pem MQTT_USER=site-1 MQTT_PASSWORD=...
"""

import json
import os
import re
import socket
import sys
import time
import uuid
from collections import deque
from pathlib import Path
from typing import Any

try:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:
    sys.exit('paho-mqtt 2 is not installed: python3 -m pip install "paho-mqtt>=2"')

env = os.environ.get
device = env('DEVICE') or re.sub('[^A-Za-z0-9_-]', '-', socket.gethostname())
thermometer = Path(env('THERMOMETER', '/sys/class/thermal/thermal_zone0/temp'))
if not thermometer.exists():
    sys.exit(f'{thermometer} does not exist: set THERMOMETER to a file with thousandths of a degree')
ca = env('CA_FILE')
host, port = env('BROKER', '127.0.0.1'), int(env('PORT', '8883' if ca else '1883'))


def log(event: object) -> None:
    """Print an event of the connection."""
    sys.stderr.write(f'{host}:{port}: {event}\n')


boot = uuid.uuid4().hex[:8]  # new at every start, to distinguish a restart from a gap
# MQTT 3.1.1, which every broker supports.
client = Client(CallbackAPIVersion.VERSION2, f'sensor-{uuid.uuid4().hex[:12]}')
if user := env('MQTT_USER'):
    client.username_pw_set(user, env('MQTT_PASSWORD', ''))
if ca:
    client.tls_set(ca)
kept = deque[tuple[int, str]](maxlen=10_000)  # the last readings with their numbers


def connected(*seen: Any) -> None:  # noqa: ANN401 paho's arguments
    """Receive the requests for readings that are missing."""
    log(f'refused: {seen[3]}' if seen[3].is_failure else 'connected')
    client.subscribe(f'tidegauge/resend/{device}')


def send_again(_client: Client, _data: object, message: MQTTMessage) -> None:
    """Publish what is requested and kept. If older readings are requested, state which is the first one."""
    request = json.loads(message.payload)
    known = dict(kept) if request['boot'] == boot else {}
    for first, last in request['ranges']:
        for number in [each for each in known if first <= each <= last]:
            client.publish(f'sensors/{device}/temperature', known[number], qos=1)
    oldest = min(known, default=None)
    if oldest is None or request['ranges'][0][0] < oldest:
        client.publish(f'sensors/{device}/kept', json.dumps({'boot': request['boot'], 'kept': oldest}), qos=1)


client.on_connect = connected
client.on_message = send_again
client.suppress_exceptions = True  # a message that is no request is logged
client.on_connect_fail = lambda *_: log(f'no connection: {sys.exc_info()[1]}')
client.on_disconnect = lambda *seen: log(f'connection ended: {seen[3]}')
client.max_queued_messages_set(10_000)  # kept while the broker is unavailable
client.connect_async(host, port)
client.loop_start()  # connects, and reconnects after each loss

seq = 0  # counts the readings of this boot over all metrics: a gap is a lost reading
while True:
    reading = {
        't': time.time_ns() // 1000,
        'v': int(thermometer.read_text()) / 1000,
        'boot': boot,
        'seq': seq,
    }
    kept.append((seq, json.dumps(reading)))
    client.publish(f'sensors/{device}/temperature', kept[-1][1], qos=1)
    seq += 1
    time.sleep(float(env('PERIOD', '10')))
