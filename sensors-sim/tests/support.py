from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from paho.mqtt.client import Client, ConnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

DEADLINE = 20.0
SEARCH_PATH = f'{os.environ.get("PATH", "")}:/usr/sbin:/usr/local/sbin'


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f'waited {DEADLINE:.0f} s for {what}')
        time.sleep(0.01)


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as server:
        port: int = server.getsockname()[1]
        return port


def find_mosquitto() -> str:
    """Path of mosquitto. Skips the test if it is not installed; fails it in CI."""
    path = shutil.which('mosquitto', path=SEARCH_PATH)
    if path is None and os.environ.get('CI'):
        pytest.fail('mosquitto is not installed')
    if path is None:
        pytest.skip('mosquitto is not installed; to install it, run: npm test -- servers --install')
    return path


class Mosquitto:
    """A broker on a free port that can be stopped and started again."""

    def __init__(self, folder: Path, settings: str = 'allow_anonymous true\n') -> None:
        self._command = find_mosquitto()
        self.port = free_port()
        self._config = folder / 'mosquitto.conf'
        self._log = folder / 'mosquitto.log'
        self._config.write_text(
            f'listener {self.port} 127.0.0.1\nmax_queued_messages 0\nuser {getpass.getuser()}\n'
            f'persistence true\npersistence_location {folder}/\n{settings}'
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open('ab') as log:
            self._process = subprocess.Popen([self._command, '-c', self._config], stdout=log, stderr=log)
        wait_until(self._answers, f'mosquitto on port {self.port}')

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(DEADLINE)
            self._process = None

    def _answers(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            pytest.fail(f'mosquitto did not start: {self._log.read_text()}')
        try:
            socket.create_connection(('127.0.0.1', self.port), timeout=1.0).close()
        except OSError:
            return False
        return True


class Subscriber:
    """Keeps every message in order, also when the broker restarts."""

    def __init__(self, port: int, topic: str = '#', qos: int = 2) -> None:
        self.received: list[tuple[str, bytes]] = []
        # Times of receipt, microseconds since the epoch.
        self.times: list[int] = []
        self._subscribed = threading.Event()
        self._subscription = (topic, qos)
        client = Client(
            CallbackAPIVersion.VERSION2,
            'subscriber',
            clean_session=False,
            protocol=MQTTProtocolVersion.MQTTv311,
        )
        client.reconnect_delay_set(1, 1)
        client.on_connect = self._on_connect
        client.on_subscribe = lambda *_: self._subscribed.set()
        client.on_message = self._on_message
        client.connect('127.0.0.1', port)
        client.loop_start()
        self._client = client
        assert self._subscribed.wait(DEADLINE)

    def wait(self, count: int) -> list[tuple[str, bytes]]:
        wait_until(lambda: len(self.received) >= count, f'{count} messages, got {len(self.received)}')
        return self.received

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _on_connect(
        self,
        client: Client,
        _userdata: object,
        _flags: ConnectFlags,
        _reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        client.subscribe(*self._subscription)

    def _on_message(self, _client: Client, _userdata: object, message: MQTTMessage) -> None:
        self.times.append(time.time_ns() // 1000)
        self.received.append((message.topic, bytes(message.payload)))


class Simulator:
    """The command as a separate process."""

    def __init__(self, *flags: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'tidegauge_sim', *flags],
            env={'PATH': os.environ['PATH'], **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.out = self.err = ''

    def finish(self, timeout: float = 60.0) -> int:
        self.out, self.err = self._process.communicate(timeout=timeout)
        return self._process.returncode

    def error_line(self) -> str:
        """The next line on standard error."""
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def interrupt(self, number: int = signal.SIGINT) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def running(mosquitto: Mosquitto) -> Iterator[Mosquitto]:
    mosquitto.start()
    yield mosquitto
    mosquitto.stop()
