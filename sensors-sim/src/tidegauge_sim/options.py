"""Settings: one table that makes the flags, the SIM_* variables, `--help` and the README's table."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import logging
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import unquote, urlsplit

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
    """Settings that cannot be run with: one line per mistake."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__('\n'.join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Broker:
    """Where to publish, and as whom."""

    host: str
    port: int
    tls: bool
    user: str | None

    def __str__(self) -> str:
        host = f'[{self.host}]' if ':' in self.host else self.host
        user = '' if self.user is None else f'{self.user}@'
        return f'{"mqtts" if self.tls else "mqtt"}://{user}{host}:{self.port}'


@dataclass(frozen=True, slots=True)
class Options:
    """A run, complete and valid."""

    broker: Broker
    mqtt: Protocol
    qos: int
    inflight: int
    # Connections; resolved from the number of sensors and processes.
    gateways: int
    tls_ca: Path | None
    tls_cert: Path | None
    tls_key: Path | None
    tls_insecure: bool
    sensors: int
    # None: the mixed fleet.
    metrics: tuple[str, ...] | None
    # Seconds; `rate`, in messages per second of the whole fleet, overrides it.
    period: float
    rate: float | None
    jitter: float
    seed: int
    # Microseconds since the epoch.
    start: int
    # `start` is now, so a reading is sent at the time it carries.
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
    print_config: bool
    quiet: bool
    log_level: str
    password: str | None = dataclasses.field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        """The settings as JSON values, the password masked."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del values['live']
        values['start'] = datetime.fromtimestamp(self.start / SECOND, UTC).isoformat()
        if self.password is not None:
            values['password'] = '***'  # noqa: S105
        return {name: str(v) if isinstance(v, Broker | Path) else v for name, v in values.items()}


@dataclass(frozen=True, slots=True)
class Flag:
    """One setting. `parse` raises ValueError for what is not among what it `takes`."""

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
        """Whether the flag stands alone; its variable takes true or false."""
        return self.parse is _boolean


def load(argv: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Options from flags, then SIM_* variables, then defaults. Raises OptionsError with every mistake."""
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
            mistakes.append(f'{source}: got "{_without_password(raw)}", takes {flag.takes}')
    values['password'], problem = _password(environment)
    mistakes += problem
    # Settings that do not stand alone cannot be held against each other.
    mistakes = mistakes or _conflicts(values)
    if mistakes:
        raise OptionsError(mistakes)
    _resolve(values)
    return Options(**values)


def _resolve(values: dict[str, Any]) -> None:
    """Fill in what follows from other settings."""
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
    """Command line parser; it takes every value as text, `load` reads them."""
    made = _Parser(
        prog='tidegauge-sim',
        description='Simulated sensors: publishes realistic readings over MQTT, the same for the same seed.',
        epilog='Every flag has a variable, --until-count is SIM_UNTIL_COUNT; flags win. The password '
        'comes from SIM_PASSWORD or the file that SIM_PASSWORD_FILE names. Exit codes: 0 all acknowledged, '
        '1 not all, 2 bad settings.',
        allow_abbrev=False,
    )
    for flag in FLAGS:
        purpose = flag.purpose.replace('%', '%%')
        if flag.is_switch:
            made.add_argument(f'--{flag.name}', action='store_const', const='true', help=purpose)
            continue
        default = f' (default {flag.default})' if flag.default is not None else ''
        metavar = flag.name.rsplit('-', 1)[-1].upper()
        made.add_argument(f'--{flag.name}', metavar=metavar, help=f'{purpose}: {flag.takes}{default}')
    return made


def _arguments(argv: Sequence[str]) -> tuple[dict[str, str | None], list[str]]:
    try:
        namespace, unknown = parser().parse_known_args(list(argv))
    except OptionsError as error:
        return {}, list(error.mistakes)
    names = [f'--{flag.name}' for flag in FLAGS]
    return vars(namespace), [
        f'{word}: no such flag{_guess(word.partition("=")[0], names)}' for word in unknown
    ]


def _unknown_variables(environment: Mapping[str, str]) -> list[str]:
    known = [flag.variable for flag in FLAGS] + ['SIM_PASSWORD', 'SIM_PASSWORD_FILE']
    strange = sorted(name for name in environment if name.startswith('SIM_') and name not in known)
    return [f'{name}: no such setting{_guess(name, known)}' for name in strange]


