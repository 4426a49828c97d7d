import math
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support import Answers
from tidegauge_client import Client, ProblemError, UnreachableError, __version__
from tidegauge_client.sending import batches, with_times


def test_a_request_that_fails_temporarily_is_repeated_after_retry_after() -> None:
    with Answers(503, 200) as server:
        began = time.monotonic()
        assert list(Client(server.url, 'tg_key').devices()) == []
        assert time.monotonic() - began >= 1
        assert server.seen == ['Bearer tg_key', 'Bearer tg_key']


@pytest.mark.parametrize('status', [302, 401, 503])
def test_a_request_is_not_repeated_when_it_is_refused_or_when_the_time_is_over(status: int) -> None:
    with Answers(status) as server:
        with pytest.raises(ProblemError) as caught:
            list(Client(server.url, retry_for=0).devices())
        assert (caught.value.status, caught.value.problem) == (status, None)
        assert len(server.seen) == 1


def test_no_connection_is_reported_with_its_reason() -> None:
    with pytest.raises(UnreachableError, match='refused'):
        list(Client('http://127.0.0.1:1', retry_for=0).devices())


@pytest.mark.parametrize('url', ['127.0.0.1:8080', 'mqtt://127.0.0.1', 'http://', ''])
def test_an_address_that_is_not_of_an_api_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ValueError, match=r'such as http://127.0.0.1:8080'):
        Client(url)


@pytest.mark.parametrize('value', [math.nan, math.inf, None, [1]])
def test_a_value_that_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r'readings\[1\]'):
        with_times([{'v': 1}, {'v': value}])


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match='no time zone'):
        with_times([{'v': 1, 't': datetime(2026, 11, 21)}])  # noqa: DTZ001


def test_every_reading_gets_another_time() -> None:
    times = [reading['t'] for reading in with_times([{'v': 1}] * 1000)]
    assert len(set(times)) == 1000


def test_batches_have_every_reading_once_and_are_within_their_size() -> None:
    readings = with_times([{'v': 'x' * size, 't': datetime.now(UTC)} for size in (10, 500, 20, 30, 40)])
    found = list(batches(readings, 200))
    assert [first for first, _ in found] == [0, 1, 2, 4]
    assert all(len(body) <= 200 for first, body in found if first != 1)
    assert list(batches([], 200)) == []
    many = with_times([{'v': 1}] * 12_000)
    assert [first for first, _ in batches(many, 2**30)] == [0, 5000, 10_000]


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / 'pyproject.toml').read_text())['project']
    assert __version__ == project['version']
