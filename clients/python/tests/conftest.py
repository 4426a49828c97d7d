"""A real Tidegauge for the tests: what `npm start` runs, with SQLite."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import Relay

ROOT = Path(__file__).parents[3]
TOKEN = 'a-long-and-random-token'


def free_port() -> int:
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        return int(server.getsockname()[1])


@pytest.fixture(scope='session')
def api_port() -> Iterator[int]:
    """The port of an API that requires TOKEN for changes."""
    port = free_port()
    with tempfile.TemporaryDirectory() as data:
        ports = ['--http-port', port, '--mqtt-port', free_port(), '--metrics-port', free_port()]
        options = ['--no-sim', '--data', data, '--listen', '0.0.0.0', '--mqtt-user', 'sensors']  # noqa: S104
        program = subprocess.Popen(
            [ROOT / 'node_modules/.bin/node', 'apps/tidegauge/src/main.ts', 'start', *options, *map(str, ports)],
            cwd=ROOT,
            env={**os.environ, 'API_TOKEN': TOKEN, 'MQTT_PASSWORD': TOKEN},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        late = threading.Timer(60, program.kill)
        late.start()
        assert program.stdout is not None
        output = ''
        for line in program.stdout:
            output += line
            if re.search('Tidegauge is running', line):
                break
        else:
            pytest.fail(f'the pipeline did not start: {output}')
        late.cancel()
        # Its output is read until it ends, so that it never waits for a full pipe.
        reader = threading.Thread(target=program.stdout.read)
        reader.start()
        yield port
        program.send_signal(signal.SIGINT)
        program.wait(60)
        reader.join()
        program.stdout.close()


@pytest.fixture
def relay(api_port: int) -> Iterator[Relay]:
    """A network between client and API that can fail."""
    with Relay(api_port) as made:
        yield made
