import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { MqttSessionError } from './errors.ts';
import type { InboundMessage, UndecodableMessage } from './publish.ts';
import { type Subscription, subscriptionProblem } from './subscriptions.ts';

/** The part of a logger that is used; pino fits. */
export interface Logger {
  debug(object: object, message: string): void;
  info(object: object, message: string): void;
  warn(object: object, message: string): void;
  error(object: object, message: string): void;
}

export interface MqttSessionOptions {
  /** `mqtt://`, `mqtts://`, `ws://` or `wss://`. Its user and password are used when the options have none. */
  readonly url: string;
  /** Identifies the session at the broker. Use one per process, and the same one after a restart. */
  readonly clientId: string;
  readonly username?: string;
  readonly password?: string | Buffer;
  /** `ca`, `cert`, `key`, `servername` and other options of `tls.connect`. */
  readonly tls?: TlsOptions;
  /** Default `auto`: MQTT 5, or 3.1.1 (4) when the broker refuses MQTT 5. */
  readonly protocolVersion?: 4 | 5 | 'auto';
  /** Discards the broker's session of this client id at the start. Default false. */
  readonly cleanStart?: boolean;
  /**
   * How long the broker keeps session and queue while this client is not connected, seconds (MQTT 5). Default 7 days.
   */
  readonly sessionExpirySeconds?: number;
  /** Seconds. 0 turns keep-alive and the detection of half-open connections off. Default 30. */
  readonly keepAliveSeconds?: number;
  /** QoS 1 and 2 messages that may wait for acknowledgement, 1 to 65535. Default 65535. */
  readonly receiveMaximum?: number;
  /**
   * Bytes. A larger message is skipped and reported to `onUndecodable`. Announced over WebSocket only, where an MQTT
   * 5 broker then drops larger messages. Default 16 MiB.
   */
  readonly maximumPacketSize?: number;
  /**
   * Bytes. A message with a longer topic is reported to `onUndecodable`, with its topic truncated. Default 65,535,
   * MQTT's maximum.
   */
  readonly maximumTopicBytes?: number;
  /**
   * Milliseconds for transport, TLS and CONNACK together, and for each SUBACK on a silent connection. Default 10,000.
   */
  readonly connectTimeoutMs?: number;
  /** Upper limit of the first delay before reconnecting, milliseconds; it doubles with each attempt. Default 250. */
  readonly reconnectMinMs?: number;
  /** Upper limit of every delay, milliseconds. Default 30,000. */
  readonly reconnectMaxMs?: number;
  readonly subscriptions: readonly Subscription[];
  /** The `subscriptions` of an earlier process. Filters that are no longer used are unsubscribed. */
  readonly previousSubscriptions?: readonly Subscription[];
  /**
   * Called once per PUBLISH, synchronously, in arrival order, also before `connect()` resolves. It is on the hot
   * path. If it throws, the connection is dropped (so that the broker sends the message again) and the error is
   * uncaught.
   */
  readonly onMessage: (message: InboundMessage) => void;
  /**
   * Called instead of `onMessage`, in the same order, for a PUBLISH that is malformed or too large. Acknowledge the
   * message when it is recorded; until then the broker sends it again. Without this option it is logged and
   * acknowledged.
   */
  readonly onUndecodable?: (message: UndecodableMessage) => void;
  /**
   * Called when the session becomes usable (connected and subscribed), when it stops being usable, and when it cannot become
   * usable at first.
   */
  readonly onConnectionChange?: (connected: boolean, error: MqttSessionError | null) => void;
  readonly logger?: Logger;
}

export interface Endpoint {
  readonly transport: 'tcp' | 'tls' | 'ws' | 'wss';
  readonly host: string;
  readonly port: number;
  /** Path and query, for WebSocket. */
  readonly path: string;
  /** The URL without credentials, for logs and errors. */
  readonly label: string;
}

/** Validated options with defaults. */
export interface Settings {
  readonly endpoint: Endpoint;
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
  readonly tls: TlsOptions;
  readonly protocolVersion: 4 | 5 | 'auto';
  readonly cleanStart: boolean;
  readonly sessionExpirySeconds: number;
  readonly keepAliveSeconds: number;
  readonly receiveMaximum: number;
  readonly maximumPacketSize: number;
  readonly maximumTopicBytes: number;
  readonly connectTimeoutMs: number;
  readonly reconnectMinMs: number;
  readonly reconnectMaxMs: number;
}

