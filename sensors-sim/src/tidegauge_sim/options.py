"""Settings. One table defines the flags, the SIM_* variables, `--help` and the table in the README."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import logging
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import quote, unquote, urlsplit

from tidegauge_sim.devices import PROFILES, SECOND
from tidegauge_sim.payloads import FORMATS, TIME_UNITS, Format, TimeUnit
from tidegauge_sim.signals import KINDS

LOG_LEVELS = ('debug', 'info', 'warning', 'error')
MAX_SENSORS = 100_000
MAX_PROCESSES = 64
MAX_GATEWAYS = 1_000
MAX_INFLIGHT = 10_000
DEFAULT_GATEWAYS = 4

Protocol = Literal['auto', '5', '3.1.1']


class OptionsError(Exception):
    """Invalid settings, with one line per mistake."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__('\n'.join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Broker:
    """Address of the broker, and the user name."""

    host: str
    port: int
    tls: bool
    user: str | None

    def __str__(self) -> str:
        host = f'[{self.host}]' if ':' in self.host else self.host
        user = '' if self.user is None else f'{quote(self.user, safe="")}@'
        return f'{"mqtts" if self.tls else "mqtt"}://{user}{host}:{self.port}'


@dataclass(frozen=True, slots=True)
class Options:
    """All settings of a run, complete and valid."""

    broker: Broker
    mqtt: Protocol
    qos: int
    inflight: int
    # Number of connections. The default depends on the numbers of sensors and processes.
    gateways: int
    tls_ca: Path | None
    tls_cert: Path | None
    tls_key: Path | None
    tls_insecure: bool
    sensors: int
    # None: the mixed fleet.
    metrics: tuple[str, ...] | None
    # Seconds. `rate`, in messages per second of all devices together, overrides it.
    period: float
    rate: float | None
    jitter: float
    seed: int
    # Microseconds since the epoch.
    start: int
    # True if `start` is now. Each reading is then sent at its own time.
    live: bool
    # Seconds.
    duration: float | None
    until_count: int | None
    processes: int
    format: Format
    time_unit: TimeUnit
    topic: str
    profile: str
    dropouts: float
    duplicates: float
    late: float
    skew: float
    reboots: float
    # Seconds.
    drain: float
    report: Path | None
    ring: Path | None
    print_config: bool
    quiet: bool
    log_level: str
    password: str | None = dataclasses.field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        """The settings as JSON values, with the password masked."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del values['live']
        values['start'] = datetime.fromtimestamp(self.start / SECOND, UTC).isoformat()
        if self.password is not None:
            values['password'] = '***'  # noqa: S105
        return {name: str(v) if isinstance(v, Broker | Path) else v for name, v in values.items()}

    def lines(self) -> list[str]:
        """The settings as lines of an environment file, which `load` reads again. The password is masked."""
        values: dict[str, Any] = {flag.variable: getattr(self, flag.field) for flag in FLAGS}
        values['SIM_METRICS'] = 'mixed' if self.metrics is None else ','.join(self.metrics)
        values['SIM_GATEWAYS'] = 'each' if self.gateways == self.sensors else self.gateways
        values['SIM_START'] = None if self.live else self.document()['start']
        values['SIM_PASSWORD'] = None if self.password is None else '***'
        del values['SIM_PRINT_CONFIG']
        return [f'# {name} is not set' if v is None else f'{name}={_text(v)}' for name, v in values.items()]


@dataclass(frozen=True, slots=True)
class Flag:
    """One setting. `takes` describes the valid values. `parse` raises ValueError for any other."""

    name: str
    parse: Callable[[str], Any]
    takes: str
    default: str | None
    purpose: str

    @property
    def field(self) -> str:
        """Name of the field in Options."""
        return self.name.replace('-', '_')

    @property
    def variable(self) -> str:
        """Environment variable that sets it."""
        return f'SIM_{self.field.upper()}'

    @property
    def is_switch(self) -> bool:
        """Whether the flag has no value. Its variable is then true or false."""
        return self.parse is _boolean


def load(argv: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Read flags, then SIM_* variables, then defaults. Raises OptionsError with every mistake."""
    given, mistakes = _arguments(argv)
    mistakes += _unknown_variables(environment)
    values: dict[str, Any] = {}
    for flag in FLAGS:
        source, raw = f'--{flag.name}', given.get(flag.field)
        if raw is None and environment.get(flag.variable):
            source, raw = flag.variable, environment[flag.variable]
        if raw is None:
            raw = flag.default
        try:
            values[flag.field] = None if raw is None else flag.parse(raw)
        except ValueError:
            mistakes.append(f'{source}: got "{_without_password(raw)}", expected {flag.takes}')
    values['password'], problem = _password(environment)
    mistakes += problem
    # Settings are compared with each other only when each one is valid.
    mistakes = mistakes or _conflicts(values)
    if mistakes:
        raise OptionsError(mistakes)
    _resolve(values)
    return Options(**values)


