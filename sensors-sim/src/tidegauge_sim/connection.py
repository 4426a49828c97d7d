"""One MQTT connection that carries many sensors."""

from __future__ import annotations

import logging
import secrets
import selectors
import ssl
from collections import deque
from collections.abc import Collection
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tidegauge_sim.devices import Message
from tidegauge_sim.options import MAX_INFLIGHT, Broker, Options, OptionsError
from tidegauge_sim.report import Tally
from tidegauge_sim.ring import Kept, Request, Ring, parse_request, request_filter

if TYPE_CHECKING:
    # These names exist for the type checker only.
    from paho.mqtt.client import SocketLike
    from paho.mqtt.reasoncodes import ReasonCode

log = logging.getLogger(__name__)

KEEPALIVE_SECONDS = 60
CONNECT_TIMEOUT = 5.0
CONNACK_TIMEOUT = 10.0
BACKOFF_FIRST, BACKOFF_LAST = 0.25, 15.0
QUEUE_LIMIT = 1_000
# Requests for messages that wait. Later ones replace earlier ones, and come again.
REQUEST_LIMIT = 1_000
# How long a broker keeps half-delivered QoS 2 messages of a connection that broke.
SESSION_SECONDS = 3_600

# CONNACK reasons that no retry can fix [MQTT-3.2.2.2].
PERMANENT = frozenset({0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x9B})
HINTS = {
    0x84: '; try the other --mqtt version',
    0x86: '; check the user in --broker and SIM_PASSWORD or SIM_PASSWORD_FILE',
    0x87: '; check the user in --broker and SIM_PASSWORD or SIM_PASSWORD_FILE',
}
UNSUPPORTED_VERSION = 0x84
PACKET_IDENTIFIER_NOT_FOUND = 0x92
EXACTLY_ONCE = 2
# MQTT 3.1.1 cannot announce a receive maximum. This is mosquitto's default.
UNANNOUNCED_QOS_2 = 20


class Refused(Exception):  # noqa: N818
    """The broker refuses the connection, and only a change of the settings can fix that."""


class Outage:
    """Logs one line when the broker becomes unavailable and one when it is back, for all connections."""

    def __init__(self) -> None:
        self._down: set[int] = set()
        self._fell_back = False

    def fall_back(self, broker: Broker) -> None:
        """Log, once, that the broker refuses MQTT 5."""
        if not self._fell_back:
            log.warning('%s refuses MQTT 5; continuing with 3.1.1', broker)
        self._fell_back = True

    def begin(self, connection: int, reason: str) -> None:
        """Record that a connection is lost or cannot be made."""
        if not self._down:
            log.warning('%s; retrying', reason)
        self._down.add(connection)

    def end(self, connection: int) -> None:
        """Record that a connection is up."""
        if connection in self._down:
            self._down.remove(connection)
            if not self._down:
                log.warning('connected again')


