"""The client against a real API and ingest with SQLite."""

import itertools
import random
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from conftest import TOKEN
from support import Relay
from tidegauge_client import (
    Client,
    Gap,
    KeptReadings,
    NewReading,
    NewReadings,
    ProblemError,
    SendError,
    UnreachableError,
)

START = datetime(2026, 11, 21, tzinfo=UTC)


def series(count: int) -> list[NewReading]:
    return [{'t': START + timedelta(seconds=seq), 'v': seq, 'boot': 'a1', 'seq': seq} for seq in range(count)]


@pytest.fixture
def client(relay: Relay) -> Client:
    return Client(f'http://127.0.0.1:{relay.port}', TOKEN)


def test_readings_are_sent_in_batches_and_read_page_by_page(client: Client) -> None:
    sent = client.send(series(250), device='site-1/pump', metric='rpm', batch_bytes=4096)
    assert sent == {'received': 250, 'stored': 250, 'duplicate': 0, 'quarantined': 0}
    assert client.send(series(10), device='site-1/pump', metric='rpm')['duplicate'] == 10
    read = list(client.readings('site-1/pump', order='asc', page_size=60))
    assert [(reading['value'], reading['seq']) for reading in read] == [(seq, seq) for seq in range(250)]
    some = client.readings('site-1/pump', since=START + timedelta(seconds=5), until=START.timestamp() + 8)
    assert [reading['value'] for reading in some] == [7, 6, 5]
    assert [reading['value'] for reading in client.latest('site-1/pump', 'nothing')] == [249]


def test_newest_readings_and_aggregates_of_several_devices(client: Client) -> None:
    for device in ('newest/a', 'newest/b'):
        client.send(series(120), device=device, metric='rpm')
    client.send([{'t': START, 'v': 'on'}], device='newest/b', metric='state')
    newest = [(each['device'], each['metric'], each['value']) for each in client.latest_of('newest', page_size=2)]
    assert newest == [('newest/a', 'rpm', 119), ('newest/b', 'rpm', 119), ('newest/b', 'state', 'on')]
    assert [reading['value'] for reading in client.latest_of('newest', metrics=['state'])] == ['on']
    found = client.aggregates(
        ['newest/a', 'newest/b'],
        ['rpm'],
        since=START,
        until=START + timedelta(minutes=2),
        bucket='1m',
        figures=['max'],
    )
    largest = {each['device']: [bucket['max'] for bucket in each['buckets']] for each in found}
    assert largest == {'newest/a': [59, 119], 'newest/b': [59, 119]}


def test_readings_of_a_device_are_deleted(client: Client) -> None:
    client.send(series(20), device='site-1/deleted', metric='rpm')
    since, until = START + timedelta(seconds=5), START + timedelta(seconds=15)
    assert client.delete_readings('site-1/deleted', since=since, until=until) == 10
    assert client.delete_readings('site-1/deleted', metric='rpm', since=since, until=until) == 0
    left = [reading['value'] for reading in client.readings('site-1/deleted', order='asc')]
    assert left == [*range(5), *range(15, 20)]
    with pytest.raises(ProblemError, match='is required'):
        client.delete_readings('site-1/deleted')


def test_an_export_continues_after_a_lost_connection(client: Client, relay: Relay) -> None:
    texts = [random.Random(seq).randbytes(1400).hex() for seq in range(1200)]
    for start in range(0, len(texts), 100):
        batch: list[NewReading] = [
            {'t': START + timedelta(seconds=seq), 'v': texts[seq]} for seq in range(start, start + 100)
        ]
        client.send(batch, device='export/a', metric='text')
    client.send(series(3), device='export/b', metric='rpm')
    read = []
    for reading in client.export(prefix='export', since=START):
        read.append((reading['device'], reading['value']))
        if len(read) in {2, 700}:
            relay.cut()
            relay.restore()
    assert read == [('export/a', text) for text in texts] + [('export/b', seq) for seq in range(3)]
    some = client.export('export/b', metrics=['rpm', 'none'], until=START + timedelta(seconds=2))
    assert [reading['value'] for reading in some] == [0, 1]
    with pytest.raises(ProblemError, match='prefix'):
        next(client.export('export/b', prefix='export'))


def test_an_export_without_its_last_line_is_no_complete_one(relay: Relay) -> None:
    impatient = Client(f'http://127.0.0.1:{relay.port}', TOKEN, retry_for=0.3)
    impatient.send(series(2), device='export/c', metric='rpm')
    readings = impatient.export('export/c')
    assert next(readings)['value'] == 0
    assert [reading['value'] for reading in readings] == [1]
    relay.cut()
    with pytest.raises(UnreachableError):
        next(impatient.export('export/c'))