def _resolve(values: dict[str, Any]) -> None:
    """Compute the settings that depend on others."""
    values['live'] = values['start'] is None
    if values['live']:
        values['start'] = time.time_ns() // 1000
    if values['gateways'] is None:
        values['gateways'] = max(min(DEFAULT_GATEWAYS, values['sensors']), values['processes'])
    elif values['gateways'] == 0:
        values['gateways'] = values['sensors']
    for fault, probability in dataclasses.asdict(PROFILES[values['profile']]).items():
        if values[fault] is None:
            values[fault] = probability


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionsError([message])


def parser() -> argparse.ArgumentParser:
    """Command line parser. It returns each value as text, and `load` parses it."""
    made = _Parser(
        prog='tidegauge-sim',
        description='Simulated sensors that publish realistic readings over MQTT. '
        'The same seed gives the same readings.',
        epilog='Each flag has an environment variable, for example SIM_UNTIL_COUNT for --until-count. '
        'A flag overrides its variable. The password comes from SIM_PASSWORD, or from the file named by '
        'SIM_PASSWORD_FILE. '
        'Exit codes: 0 all messages acknowledged, 1 not all acknowledged or refused, 2 bad settings.',
        allow_abbrev=False,
    )
    for flag in FLAGS:
        purpose = flag.purpose.replace('%', '%%')
        if flag.is_switch:
            made.add_argument(f'--{flag.name}', action='store_const', const='true', help=purpose)
            continue
        default = f' (default {flag.default})' if flag.default is not None else ''
        metavar = flag.name.rsplit('-', 1)[-1].upper()
        made.add_argument(f'--{flag.name}', metavar=metavar, help=f'{purpose}. Value: {flag.takes}{default}')
    return made


def _arguments(argv: Sequence[str]) -> tuple[dict[str, str | None], list[str]]:
    try:
        namespace, unknown = parser().parse_known_args(list(argv))
    except OptionsError as error:
        return {}, list(error.mistakes)
    names = [f'--{flag.name}' for flag in FLAGS]
    return vars(namespace), [
        f'{word}: unknown flag{_guess(word.partition("=")[0], names)}' for word in unknown
    ]


def _unknown_variables(environment: Mapping[str, str]) -> list[str]:
    known = [flag.variable for flag in FLAGS] + ['SIM_PASSWORD', 'SIM_PASSWORD_FILE']
    strange = sorted(name for name in environment if name.startswith('SIM_') and name not in known)
    return [f'{name}: unknown setting{_guess(name, known)}' for name in strange]