class Connection:
    """A paho client without its own thread: our selector drives it. It needs no locks and writes in batches.

    States: down (`_retry_at` is set), connecting (waits for CONNACK until `_give_up_at`), up, down again.

    A message is in `_queue` until it fits the window. Then it is in `_pending` until the broker acknowledges
    it (QoS 0: until it is written). paho's own queue is not used, because paho searches it from the front for
    every acknowledgement. When a connection and its session are lost, `_pending` goes back into the queue. So
    a message can arrive twice but is never lost. QoS 2 over MQTT 5 keeps the session: no message arrives
    twice.
    """

    def __init__(
        self,
        options: Options,
        tally: Tally,
        selector: selectors.BaseSelector,
        outage: Outage,
        ring: Ring | None = None,
        names: Collection[str] = (),
    ) -> None:
        """`names` are the devices whose messages in `ring` this connection sends again."""
        self._ring = ring
        self._names = names
        self._requests: deque[Request] = deque(maxlen=REQUEST_LIMIT)
        self._options = options
        self._tally = tally
        self._selector = selector
        self._outage = outage
        self._version = '5' if options.mqtt == 'auto' else options.mqtt
        self._falls_back = False
        self._jitter = Random()
        self._queue: deque[Message | Kept] = deque()
        self._pending: dict[int, Message | Kept] = {}
        self._window = options.inflight
        self._up = False
        self._was_up = False
        self._closing = False
        self._refusal: str | None = None
        self._failure: str | None = None
        self._dirty = False
        self._watches_write = False
        self._backoff = BACKOFF_FIRST
        self._retry_at: float | None = 0.0
        self._give_up_at = 0.0
        self._client = self._create_client()

    @property
    def has_room(self) -> bool:
        """Whether `publish` may be called."""
        return len(self._queue) < QUEUE_LIMIT

    @property
    def idle(self) -> bool:
        """Whether the broker has answered for every message."""
        return not self._queue and not self._pending

    @property
    def calm(self) -> bool:
        """Whether no message waits for the next packet of the broker."""
        few = len(self._pending) <= self._window // 2
        return self._up and few and not self._queue and not self._dirty and self._options.qos < EXACTLY_ONCE

    def publish(self, message: Message) -> None:
        """Send a message as soon as the window allows."""
        self._tally.publish(message)
        if self._ring is not None and not message.copy:
            self._ring.add(message)
        if self._up and not self._queue and len(self._pending) < self._window:
            self._send(message)
        else:
            self._queue.append(message)

    def send_again(self, message: Kept) -> None:
        """Send a message that was kept, if there is room. It is not counted."""
        if self.has_room:
            self._queue.append(message)

    def flush(self) -> None:
        """Write waiting bytes, and send queued messages while the window has room."""
        while True:
            while self._up and self._queue and len(self._pending) < self._window:
                self._send(self._queue.popleft())
            if not self._dirty:
                break
            self._client.loop_write()
            if self._dirty:
                break
        sock = self._client.socket()
        if sock is not None and self._dirty != self._watches_write:
            self._watches_write = self._dirty
            mask = selectors.EVENT_READ | selectors.EVENT_WRITE if self._dirty else selectors.EVENT_READ
            self._selector.modify(sock, mask, self)

    def ready(self, mask: int) -> None:
        """Handle an event of the socket. Raises Refused."""
        if mask & selectors.EVENT_READ:
            self._client.loop_read()
            # The TLS layer may have bytes that the selector does not report.
            while isinstance(sock := self._client.socket(), ssl.SSLSocket) and sock.pending():
                self._client.loop_read()
        if self._refusal is not None:
            raise Refused(self._refusal)
        while self._ring is not None and self._requests:
            for message in self._ring.answer(self._requests.popleft()):
                self.send_again(message)
        self.flush()

    def tick(self, now: float) -> None:
        """Do what is due: keep-alive, timeout or retry. Called about twice a second. Raises Refused."""
        if self._retry_at is not None:
            if now >= self._retry_at:
                self._connect(now)
            return
        if not self._up and now >= self._give_up_at:
            self._failure = f'{self._options.broker} does not answer CONNECT'
            self._client.disconnect()
            self.flush()
            return
        self._client.loop_misc()
        self.flush()

    def close(self) -> None:
        """Disconnect, and delete the session in the broker."""
        self._closing = True
        if self._client.socket() is None:
            return
        properties = None
        if self._version == '5':
            properties = Properties(PacketTypes.DISCONNECT)
            properties.SessionExpiryInterval = 0
        self._client.disconnect(properties=properties)
        self._client.loop_write()

    def _create_client(self) -> Client:
        options = self._options
        version = MQTTProtocolVersion.MQTTv5 if self._version == '5' else MQTTProtocolVersion.MQTTv311
        # Random, so that two simulators never use the same session.
        client_id = f'tidegauge-sim-{secrets.token_hex(6)}'
        client = Client(CallbackAPIVersion.VERSION2, client_id, protocol=version, reconnect_on_failure=False)
        client.max_inflight_messages_set(0)
        client.connect_timeout = CONNECT_TIMEOUT
        if options.broker.user is not None:
            client.username_pw_set(options.broker.user, options.password)
        if options.broker.tls:
            client.tls_set_context(tls_context(options))
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_socket_open = self._on_socket_open
        client.on_socket_close = self._on_socket_close
        client.on_socket_register_write = self._on_want_write
        client.on_socket_unregister_write = self._on_written
        properties = None
        if self._version == '5' and options.qos == EXACTLY_ONCE:
            properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = SESSION_SECONDS
        client.connect_async(
            options.broker.host, options.broker.port, KEEPALIVE_SECONDS,
            clean_start=True if properties is None else 3, properties=properties,
        )  # fmt: skip
        return client

    def _connect(self, now: float) -> None:
        self._retry_at = None
        self._give_up_at = now + CONNACK_TIMEOUT
        try:
            self._client.reconnect()
        except ssl.SSLCertVerificationError as error:
            raise Refused(
                f'the certificate of {self._options.broker} is not trusted: {error.verify_message}; '
                'set --tls-ca to the certificate authority'
            ) from error
        except OSError as error:
            self._retry(now, f'cannot connect to {self._options.broker}: {error.strerror or error}')
            return
        self.flush()

    def _retry(self, now: float, reason: str) -> None:
        wait = self._backoff * self._jitter.uniform(0.5, 1.0)
        self._backoff = min(self._backoff * 2.0, BACKOFF_LAST)
        self._retry_at = now + wait
        self._outage.begin(id(self), reason)

    def _send(self, message: Message | Kept) -> None:
        info = self._client.publish(message.topic, message.payload, self._options.qos)
        self._pending[info.mid] = message

    def _on_connect(
        self,
        client: Client,
        _userdata: object,
        flags: ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if reason.value == UNSUPPORTED_VERSION and self._version == '5' and self._options.mqtt == 'auto':
            self._falls_back = True
            return
        if reason.is_failure:
            self._failure = f'{self._options.broker} refused the connection: {reason}'
            if reason.value in PERMANENT:
                self._refusal = f'{self._failure}{HINTS.get(reason.value, "")}'
            return
        self._up = True
        self._backoff = BACKOFF_FIRST
        self._outage.end(id(self))
        self._tally.reconnects += self._was_up
        self._was_up = True
        self._window = min(self._options.inflight, self._allowance(properties))
        if not flags.session_present:
            client.drop_out_messages()
            self._queue.extendleft(reversed(self._pending.values()))
            self._pending.clear()
        if self._ring is not None:
            client.subscribe(request_filter(self._options.topic))

    def _on_message(self, _client: Client, _userdata: object, message: MQTTMessage) -> None:
        request = parse_request(bytes(message.payload))
        if request is not None and request.device in self._names:
            self._requests.append(request)

    def _allowance(self, properties: Properties | None) -> int:
        """Largest number of unacknowledged messages. The broker ends a connection that has more."""
        if self._version == '5':
            return int(getattr(properties, 'ReceiveMaximum', MAX_INFLIGHT))
        return UNANNOUNCED_QOS_2 if self._options.qos == EXACTLY_ONCE else MAX_INFLIGHT

    def _on_disconnect(
        self,
        _client: Client,
        _userdata: object,
        _flags: DisconnectFlags,
        reason: ReasonCode,
        _properties: object,
    ) -> None:
        self._up = False
        if self._closing or self._refusal is not None:
            return
        if self._falls_back:
            self._outage.fall_back(self._options.broker)
            self._falls_back = False
            self._version = '3.1.1'
            self._dirty = False
            self._client = self._create_client()
            self._retry_at = 0.0
            return
        failure = self._failure or f'connection to {self._options.broker} lost: {reason}'
        self._failure = None
        self._retry(monotonic(), failure)

    def _on_publish(
        self, _client: Client, _userdata: object, mid: int, reason: ReasonCode, _properties: object
    ) -> None:
        message = self._pending.pop(mid, None)
        if message is None or isinstance(message, Kept):
            return
        # An unknown identifier in PUBCOMP means that the broker had finished before the connection broke.
        if reason.is_failure and reason.value != PACKET_IDENTIFIER_NOT_FOUND:
            self._tally.reject(message)
            log.warning('%s refused a message on %s: %s', self._options.broker, message.topic, reason)
        else:
            self._tally.settle(message)

    def _on_socket_open(self, _client: Client, _userdata: object, sock: SocketLike) -> None:
        self._watches_write = False
        self._selector.register(sock, selectors.EVENT_READ, self)

    def _on_socket_close(self, _client: Client, _userdata: object, sock: SocketLike) -> None:
        self._selector.unregister(sock)

    def _on_want_write(self, _client: Client, _userdata: object, _sock: SocketLike) -> None:
        self._dirty = True

    def _on_written(self, _client: Client, _userdata: object, _sock: SocketLike) -> None:
        self._dirty = False


def tls_context(options: Options) -> ssl.SSLContext:
    """TLS context for mqtts:// brokers. Raises OptionsError when a file cannot be used."""
    try:
        context = ssl.create_default_context(cafile=options.tls_ca)
    except (OSError, ssl.SSLError) as error:
        raise OptionsError(
            [f'--tls-ca: got "{options.tls_ca}", expected PEM certificates ({error})']
        ) from error
    if options.tls_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.tls_cert is not None:
        try:
            # With an empty password, an encrypted key is an error. Without a password, OpenSSL prompts.
            context.load_cert_chain(options.tls_cert, options.tls_key, password='')
        except (OSError, ssl.SSLError) as error:
            pair = f'"{options.tls_cert}" with "{options.tls_key}"'
            raise OptionsError([f'--tls-cert: got {pair}, expected a PEM pair ({error})']) from error
    return context
