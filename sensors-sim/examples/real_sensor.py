"""A real sensor: stamps boot and seq, and keeps a reading until the broker has it.

BROKER=192.168.1.10 DEVICE=site-1/roof/probe-1 python real_sensor.py
"""

import json
import os
import time
import uuid
from pathlib import Path

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

env = os.environ.get
device = os.environ['DEVICE']
thermometer = Path(env('THERMOMETER', '/sys/class/thermal/thermal_zone0/temp'))

client = Client(CallbackAPIVersion.VERSION2, device.replace('/', '-'), protocol=MQTTProtocolVersion.MQTTv5)
if user := env('MQTT_USER'):
    client.username_pw_set(user, os.environ['MQTT_PASSWORD'])
client.max_queued_messages_set(10_000)  # what it keeps while the broker is away
client.connect_async(env('BROKER', '127.0.0.1'), int(env('PORT', '1883')))
client.loop_start()  # connects, and again whenever the connection is lost

boot = uuid.uuid4().hex[:8]  # new at every start: tells a restart from a gap
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