def _guess(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f'; did you mean {close[0]}?' if close else ''


def _password(environment: Mapping[str, str]) -> tuple[str | None, list[str]]:
    direct, file = environment.get('SIM_PASSWORD'), environment.get('SIM_PASSWORD_FILE')
    if direct and file:
        return None, ['SIM_PASSWORD: SIM_PASSWORD_FILE is set too, set only one of them']
    if not file:
        return direct or None, []
    try:
        return Path(file).read_text('utf-8').rstrip('\r\n'), []
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else 'not UTF-8 text'
        return None, [f'SIM_PASSWORD_FILE: got "{file}", expected a readable file ({reason})']


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _without_password(text: str | None) -> str:
    return re.sub(r'(//[^/:@]*):[^/@]*@', r'\1:***@', text or '')


def _conflicts(values: Mapping[str, Any]) -> list[str]:
    mistakes: list[str] = []
    broker: Broker = values['broker']
    if values['password'] is not None and broker.user is None:
        mistakes.append('--broker: has no user but a password is set, expected mqtt://user@host:port')
    mistakes += [
        f'--{flag.name}: needs an mqtts:// broker, but --broker is {broker}'
        for flag in FLAGS
        if flag.name.startswith('tls-') and values[flag.field] and not broker.tls
    ]
    if (values['tls_cert'] is None) != (values['tls_key'] is None):
        mistakes.append('--tls-cert and --tls-key: set both or neither')
    if '{metric}' not in values['topic'] and values['format'] != 'senml':
        mistakes.append('--topic: has no {metric}; only --format senml has the metric in the payload')
    if values['ring'] is not None and values['format'] != 'json':
        mistakes.append('--ring: needs --format json, because only JSON has boot and seq')
    sensors, processes, gateways = values['sensors'], values['processes'], values['gateways']
    if processes > sensors:
        mistakes.append(f'--processes: got {processes}, expected at most one per sensor ({sensors})')
    if gateways and not processes <= gateways <= sensors:
        mistakes.append(
            f'--gateways: got {gateways}, expected {processes} (--processes) to {sensors} (--sensors)'
        )
    return mistakes


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return parse


def _number(low: float, high: float, *, above: bool = False) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or not low <= value <= high or (above and value == low):
            raise ValueError
        return value

    return parse


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return parse


def _boolean(text: str) -> bool:
    return {'true': True, '1': True, 'false': False, '0': False}[_one_of('true', '1', 'false', '0')(text)]


def _broker(text: str) -> Broker:
    url = urlsplit(text)
    if url.scheme not in ('mqtt', 'mqtts') or not url.hostname or url.password is not None:
        raise ValueError
    if url.path not in ('', '/') or url.query or url.fragment:
        raise ValueError
    tls = url.scheme == 'mqtts'
    port = url.port if url.port is not None else 8883 if tls else 1883
    if port == 0:
        raise ValueError
    return Broker(url.hostname, port, tls, unquote(url.username) if url.username else None)


def _metrics(text: str) -> tuple[str, ...] | None:
    if text == 'mixed':
        return None
    names = tuple(name.strip() for name in text.split(','))
    if len(set(names)) != len(names) or not set(names) <= KINDS.keys():
        raise ValueError
    return names


def _gateways(text: str) -> int:
    return 0 if text == 'each' else _whole(1, MAX_GATEWAYS)(text)


def _topic(text: str) -> str:
    rest = text.replace('{device}', 'd', 1).replace('{metric}', 'm', 1)
    if (
        '{device}' not in text
        or re.search(r'[{}+#\x00]', rest)
        or not rest.strip('/')
        or rest.startswith('$')
    ):
        raise ValueError
    return text


def _time(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = round(moment.timestamp() * SECOND)
    if micros < 0:
        raise ValueError
    return micros


def _file(text: str) -> Path:
    try:
        with Path(text).open('rb'):
            return Path(text)
    except OSError as error:
        raise ValueError from error


def _target(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError
    return path


def _probability(name: str, purpose: str) -> Flag:
    return Flag(name, _number(0.0, 1.0), 'a probability, 0 to 1', None, f'{purpose}. Overrides the profile')


FLAGS: tuple[Flag, ...] = (
    Flag(
        'broker', _broker, 'mqtt[s]://[user@]host[:port], no password', 'mqtt://127.0.0.1:1883',
        'MQTT broker',
    ),
    Flag(
        'mqtt', _one_of('auto', '5', '3.1.1'), 'auto, 5 or 3.1.1', 'auto',
        'protocol version. auto: 5, or 3.1.1 if the broker refuses 5',
    ),
    Flag('qos', _whole(0, 2), '0, 1 or 2', '1', 'MQTT quality of service'),
    Flag(
        'inflight', _whole(1, MAX_INFLIGHT), f'1 to {MAX_INFLIGHT}', '100',
        'largest number of unacknowledged messages per connection. A lower limit of the broker applies',
    ),
    Flag(
        'gateways', _gateways, f'1 to {MAX_GATEWAYS}, or "each" for one per sensor', None,
        f'number of connections for all sensors. Default: {DEFAULT_GATEWAYS}, or one per process',
    ),
    Flag('tls-ca', _file, 'a readable PEM file', None, 'certificate authority of the broker, if not public'),
    Flag('tls-cert', _file, 'a readable PEM file', None, 'client certificate'),
    Flag('tls-key', _file, 'a readable PEM file', None, 'key of the client certificate'),
    Flag('tls-insecure', _boolean, 'true or false', 'false', 'accept any certificate of the broker'),
    Flag('sensors', _whole(1, MAX_SENSORS), f'1 to {MAX_SENSORS}', '50', 'number of devices'),
    Flag(
        'metrics', _metrics, f'mixed, or a list of {", ".join(KINDS)}', 'mixed',
        'metrics of every device. mixed: probes, climate sensors, meters and doors',
    ),
    Flag(
        'period', _number(0.0, 86_400.0, above=True), 'seconds, up to 86400', '1',
        'time between two measurements of a device. It measures all its metrics at once',
    ),
    Flag(
        'rate', _number(0.0, 1e6, above=True), 'messages per second, up to 1000000', None,
        'total rate of all devices. Overrides the period',
    ),
    Flag(
        'jitter', _number(0.0, 0.4), '0 to 0.4', '0.05',
        'largest deviation of a measurement from its time, as a share of the period',
    ),
    Flag(
        'seed', _whole(0, 2**63 - 1), 'a whole number', '1',
        'the same seed gives the same readings and faults',
    ),
    Flag(
        'start', _time, 'an ISO 8601 time since 1970, UTC if it has no zone', None,
        'time of the first readings. Default: now',
    ),
    Flag('duration', _number(0.0, 1e9, above=True), 'seconds', None, 'stop after this time'),
    Flag('until-count', _whole(1, 10**12), 'a whole number', None, 'stop after exactly this many messages'),
    Flag('processes', _whole(1, MAX_PROCESSES), f'1 to {MAX_PROCESSES}', '1', 'number of processes'),
    Flag('format', _one_of(*FORMATS), ', '.join(FORMATS), 'json', 'payload format'),
    Flag('time-unit', _one_of(*TIME_UNITS), ', '.join(TIME_UNITS), 'us', 'unit of the time in JSON payloads'),
    Flag(
        'topic', _topic, 'a topic with {device} and {metric}', 'sensors/{device}/{metric}',
        'topic of a message. Without {metric}, a SenML message has all metrics of a device',
    ),
    Flag('profile', _one_of(*PROFILES), ', '.join(PROFILES), 'calm', 'how many faults occur. calm: none'),
    _probability('dropouts', 'a device stops sending for a while and sends the missed readings later'),
    _probability('duplicates', 'a message is sent twice'),
    _probability('late', 'a message is sent after newer ones'),
    _probability('skew', 'a device has a wrong clock'),
    _probability('reboots', 'a device restarts with a new boot and seq 0'),
    Flag(
        'drain', _number(0.0, 3600.0), 'seconds, up to 3600', '10',
        'longest wait for acknowledgements at the end',
    ),
    Flag(
        'report', _target, 'a file in a folder that you can write', None,
        'write totals and devices to this JSON file',
    ),
    Flag(
        'ring', _target, 'a file in a folder that you can write', None,
        'keep the last 64 MiB of messages in this SQLite file, and send again what ingest requests',
    ),
    Flag('print-config', _boolean, 'true or false', 'false', 'print the settings in use and exit'),
    Flag('quiet', _boolean, 'true or false', 'false', 'print no progress bar and no totals'),
    Flag(
        'log-level', _one_of(*LOG_LEVELS), ', '.join(LOG_LEVELS), 'warning',
        'lowest level to log. info logs progress',
    ),
)  # fmt: skip


def log_level(options: Options) -> int:
    """Numeric level of `logging`."""
    return logging.getLevelNamesMapping()[options.log_level.upper()]
