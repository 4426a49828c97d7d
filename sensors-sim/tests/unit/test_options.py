from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge_sim.cli import main
from tidegauge_sim.options import FLAGS, Broker, OptionsError, load
from tidegauge_sim.signals import KINDS


def mistakes(*flags: str, **environment: str) -> tuple[str, ...]:
    with pytest.raises(OptionsError) as caught:
        load(flags, environment)
    return caught.value.mistakes


def test_defaults_are_a_calm_mixed_fleet_on_the_local_broker() -> None:
    options = load([], {})
    assert options.broker == Broker('127.0.0.1', 1883, tls=False, user=None)
    assert (options.sensors, options.qos, options.format, options.metrics) == (50, 1, 'json', None)
    assert options.dropouts == options.duplicates == options.late == options.skew == options.reboots == 0.0
    assert options.gateways == 4


def test_flags_override_variables_and_variables_override_defaults() -> None:
    environment = {'SIM_SENSORS': '7', 'SIM_QOS': '2', 'SIM_QUIET': 'true', 'HOME': '/'}
    options = load(['--sensors', '9'], environment)
    assert (options.sensors, options.qos, options.quiet, options.inflight) == (9, 2, True, 100)


def test_every_flag_has_a_variable_that_is_read() -> None:
    for flag in FLAGS:
        assert mistakes(**{flag.variable: '/no/such/value'})[0].startswith(f'{flag.variable}: got ')


@pytest.mark.parametrize(
    ('flags', 'line'),
    [
        (('--qos', '3'), '--qos: got "3", expected 0, 1 or 2'),
        (('--sensors', 'many'), '--sensors: got "many", expected 1 to 100000'),
        (('--rate', '0'), '--rate: got "0", expected messages per second, up to 1000000'),
        (('--rate', 'nan'), '--rate: got "nan", expected messages per second, up to 1000000'),
        (('--late', '1.5'), '--late: got "1.5", expected a probability, 0 to 1'),
        (
            ('--broker', 'http://x'),
            '--broker: got "http://x", expected mqtt[s]://[user@]host[:port], no password',
        ),
        (
            ('--broker', 'mqtt://x:99999'),
            '--broker: got "mqtt://x:99999", expected mqtt[s]://[user@]host[:port], no password',
        ),
        (
            ('--metrics', 'warmth'),
            '--metrics: got "warmth", expected mixed, or a list of ' + ', '.join(KINDS),
        ),
        (('--topic', 'a/{metric}'), '--topic: got "a/{metric}", expected a topic with {device} and {metric}'),
        (
            ('--topic', '{device}/{metric}/#'),
            '--topic: got "{device}/{metric}/#", expected a topic with {device} and {metric}',
        ),
        (
            ('--topic', 'a/{device}'),
            '--topic: has no {metric}; only --format senml has the metric in the payload',
        ),
        (
            ('--report', '/no/such/folder/r.json'),
            '--report: got "/no/such/folder/r.json", expected a file in a folder that you can write',
        ),
        (
            ('--tls-insecure',),
            '--tls-insecure: needs an mqtts:// broker, but --broker is mqtt://127.0.0.1:1883',
        ),
        (
            ('--processes', '9', '--sensors', '8'),
            '--processes: got 9, expected at most one per sensor (8)',
        ),
        (
            ('--gateways', '2', '--processes', '4'),
            '--gateways: got 2, expected 4 (--processes) to 50 (--sensors)',
        ),
        (
            ('--start', 'yesterday'),
            '--start: got "yesterday", expected an ISO 8601 time since 1970, UTC if it has no zone',
        ),
        (('--sensor', '3'), '--sensor: unknown flag; did you mean --sensors?'),
        (('--qos',), 'argument --qos: expected one argument'),
    ],
)
def test_a_mistake_gives_one_line_with_the_expected_value(flags: tuple[str, ...], line: str) -> None:
    assert mistakes(*flags)[0] == line


