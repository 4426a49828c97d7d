from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from support import Mosquitto, Simulator, Subscriber, wait_until

Simulate = Callable[..., Simulator]


@pytest.mark.parametrize('version', ['5', '3.1.1'])
def test_a_killed_sensor_sends_what_it_kept_again(
    broker: Mosquitto, subscriber: Subscriber, simulate: Simulate, tmp_path: Path, version: str
) -> None:
    flags = ('--broker', f'mqtt://127.0.0.1:{broker.port}', '--sensors', '1', '--metrics', 'temperature',
             '--period', '0.05', '--ring', str(tmp_path / 'ring'), '--mqtt', version)  # fmt: skip
    killed = simulate(*flags)
    sent = list(subscriber.wait(20))[:20]
    killed.kill()
    topic = sent[0][0]
    device = topic.removeprefix('sensors/').rpartition('/')[0]
    boot = json.loads(sent[0][1])['boot']

    simulate(*flags)
    again = len(subscriber.received)
    # The new process begins with the last message of the old one.
    wait_until(lambda: len(subscriber.received) > again + 1, 'the messages of another boot')
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect('127.0.0.1', broker.port)
    client.loop_start()

    def request(boot: str, *ranges: list[int]) -> None:
        body = {'device': device, 'boot': boot, 'ranges': ranges}
        client.publish(f'tidegauge/resend/{device}', json.dumps(body), qos=1).wait_for_publish(10)

    try:
        request(boot, [3, 5], [10, 10])
        wanted = [sent[number] for number in (3, 4, 5, 10)]
        wait_until(lambda: all(subscriber.received.count(each) == 2 for each in wanted), 'the messages')
        request('unknown', [0, 7])
        declaration = (f'sensors/{device}/kept', b'{"boot": "unknown", "kept": null}')
        wait_until(lambda: declaration in subscriber.received, 'the declaration')
    finally:
        client.disconnect()
        client.loop_stop()
