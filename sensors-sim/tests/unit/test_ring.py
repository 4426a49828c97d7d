from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tidegauge_sim.devices import Message
from tidegauge_sim.ring import Kept, Request, Ring, device_of, parse_request, request_filter


def message(seq: int, boot: str = 'b', size: int = 20) -> Message:
    payload = f'{boot} {seq} '.encode().ljust(size, b'.')
    return Message(0, 0, 'sensors/site-1/probe/level', payload, boot, seq, 1, 1, copy=False)


def filled(path: Path, numbers: Sequence[int], limit: int = 10**6) -> Ring:
    ring = Ring(path, limit)
    for seq in numbers:
        ring.add(message(seq))
    ring.commit()
    return ring


def numbers(answer: Sequence[Kept]) -> list[int]:
    return [int(each.payload.split()[1]) for each in answer if not each.topic.endswith('/kept')]


def declared(answer: Sequence[Kept]) -> list[object]:
    return [json.loads(each.payload) for each in answer if each.topic == 'sensors/site-1/probe/kept']


def test_what_was_kept_is_sent_again_after_the_process_was_killed(tmp_path: Path) -> None:
    filled(tmp_path / 'ring', range(10))
    # The first one was not closed, as after a kill.
    ring = Ring(tmp_path / 'ring')
    answer = list(ring.answer(Request('site-1/probe', 'b', [(2, 4), (7, 99)])))
    assert numbers(answer) == [2, 3, 4, 7, 8, 9]
    assert declared(answer) == []
    assert ring.newest() == [Kept('sensors/site-1/probe/level', message(9).payload)]


def test_the_oldest_messages_are_dropped_and_declared_gone(tmp_path: Path) -> None:
    path = tmp_path / 'ring'
    ring = filled(path, range(5000), limit=100_000)
    ring.close()
    ring = Ring(path, 100_000)
    answer = list(ring.answer(Request('site-1/probe', 'b', [(0, 0), (4990, 4999)])))
    assert numbers(answer) == list(range(4990, 5000))
    ((declaration),) = declared(answer)
    assert isinstance(declaration, dict)
    assert declaration['boot'] == 'b'
    assert 4000 < declaration['kept'] < 4990
    assert path.stat().st_size < 10**6


def test_a_boot_that_was_not_kept_is_declared_gone(tmp_path: Path) -> None:
    answer = list(filled(tmp_path / 'ring', [1]).answer(Request('site-1/probe', 'other', [(0, 3)])))
    assert answer == [Kept('sensors/site-1/probe/kept', b'{"boot": "other", "kept": null}')]


@pytest.mark.parametrize(
    'payload',
    [b'', b'{', b'[]', b'7', b'{"device":"d","boot":"b"}', b'{"device":"d","boot":"b","ranges":[]}',
     b'{"device":1,"boot":"b","ranges":[[1,2]]}', b'{"device":"d","boot":"b","ranges":[[1]]}',
     b'{"device":"d","boot":"b","ranges":[["x",2]]}', b'{"device":"d","boot":"b","ranges":7}',
     b'\xff', b' ' * 5000, b'[' * 4000, b'{"device":"d","boot":"b","ranges":[[1e999,2]]}',
     b'{"device":"d","boot":"b","ranges":[[-1,2]]}', b'{"device":"d","boot":"b","ranges":[[3,2]]}',
     b'{"device":"d","boot":"b","ranges":[[0,9999999999999999]]}'],
)  # fmt: skip
def test_other_payloads_are_no_requests(payload: bytes) -> None:
    assert parse_request(payload) is None


def test_a_request_is_read_and_its_topic_is_that_of_the_device() -> None:
    request = parse_request(b'{"device":"site-1/probe","boot":"b","ranges":[[7,9],[1,2]]}')
    assert request == Request('site-1/probe', 'b', [(1, 2), (7, 9)])
    assert device_of('sensors/simulated-1/site-1/probe/level') == 'simulated-1/site-1/probe'
    assert request_filter('sensors/{device}/{metric}') == 'tidegauge/resend/#'
    assert request_filter('sensors/simulated-1/{device}/{metric}') == 'tidegauge/resend/simulated-1/#'