def test_all_mistakes_are_reported_together() -> None:
    lines = mistakes('--qos', '9', '--period', '-1', SIM_SEED='x', SIM_SENSROS='3')
    assert len(lines) == 4
    assert 'SIM_SENSROS: unknown setting; did you mean SIM_SENSORS?' in lines


def test_a_password_on_the_command_line_is_refused_and_not_repeated() -> None:
    (line,) = mistakes('--broker', 'mqtt://me:hunter2@host')
    assert 'hunter2' not in line
    assert 'mqtt://me:***@host' in line


def test_the_password_comes_from_a_variable_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / 'password'
    file.write_text('hunter2\n')
    flags = ['--broker', 'mqtt://me@host']
    assert load(flags, {'SIM_PASSWORD': 'hunter2'}).password == 'hunter2'
    assert load(flags, {'SIM_PASSWORD_FILE': str(file)}).password == 'hunter2'
    assert 'set only one of them' in mistakes(*flags, SIM_PASSWORD='x', SIM_PASSWORD_FILE=str(file))[0]
    assert 'expected a readable file' in mistakes(*flags, SIM_PASSWORD_FILE=str(tmp_path / 'none'))[0]
    assert 'no user' in mistakes(SIM_PASSWORD='x')[0]


def test_a_profile_sets_the_faults_that_no_flag_sets() -> None:
    options = load(['--profile', 'rough', '--late', '0'], {})
    assert options.late == 0.0
    assert options.duplicates > 0.0


@pytest.mark.parametrize(
    ('url', 'broker'),
    [
        ('mqtts://host', Broker('host', 8883, tls=True, user=None)),
        ('mqtt://a%40b@[::1]:99', Broker('::1', 99, tls=False, user='a@b')),
    ],
)
def test_a_broker_is_a_url(url: str, broker: Broker) -> None:
    assert load(['--broker', url], {}).broker == broker


def test_bad_settings_exit_with_2_and_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['--qos', '9', '--seed', '-1'], {}) == 2
    out, err = capsys.readouterr()
    assert out == ''
    assert err.splitlines() == [
        'tidegauge-sim: --qos: got "9", expected 0, 1 or 2',
        'tidegauge-sim: --seed: got "-1", expected a whole number',
    ]


def test_a_tls_file_without_a_certificate_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'ca.pem'
    file.write_text('not a certificate')
    assert main(['--broker', 'mqtts://127.0.0.1', '--tls-ca', str(file)], {}) == 2
    assert '--tls-ca: got' in capsys.readouterr().err


@pytest.mark.parametrize(
    'argv',
    [
        [],
        ['--start', '2026-01-01T00:00:00.5+02:00', '--metrics', 'temperature,humidity', '--quiet'],
        ['--broker', 'mqtt://a%40b@[::1]:1', '--sensors', '5000', '--gateways', 'each', '--profile', 'rough'],
        ['--broker', 'mqtts://me@host', '--dropouts', '1e-7', '--drain', '0.25', '--report', 'out.json'],
    ],
)
def test_print_config_prints_settings_that_give_the_same_run_and_masks_the_password(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {'SIM_PASSWORD': 'hunter2'} if '--broker' in argv else {}
    assert main(['--print-config', *argv], environment) == 0
    shown = capsys.readouterr().out
    assert 'hunter2' not in shown
    printed = dict(line.split('=', 1) for line in shown.splitlines() if not line.startswith('# '))
    assert printed.get('SIM_PASSWORD', '***') == '***'
    again, before = load([], printed), load(argv, environment)
    assert {**again.document(), 'start': ''} == {**before.document(), 'start': ''}
    assert again.live or again.start == before.start
    assert again.live == before.live


def test_a_report_in_a_folder_that_cannot_be_written_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The user of a test can be root, who may write in every folder.
    monkeypatch.setattr('os.access', lambda _path, _mode: False)
    with pytest.raises(OptionsError, match='a file in a folder that you can write'):
        load(['--report', str(tmp_path / 'r.json')], {})
