"""Keeps readings in a SQLite file until the broker acknowledges them: over an outage of the broker, and of power."""

import json
import os
import sqlite3
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

env = os.environ.get
USER = env('MQTT_USER', 'site-1')  # A user of a deployed broker can only publish below sensors/USER.


class Outbox:
    """A queue on disk and its connection. When it is full, the oldest readings are dropped."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(env('OUTBOX', 'outbox.db'), isolation_level=None)
        self.db.execute('create table if not exists outbox (id integer primary key autoincrement, topic, payload)')
        self.keep = int(env('KEEP', '100000'))  # readings, about 100 bytes each
        self.boot, self.seq = uuid.uuid4().hex[:8], Counter[str]()  # a new boot at every start
        self.sent, self.waiting, self.acknowledged = 0, dict[int, int](), deque[int]()
        self.client = Client(CallbackAPIVersion.VERSION2, f'sensor-{uuid.uuid4().hex[:12]}')
        self.client.on_publish = lambda _client, _data, mid, *_: self.acknowledged.append(mid)
        self.client.reconnect_delay_set(1, 30)
        if 'MQTT_USER' in os.environ:
            self.client.username_pw_set(USER, env('MQTT_PASSWORD'))
        if 'CA_FILE' in os.environ:
            self.client.tls_set(env('CA_FILE'))
        self.client.connect_async(
            env('BROKER', '127.0.0.1'), int(env('PORT', '8883' if 'CA_FILE' in os.environ else '1883'))
        )
        self.client.loop_start()  # connects, and reconnects after each loss

    def add(self, device: str, metric: str, value: float) -> None:
        """Write a reading to the file, with its time and the next number of its device."""
        payload = {'t': time.time_ns() // 1000, 'v': value, 'boot': self.boot, 'seq': self.seq[device]}
        topic = f'sensors/{USER}/{device}/{metric}'
        self.seq[device] += 1
        new = self.db.execute('insert into outbox (topic, payload) values (?, ?)', (topic, json.dumps(payload)))
        self.db.execute('delete from outbox where id <= ?', ((new.lastrowid or 0) - self.keep,))

    def flush(self) -> None:
        """Publish what waits, 100 messages at once, and delete what the broker has acknowledged."""
        while self.acknowledged:
            self.db.execute('delete from outbox where id = ?', (self.waiting.pop(self.acknowledged.popleft(), None),))
        if self.client.is_connected():
            next_ones = 'select id, topic, payload from outbox where id > ? order by id limit ?'
            for number, topic, payload in self.db.execute(next_ones, (self.sent, 100 - len(self.waiting))).fetchall():
                self.sent = number
                self.waiting[self.client.publish(topic, payload, qos=1).mid] = number


def run(measure: Callable[[], Iterable[tuple[str, str, float]]]) -> None:
    """Measure every PERIOD seconds, and publish in between. `measure` gives a device, a metric and a value each."""
    outbox = Outbox()
    while True:
        due = time.monotonic() + float(env('PERIOD', '10'))
        try:
            for device, metric, value in measure():
                outbox.add(device, metric, value)
        except OSError as error:
            print('no measurement:', error)
        while time.monotonic() < due:
            outbox.flush()
            time.sleep(0.05)
