"""Keeps the last readings in a SQLite file, over an outage of the broker and of power.

A reading is published until the broker acknowledges it. It stays in the file, to be sent again when ingest lacks it.
"""

import json
import os
import sqlite3
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable
from io import TextIOWrapper

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

env = os.environ.get
USER = env('MQTT_USER', 'site-1')  # A user of a deployed broker can only publish below sensors/USER.
SCHEMA = """
create table if not exists readings (id integer primary key autoincrement, device, boot, seq, topic, payload, sent);
create index if not exists numbers on readings (device, boot, seq);
create index if not exists unsent on readings (id) where sent = 0;
create table if not exists outbox (id, topic, payload); -- of an earlier version
insert into readings (topic, payload, sent) select topic, payload, 0 from outbox order by id;
drop table outbox;
-- After a restart the newest reading is sent again, so that a loss before it is seen.
update readings set sent = 0 where id in (select max(id) from readings group by device);
"""


class Outbox:
    """The last readings on disk, and the connection. When the file is full, the oldest are dropped."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(env('OUTBOX', 'outbox.db'), isolation_level=None)
        self.db.executescript(SCHEMA)
        self.keep = int(env('KEEP', '100000'))  # readings, about 100 bytes each
        self.boot, self.seq = uuid.uuid4().hex[:8], Counter[str]()  # a new boot at every start
        self.sent, self.waiting, self.acknowledged = 0, dict[int, int](), deque[int]()
        self.requests = deque[bytes](maxlen=100)
        self.client = Client(CallbackAPIVersion.VERSION2, f'sensor-{uuid.uuid4().hex[:12]}')
        self.client.on_publish = lambda _client, _data, mid, *_: self.acknowledged.append(mid)
        self.client.on_connect = lambda client, *_: client.subscribe(f'tidegauge/resend/{USER}/#')
        self.client.on_message = self.request
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
        row = (f'{USER}/{device}', self.boot, payload['seq'], topic, json.dumps(payload))
        columns = 'device, boot, seq, topic, payload, sent'
        new = self.db.execute(f'insert into readings ({columns}) values (?, ?, ?, ?, ?, 0)', row)
        self.db.execute('delete from readings where id <= ?', ((new.lastrowid or 0) - self.keep,))

    def request(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        """Take a request for readings that ingest lacks. `flush` answers it."""
        self.requests.append(bytes(message.payload))

    def answer(self, payload: bytes) -> None:
        """Publish the requested readings again. If older ones are requested, state which is the first one here."""
        request = json.loads(payload)
        owner = (request['device'], request['boot'])
        if not self.db.execute('select 1 from readings where device = ? limit 1', owner[:1]).fetchone():
            return  # another program has this device
        where = 'where device = ? and boot = ?'
        (first,) = self.db.execute(f'select min(seq) from readings {where}', owner).fetchone()
        for numbers in request['ranges']:
            self.db.execute(f'update readings set sent = 0 {where} and seq between ? and ?', (*owner, *numbers))
        if first is None or request['ranges'][0][0] < first:
            topic, declaration = f'sensors/{request["device"]}/kept', {'boot': request['boot'], 'kept': first}
            self.client.publish(topic, json.dumps(declaration), qos=1)
        self.sent = 0  # what waits for an acknowledgement is published twice, and stored once

    def flush(self) -> None:
        """Publish what waits, 100 messages at once, and mark what the broker has acknowledged."""
        while self.acknowledged:
            number = self.waiting.pop(self.acknowledged.popleft(), None)
            self.db.execute('update readings set sent = 1 where id = ?', (number,))
        while self.requests:
            try:
                self.answer(self.requests.popleft())
            except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, sqlite3.Error) as error:
                print('no request:', error)
        if self.client.is_connected():
            next_ones = 'select id, topic, payload from readings where sent = 0 and id > ? order by id limit ?'
            for number, topic, payload in self.db.execute(next_ones, (self.sent, 100 - len(self.waiting))).fetchall():
                self.sent = number
                self.waiting[self.client.publish(topic, payload, qos=1).mid] = number


def run(measure: Callable[[], Iterable[tuple[str, str, float]]]) -> None:
    """Measure every PERIOD seconds, and publish in between. `measure` gives a device, a metric and a value each."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a log of the system shows each line at once
    outbox = Outbox()
    while True:
        due, before = time.monotonic() + float(env('PERIOD', '10')), outbox.seq.total()
        try:
            for device, metric, value in measure():
                outbox.add(device, metric, value)
            if outbox.seq.total() == before:
                print('no measurement: no sensor was found, or none has a value')
        except OSError as error:
            print('no measurement:', error)
        while time.monotonic() < due:
            outbox.flush()
            time.sleep(0.05)