def test_devices_are_read_and_changed(client: Client) -> None:
    client.send([{'v': 1, 'device': 'site-1/tür', 'metric': 'offen'}])
    fields = {'site': 'site-1', 'city': 'São Tomé', 'year': 2019}
    assert client.request('PUT', '/v1/devices/site-1/t%C3%BCr', body=fields)['city'] == 'São Tomé'
    assert [device['name'] for device in client.devices(city='São Tomé', year=2019)] == ['site-1/tür']
    assert client.device('site-1/tür')['year'] == 2019
    assert [reading['metric'] for reading in client.readings(city='São Tomé')] == ['offen']
    assert client.request('DELETE', '/v1/devices/site-1/t%C3%BCr') is None
    with pytest.raises(ProblemError, match='no device') as caught:
        client.device('site-1/tür')
    assert caught.value.status == 404


def test_without_the_token_a_change_is_refused(relay: Relay) -> None:
    stranger = Client(f'http://127.0.0.1:{relay.port}')
    with pytest.raises(SendError) as caught:
        stranger.send([{'v': 1}], device='a', metric='b')
    assert isinstance(caught.value.__cause__, ProblemError)
    assert caught.value.__cause__.status == 401
    assert len(caught.value.rest) == 1


def test_while_the_network_is_down_sending_is_tried_again(client: Client, relay: Relay) -> None:
    relay.cut()
    impatient = Client(f'http://127.0.0.1:{relay.port}', TOKEN, retry_for=0.3)
    with pytest.raises(SendError) as caught:
        impatient.send(series(3), device='site-1/tank', metric='level')
    assert len(caught.value.rest) == 3
    timer = threading.Timer(0.6, relay.restore)
    timer.start()
    assert client.send(series(5), device='site-1/tank', metric='level')['stored'] == 5
    timer.join()
    assert len(list(client.readings('site-1/tank'))) == 5


def test_the_live_stream_continues_after_a_lost_connection_without_loss(
    client: Client, relay: Relay, api_port: int
) -> None:
    direct = Client(f'http://127.0.0.1:{api_port}', TOKEN)
    seen = threading.Event()
    ended = threading.Event()

    def publish() -> None:
        # The stream has no position before its first event.
        for extra in itertools.count():
            if seen.wait(0.05) or ended.is_set():
                break
            direct.send([{'v': 0, 't': START + timedelta(microseconds=extra)}], device='site-1/flow', metric='rate')
        for number, reading in enumerate(series(46)[1:]):
            if number % 15 == 5:
                relay.cut()
            direct.send([reading], device='site-1/flow', metric='rate')
            if number % 15 == 10:
                relay.restore()

    publisher = threading.Thread(target=publish)
    publisher.start()
    values: list[object] = []
    deadline = time.monotonic() + 30
    for event in client.live(device='site-1', metric='rate'):
        assert isinstance(event, NewReadings)
        seen.set()
        values += [reading['value'] for reading in event.readings if reading['value'] != 0]
        if len(values) >= 45 or time.monotonic() > deadline:
            break
    ended.set()
    publisher.join()
    assert values == list(range(1, 46))


def test_a_stream_that_was_lost_before_its_first_event_reports_a_gap(client: Client, relay: Relay) -> None:
    def interrupt() -> None:
        relay.cut()
        relay.restore()

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    assert next(iter(client.live(device='nothing/is/here'))) == Gap(None, None)
    timer.join()


def test_a_stream_that_the_api_refuses_ends_with_the_reason(client: Client) -> None:
    with pytest.raises(ProblemError) as caught:
        next(iter(client.live(device='../etc')))
    assert caught.value.status == 400


def test_missing_readings_that_were_kept_are_sent_again_and_the_others_are_gone(client: Client) -> None:
    kept = KeptReadings()
    readings = series(20)
    for reading in readings[5:13]:
        kept.add({**reading, 't': reading['t']}, 'site-1/gaps', 'rpm')
    client.send(readings[:3] + readings[13:], device='site-1/gaps', metric='rpm', keep=kept)
    assert client.send_missing(kept, device='site-1')['stored'] == 8
    few = KeptReadings(most_bytes=1000)
    client.send(readings[19:], device='site-1/gaps', metric='rpm', keep=few)
    assert client.send_missing(few)['received'] == 0
    listed = {gap['device']: gap for gap in client.request('GET', '/v1/ledger')['gaps']['list']}
    gap = listed['site-1/gaps']
    assert (gap['missing'], gap['gone'], gap['ranges']) == (2, 2, [[3, 4]])
    assert client.request('GET', '/v1/ledger/missing', {'device': 'site-1/gaps'})['missing'] == []


def test_kept_readings_are_bounded_and_declare_what_they_lack() -> None:
    kept = KeptReadings(100_000)
    for seq in range(10_000):
        kept.add({'device': 'd', 'metric': 'm', 'v': seq, 'boot': 'b', 'seq': seq})
    kept.add({'device': 'd', 'metric': 'm', 'v': 1})
    answer = kept.answer('d', 'b', [[0, 0], [9990, 9999]])
    assert answer is not None
    readings, declaration = answer
    assert [reading['seq'] for reading in readings] == list(range(9990, 10_000))
    assert declaration is not None
    assert declaration['kept'] is not None
    assert 9000 < declaration['kept'] < 9990
    assert kept.answer('other', 'b', [[0, 9]]) is None
    assert kept.answer('d', 'earlier', [[0, 9]]) == ([], {'device': 'd', 'boot': 'earlier', 'kept': None})
