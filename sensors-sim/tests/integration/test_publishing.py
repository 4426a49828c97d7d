from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import Mosquitto, Simulator, Subscriber, find_mosquitto, free_port, running, wait_until
from tidegauge_sim.options import load
from tidegauge_sim.schedule import schedule

Simulate = Callable[..., Simulator]
FAST = ('--rate', '5000', '--sensors', '20')


def url(port: int, user: str = '') -> str:
    return f'mqtt://{user}127.0.0.1:{port}'


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.parametrize('qos', ['0', '1', '2'])
@pytest.mark.parametrize('version', ['5', '3.1.1'])
def test_every_message_arrives_once(
    broker: Mosquitto, subscriber: Subscriber, simulate: Simulate, qos: str, version: str
) -> None:
    flags = ('--qos', qos, '--mqtt', version, '--until-count', '1234', '--start', '2026-01-01', *FAST)
    simulator = simulate('--broker', url(broker.port), *flags)
    assert simulator.finish() == 0, simulator.err
    expected = [(message.topic, message.payload) for message in schedule(load(flags, {}))]
    assert Counter(subscriber.wait(1234)) == Counter(expected)
    assert simulator.out.startswith('published 1234, ')
    assert ('acknowledged 1234, unacknowledged 0' in simulator.out) == (qos != '0')


def test_the_report_matches_the_received_messages(
    broker: Mosquitto, subscriber: Subscriber, simulate: Simulate, tmp_path: Path
) -> None:
    path = tmp_path / 'report.json'
    simulator = simulate(
        '--broker', url(broker.port), '--report', str(path), '--until-count', '4000', '--profile', 'rough',
        '--processes', '2', *FAST,
    )  # fmt: skip
    assert simulator.finish() == 0, simulator.err
    report = read(path)
    received = [(topic, json.loads(payload)) for topic, payload in subscriber.wait(4000)]
    totals = report['totals']
    assert totals['published'] == totals['acknowledged'] == len(received) == 4000
    assert totals['unacknowledged'] == totals['rejected'] == 0
    assert totals['distinct'] == len({(topic, reading['t']) for topic, reading in received})
    assert report['failures'] == []
    seen: dict[tuple[str, str], set[int]] = {}
    for topic, reading in received:
        device = topic.removeprefix('sensors/').rpartition('/')[0]
        seen.setdefault((device, reading['boot']), set()).add(reading['seq'])
    reported = {
        (device['device'], boot['boot']): set(range(boot['first'], boot['last'] + 1))
        for device in report['devices']
        for boot in device['boots']
    }
    assert reported == seen


def test_a_reading_is_sent_at_its_own_time(
    broker: Mosquitto, subscriber: Subscriber, simulate: Simulate
) -> None:
    simulator = simulate('--broker', url(broker.port), '--until-count', '100', '--rate', '200')
    assert simulator.finish() == 0, simulator.err
    stamps = [json.loads(payload)['t'] for _, payload in subscriber.wait(100)]
    delays = [at - stamp for at, stamp in zip(subscriber.times, stamps, strict=True)]
    assert 0 <= min(delays) < 20_000


def test_one_connection_per_sensor(broker: Mosquitto, simulate: Simulate) -> None:
    simulator = simulate('--broker', url(broker.port), '--gateways', 'each', '--until-count', '500', *FAST)
    assert simulator.finish() == 0, simulator.err


def test_a_receive_maximum_of_one_is_respected(tmp_path: Path, simulate: Simulate) -> None:
    for narrow in running(Mosquitto(tmp_path, 'allow_anonymous true\nmax_inflight_messages 1\n')):
        simulator = simulate('--broker', url(narrow.port), '--qos', '2', '--until-count', '300', *FAST)
        assert simulator.finish() == 0, simulator.err
        assert 'reconnects 0' in simulator.out


@pytest.mark.parametrize('qos', ['1', '2'])
def test_a_broker_restart_loses_nothing(
    broker: Mosquitto, subscriber: Subscriber, simulate: Simulate, tmp_path: Path, qos: str
) -> None:
    path = tmp_path / 'report.json'
    simulator = simulate(
        '--broker', url(broker.port), '--qos', qos, '--until-count', '2400', '--rate', '2000',
        '--report', str(path),
    )  # fmt: skip
    subscriber.wait(400)
    broker.stop()
    broker.start()
    assert simulator.finish() == 0, simulator.err
    totals = read(path)['totals']
    assert totals['acknowledged'] == totals['published'] == totals['distinct'] == 2400
    assert totals['reconnects'] >= 1
    lost, back = simulator.err.splitlines()
    assert lost.endswith('retrying')
    assert back.endswith('connected again')
    wait_until(lambda: len(set(subscriber.received)) == 2400, 'all readings')


