from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import Mosquitto, Simulator, Subscriber, running


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    yield from running(Mosquitto(tmp_path))


@pytest.fixture
def subscriber(broker: Mosquitto) -> Iterator[Subscriber]:
    made = Subscriber(broker.port)
    yield made
    made.close()


@pytest.fixture
def simulate() -> Iterator[Callable[..., Simulator]]:
    started: list[Simulator] = []

    def start(*flags: str, **environment: str) -> Simulator:
        started.append(Simulator(*flags, **environment))
        return started[-1]

    yield start
    for simulator in started:
        simulator.kill()