def _guess(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f'; did you mean {close[0]}?' if close else ''


def _password(environment: Mapping[str, str]) -> tuple[str | None, list[str]]:
    direct, file = environment.get('SIM_PASSWORD'), environment.get('SIM_PASSWORD_FILE')
    if direct and file:
        return None, ['SIM_PASSWORD: set together with SIM_PASSWORD_FILE, takes one of them']
    if not file:
        return direct or None, []
    try:
        return Path(file).read_text('utf-8').rstrip('\r\n'), []
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else 'not UTF-8 text'
        return None, [f'SIM_PASSWORD_FILE: got "{file}", takes a readable file ({reason})']


def _without_password(text: str | None) -> str:
    return re.sub(r'(//[^/:@]*):[^/@]*@', r'\1:***@', text or '')


def _conflicts(values: Mapping[str, Any]) -> list[str]:
    mistakes: list[str] = []
    broker: Broker = values['broker']
    if values['password'] is not None and broker.user is None:
        mistakes.append('--broker: a password is set but no user, takes mqtt://user@host:port')
    mistakes += [
        f'--{flag.name}: --broker is {broker}, takes an mqtts:// broker'
        for flag in FLAGS
        if flag.name.startswith('tls-') and values[flag.field] and not broker.tls
    ]
    if (values['tls_cert'] is None) != (values['tls_key'] is None):
        mistakes.append('--tls-cert: needs --tls-key, and the other way round')
    if '{metric}' not in values['topic'] and values['format'] != 'senml':
        mistakes.append('--topic: has no {metric}, which only --format senml can name in the payload')
    sensors, processes, gateways = values['sensors'], values['processes'], values['gateways']
    if processes > sensors:
        mistakes.append(f'--processes: got {processes} for {sensors} sensors, takes at most one per sensor')
    if gateways and not processes <= gateways <= sensors:
        mistakes.append(
            f'--gateways: got {gateways}, takes {processes} (--processes) to {sensors} (--sensors)'
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
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError
    return path


def _probability(name: str, purpose: str) -> Flag:
    return Flag(name, _number(0.0, 1.0), 'a probability, 0 to 1', None, f'{purpose}; overrides the profile')


FLAGS: tuple[Flag, ...] = (
    Flag(
        'broker', _broker, 'mqtt[s]://[user@]host[:port], no password', 'mqtt://127.0.0.1:1883',
        'where to publish',
    ),
    Flag(
        'mqtt', _one_of('auto', '5', '3.1.1'), 'auto, 5 or 3.1.1', 'auto',
        'protocol version; auto: 5, or 3.1.1 where the broker refuses 5',
    ),
    Flag('qos', _whole(0, 2), '0, 1 or 2', '1', 'delivery guarantee'),
    Flag(
        'inflight', _whole(1, MAX_INFLIGHT), f'1 to {MAX_INFLIGHT}', '100',
        'messages on the way per connection; a broker that announces less gets less',
    ),
    Flag(
        'gateways', _gateways, f'1 to {MAX_GATEWAYS}, or "each" for one per sensor', None,
        f'connections that carry all sensors; if not given {DEFAULT_GATEWAYS}, or one per process',
    ),
    Flag('tls-ca', _file, 'a readable PEM file', None, "who signed the broker's certificate, if not public"),
    Flag('tls-cert', _file, 'a readable PEM file', None, 'certificate of the client'),
    Flag('tls-key', _file, 'a readable PEM file', None, 'key of the client'),
    Flag('tls-insecure', _boolean, 'true or false', 'false', "do not check the broker's certificate"),
    Flag('sensors', _whole(1, MAX_SENSORS), f'1 to {MAX_SENSORS}', '50', 'how many devices'),
    Flag(
        'metrics', _metrics, f'mixed, or a list of {", ".join(KINDS)}', 'mixed',
        'what every device measures; mixed: probes, climate sensors, meters and doors',
    ),
    Flag(
        'period', _number(0.0, 86_400.0, above=True), 'seconds, up to 86400', '1',
        'time between two measurements of a device, of all its metrics',
    ),
    Flag(
        'rate', _number(0.0, 1e6, above=True), 'messages per second, up to 1000000', None,
        'messages of the whole fleet; overrides the period',
    ),
    Flag('jitter', _number(0.0, 0.4), '0 to 0.4', '0.05', 'share of the period a measurement is off'),
    Flag('seed', _whole(0, 2**63 - 1), 'a whole number', '1', 'same seed, same readings and faults'),
    Flag(
        'start', _time, 'an ISO 8601 time since 1970, UTC if it names no zone', None,
        'time of the first readings, if not now',
    ),
    Flag('duration', _number(0.0, 1e9, above=True), 'seconds', None, 'stop after this time'),
    Flag('until-count', _whole(1, 10**12), 'a whole number', None, 'stop after exactly so many messages'),
    Flag('processes', _whole(1, MAX_PROCESSES), f'1 to {MAX_PROCESSES}', '1', 'share the sensors out'),
    Flag('format', _one_of(*FORMATS), ', '.join(FORMATS), 'json', 'payload'),
    Flag('time-unit', _one_of(*TIME_UNITS), ', '.join(TIME_UNITS), 'us', 'how JSON payloads write the time'),
    Flag(
        'topic', _topic, 'a topic with {device} and {metric}', 'sensors/{device}/{metric}',
        'topic; SenML packs without {metric} carry all metrics of a device',
    ),
    Flag('profile', _one_of(*PROFILES), ', '.join(PROFILES), 'calm', 'how much goes wrong; calm: nothing'),
    _probability('dropouts', 'a measurement starts a silence, made up for after it'),
    _probability('duplicates', 'a message is sent twice'),
    _probability('late', 'a message is sent after younger ones'),
    _probability('skew', 'a device has a wrong clock'),
    _probability('reboots', 'a device restarts: new boot, seq from 0'),
    Flag('drain', _number(0.0, 3600.0), 'seconds, up to 3600', '10', 'wait at the end for acknowledgements'),
    Flag('report', _target, 'a file in a folder that exists', None, 'write totals and devices as JSON'),
    Flag('print-config', _boolean, 'true or false', 'false', 'print the settings in effect and exit'),
    Flag('quiet', _boolean, 'true or false', 'false', 'no progress bar and no totals'),
    Flag('log-level', _one_of(*LOG_LEVELS), ', '.join(LOG_LEVELS), 'warning', 'info logs progress'),
)  # fmt: skip


def log_level(options: Options) -> int:
    """The level as `logging` numbers it."""
    return logging.getLevelNamesMapping()[options.log_level.upper()]