def test_readings_of_a_time_without_the_broker_are_sent_later(
    broker: Mosquitto, simulate: Simulate, tmp_path: Path
) -> None:
    broker.stop()
    path = tmp_path / 'report.json'
    simulator = simulate(
        '--broker', url(broker.port), '--until-count', '1000', '--rate', '3000', '--report', str(path),
        '--drain', '30',
    )  # fmt: skip
    broker.start()
    assert simulator.finish() == 0, simulator.err
    assert read(path)['totals']['acknowledged'] == 1000


def test_a_broker_that_never_answers_exits_with_1_after_the_drain(simulate: Simulate) -> None:
    simulator = simulate(
        '--broker',
        url(free_port()),
        '--until-count',
        '10',
        '--rate',
        '100',
        '--drain',
        '0.5',
        '--sensors',
        '5',
    )
    assert simulator.finish() == 1
    assert 'Connection refused; retrying' in simulator.err
    assert 'published 10, acknowledged 0, unacknowledged 10' in simulator.out


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Mosquitto]:
    find_mosquitto()
    passwords = tmp_path / 'passwords'
    rules = tmp_path / 'acl'
    rules.write_text('user sim\ntopic write sensors/#\n')
    subprocess.run(
        ['mosquitto_passwd', '-b', '-c', passwords, 'sim', 'right'], check=True, capture_output=True
    )
    settings = f'allow_anonymous false\npassword_file {passwords}\nacl_file {rules}\n'
    yield from running(Mosquitto(tmp_path, settings))


@pytest.mark.parametrize('version', ['5', '3.1.1'])
@pytest.mark.parametrize('processes', ['1', '2'])
def test_a_wrong_password_ends_the_run_with_a_one_line_error(
    guarded: Mosquitto, simulate: Simulate, version: str, processes: str
) -> None:
    simulator = simulate(
        '--broker', url(guarded.port, 'sim@'), '--mqtt', version,
        '--processes', processes, '--gateways', processes,
        SIM_PASSWORD='wrong',
    )  # fmt: skip
    assert simulator.finish() == 1
    (line,) = simulator.err.splitlines()
    assert line.startswith(f'tidegauge-sim: mqtt://sim@127.0.0.1:{guarded.port} refused the connection: ')
    assert line.endswith('; check the user in --broker and SIM_PASSWORD or SIM_PASSWORD_FILE')


def test_a_password_from_a_file_is_accepted(guarded: Mosquitto, simulate: Simulate, tmp_path: Path) -> None:
    secret = tmp_path / 'secret'
    secret.write_text('right\n')
    simulator = simulate(
        '--broker', url(guarded.port, 'sim@'), '--until-count', '50', *FAST, SIM_PASSWORD_FILE=str(secret)
    )
    assert simulator.finish() == 0, simulator.err


def test_messages_that_the_broker_refuses_are_not_acknowledged(
    guarded: Mosquitto, simulate: Simulate
) -> None:
    # Mosquitto 2.0.11 ends the connection after each refused message, so this takes several reconnections.
    simulator = simulate(
        '--broker', url(guarded.port, 'sim@'), '--topic', 'other/{device}/{metric}',
        '--until-count', '3', '--drain', '50', *FAST,
        SIM_PASSWORD='right',
    )  # fmt: skip
    assert simulator.finish() == 1
    assert 'acknowledged 0, unacknowledged 0, rejected 3' in simulator.out
    assert 'Not authorized' in simulator.err


@pytest.mark.parametrize('processes', ['1', '2'])
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_publishing_and_drains(
    broker: Mosquitto, subscriber: Subscriber, simulate: Simulate, tmp_path: Path, processes: str, number: int
) -> None:
    path = tmp_path / 'report.json'
    simulator = simulate(
        '--broker', url(broker.port), '--rate', '1000', '--report', str(path), '--processes', processes
    )
    subscriber.wait(500)
    simulator.interrupt(number)
    assert simulator.finish() == 0, simulator.err
    totals = read(path)['totals']
    assert totals['published'] == totals['acknowledged'] >= 500
    assert len(subscriber.wait(totals['published'])) == totals['published']


@pytest.mark.parametrize('processes', ['1', '2'])
def test_a_second_signal_ends_the_wait_for_an_unavailable_broker(simulate: Simulate, processes: str) -> None:
    flags = ('--until-count', '10', '--drain', '3600', '--processes', processes, '--log-level', 'info', *FAST)
    simulator = simulate('--broker', url(free_port()), *flags)
    while 'waiting up to 3600 s' not in simulator.error_line():
        pass
    simulator.interrupt()
    simulator.interrupt()
    with pytest.raises(subprocess.TimeoutExpired):
        simulator.finish(1.2)
    simulator.interrupt()
    assert simulator.finish() == 1
    assert 'acknowledged 0' in simulator.out


def test_a_duration_ends_the_run(broker: Mosquitto, simulate: Simulate) -> None:
    simulator = simulate('--broker', url(broker.port), '--duration', '1', '--rate', '200')
    assert simulator.finish() == 0, simulator.err
    assert 'in 1.' in simulator.out