const TRANSPORTS: Readonly<Record<string, readonly [Endpoint['transport'], number]>> = {
  'mqtt:': ['tcp', 1883],
  'mqtts:': ['tls', 8883],
  'ws:': ['ws', 80],
  'wss:': ['wss', 443],
};

const LARGEST_DELAY_MS = 2 ** 31 - 1;

/** Validates the options and adds defaults. Throws MISCONFIGURED with the name of a wrong option. */
export function resolveSettings(options: MqttSessionOptions): Settings {
  const url = parseUrl(options.url);
  const clientId = options.clientId;
  if (clientId.length === 0) throw wrong('clientId cannot be empty', 'a persistent session needs a name');
  if (Buffer.byteLength(clientId) > 65535) throw wrong('clientId has at most 65535 bytes');
  const version = options.protocolVersion ?? 'auto';
  if (version !== 4 && version !== 5 && version !== 'auto') {
    throw wrong(`protocolVersion must be 5, 4 or 'auto', not ${version}`);
  }
  const username = options.username ?? (url.username === '' ? undefined : decodeURIComponent(url.username));
  const password = options.password ?? (url.password === '' ? undefined : decodeURIComponent(url.password));
  if (password !== undefined && username === undefined) throw wrong('password needs a username');
  checkSubscriptions(options.subscriptions);
  const reconnectMinMs = number(options, 'reconnectMinMs', 250, 1, LARGEST_DELAY_MS);
  return {
    endpoint: toEndpoint(url),
    clientId,
    username,
    password: typeof password === 'string' ? Buffer.from(password) : password,
    tls: options.tls ?? {},
    protocolVersion: version,
    cleanStart: options.cleanStart ?? false,
    sessionExpirySeconds: number(options, 'sessionExpirySeconds', 7 * 24 * 3600, 0, 2 ** 32 - 1),
    keepAliveSeconds: number(options, 'keepAliveSeconds', 30, 0, 65535),
    receiveMaximum: number(options, 'receiveMaximum', 65535, 1, 65535),
    maximumTopicBytes: number(options, 'maximumTopicBytes', 65_535, 1, 65_535),
    maximumPacketSize: number(options, 'maximumPacketSize', 16 * 1024 * 1024, 64, 2 ** 28 + 4),
    connectTimeoutMs: number(options, 'connectTimeoutMs', 10_000, 1, LARGEST_DELAY_MS),
    reconnectMinMs,
    reconnectMaxMs: number(options, 'reconnectMaxMs', 30_000, reconnectMinMs, LARGEST_DELAY_MS),
  };
}

/** Throws MISCONFIGURED with the invalid filter and the reason. */
export function checkSubscriptions(subscriptions: readonly Subscription[]): void {
  for (const subscription of subscriptions) {
    const problem = subscriptionProblem(subscription);
    if (problem !== null) throw wrong(`subscription ${JSON.stringify(subscription.filter)}: ${problem}`);
  }
}

type NumberOption = {
  [K in keyof MqttSessionOptions]-?: MqttSessionOptions[K] extends number | undefined ? K : never;
}[keyof MqttSessionOptions];

function number(
  options: MqttSessionOptions,
  name: NumberOption,
  fallback: number,
  min: number,
  max: number,
): number {
  const value = options[name] ?? fallback;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw wrong(`${name} must be a whole number from ${min} to ${max}, not ${value}`);
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  // The text is not in the message, because it can contain a password.
  const hint = 'use mqtt://host:1883, mqtts://host:8883, ws://host/path or wss://host/path';
  if (url === null) throw wrong('url is not a URL', hint);
  if (!(url.protocol in TRANSPORTS)) throw wrong(`url has the unknown scheme ${url.protocol}//`, hint);
  if (url.hostname === '') throw wrong('url names no host', hint);
  if (url.protocol.startsWith('mqtt') && (!['', '/'].includes(url.pathname) || url.search !== '')) {
    throw wrong(`url has a path, which ${url.protocol}// does not take`, hint);
  }
  return url;
}

function toEndpoint(url: URL): Endpoint {
  const [transport, defaultPort] = TRANSPORTS[url.protocol]!;
  const port = url.port === '' ? defaultPort : Number(url.port);
  const path = transport === 'ws' || transport === 'wss' ? `${url.pathname}${url.search}` : '';
  return {
    transport,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    path,
    label: `${url.protocol}//${url.hostname}:${port}${path === '/' ? '' : path}`,
  };
}

function wrong(message: string, hint?: string): MqttSessionError {
  return new MqttSessionError('MISCONFIGURED', message, hint === undefined ? {} : { hint });
}