def test_a_terminal_gets_a_progress_bar_and_a_pipe_does_not(broker: Mosquitto, simulate: Simulate) -> None:
    flags = ('--broker', url(broker.port), '--until-count', '300', '--rate', '400')
    piped = simulate(*flags)
    assert piped.finish() == 0
    assert piped.err == ''
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 120))
    with subprocess.Popen(
        [sys.executable, '-m', 'tidegauge_sim', *flags], stderr=theirs, stdout=subprocess.DEVNULL
    ) as shown:
        os.close(theirs)
        drawn = b''
        try:
            while chunk := os.read(ours, 4096):
                drawn += chunk
        except OSError:
            # Linux returns EIO when the last writer has closed the terminal.
            pass
        os.close(ours)
        assert shown.wait(20) == 0
    assert b'/300' in drawn
    assert b'in flight' in drawn


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    def openssl(*arguments: str) -> None:
        subprocess.run(['openssl', *arguments], cwd=tmp_path, check=True, capture_output=True)

    new = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes')
    openssl(
        'req',
        '-x509',
        *new,
        '-keyout',
        'ca.key',
        '-out',
        'ca.pem',
        '-subj',
        '/CN=test authority',
        '-days',
        '2',
    )
    for name in ('server', 'client'):
        (tmp_path / f'{name}.ext').write_text('subjectAltName=IP:127.0.0.1\n')
        openssl('req', *new, '-keyout', f'{name}.key', '-out', f'{name}.csr', '-subj', f'/CN={name}')
        openssl(
            'x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial',
            '-extfile', f'{name}.ext', '-out', f'{name}.pem', '-days', '2',
        )  # fmt: skip
    (tmp_path / 'server.key').chmod(0o644)
    return tmp_path


@pytest.fixture
def tls_broker(certificates: Path) -> Iterator[Mosquitto]:
    settings = (
        f'allow_anonymous true\ncafile {certificates}/ca.pem\ncertfile {certificates}/server.pem\n'
        f'keyfile {certificates}/server.key\nrequire_certificate true\n'
    )
    yield from running(Mosquitto(certificates, settings))


def test_tls_with_certificates_on_both_sides(
    tls_broker: Mosquitto, simulate: Simulate, certificates: Path
) -> None:
    simulator = simulate(
        '--broker', f'mqtts://127.0.0.1:{tls_broker.port}', '--tls-ca', str(certificates / 'ca.pem'),
        '--tls-cert', str(certificates / 'client.pem'), '--tls-key', str(certificates / 'client.key'),
        '--until-count', '2000', '--qos', '2', *FAST,
    )  # fmt: skip
    assert simulator.finish() == 0, simulator.err
    assert 'acknowledged 2000' in simulator.out


def test_an_untrusted_certificate_ends_the_run(tls_broker: Mosquitto, simulate: Simulate) -> None:
    simulator = simulate('--broker', f'mqtts://127.0.0.1:{tls_broker.port}')
    assert simulator.finish() == 1
    (line,) = simulator.err.splitlines()
    assert line.startswith('tidegauge-sim: the certificate of mqtts://127.0.0.1:')
    assert line.endswith('set --tls-ca to the certificate authority')


def test_tls_insecure_accepts_any_certificate(
    tls_broker: Mosquitto, simulate: Simulate, certificates: Path
) -> None:
    simulator = simulate(
        '--broker', f'mqtts://127.0.0.1:{tls_broker.port}', '--tls-insecure', '--until-count', '20', *FAST,
        '--tls-cert', str(certificates / 'client.pem'), '--tls-key', str(certificates / 'client.key'),
    )  # fmt: skip
    assert simulator.finish() == 0, simulator.err


def test_a_broker_without_mqtt_5_is_used_with_3_1_1(simulate: Simulate) -> None:
    with socket.create_server(('127.0.0.1', 0)) as server:
        simulator = simulate(
            '--broker', url(server.getsockname()[1]), '--until-count', '1', '--gateways', '1'
        )
        first, _ = server.accept()
        assert first.recv(1000)[8] == 5
        # CONNACK of MQTT 3.1.1: unacceptable protocol version.
        first.sendall(bytes([0x20, 2, 0, 1]))
        first.close()
        second, _ = server.accept()
        assert second.recv(1000)[8] == 4
        second.sendall(bytes([0x20, 2, 0, 0]))
        assert second.recv(1)[0] == 0x32
        length = second.recv(1)[0]
        body = second.recv(length)
        topic = int.from_bytes(body[:2])
        second.sendall(bytes([0x40, 2, *body[2 + topic : 4 + topic]]))
        assert simulator.finish() == 0, simulator.err
        second.close()
    assert 'refuses MQTT 5; continuing with 3.1.1' in simulator.err
    assert 'acknowledged 1' in simulator.out
