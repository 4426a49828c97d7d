import { setTimeout as delay } from 'node:timers/promises';
import { Backoff } from './backoff.ts';
import { Connection, type Counters } from './connection.ts';
import { MqttSessionError } from './errors.ts';
import {
  checkSubscriptions,
  type Logger,
  type MqttSessionOptions,
  resolveSettings,
  type Settings,
} from './options.ts';
import type { Acknowledgeable, UndecodableMessage } from './publish.ts';
import { describeReason } from './reasons.ts';
import {
  difference,
  type Subscription,
  type SubscriptionMap,
  toSubscriptionMap,
  wireFilter,
  withoutOptions,
} from './subscriptions.ts';

export interface SessionStats {
  /** Connections after the first. */
  readonly reconnects: number;
  /** Messages passed to `onMessage`, all QoS. */
  readonly received: number;
  /** Acknowledgements released on the connection that received their message. */
  readonly acknowledged: number;
  /** QoS 2 messages that the broker sent again and that were not delivered twice. */
  readonly duplicates: number;
  /** Messages passed to `onUndecodable`, or logged instead. */
  readonly undecodable: number;
  readonly bytesReceived: number;
  /** Unacknowledged messages of this connection, QoS 2 ones until their PUBREL. */
  readonly inFlight: number;
}

const DEFAULT_CLOSE_MS = 2000;
const DISCARD_LOG_MS = 1000;
/** Filters per SUBSCRIBE or UNSUBSCRIBE, so that these packets stay small. */
const FILTERS_PER_PACKET = 100;

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * An MQTT subscriber whose session outlives connections and processes.
 *
 *     new --connect()--> [ open -> reconcile subscriptions -> up -> lost -> wait ] ... --close()--> closed
 *
 * The loop in brackets runs until `close`, or until the first connection fails permanently. A message is acknowledged
 * to the broker only after `acknowledge`, in receive order, on the connection that received it; the broker sends all
 * other messages again. Therefore no message is lost, but QoS 1 messages, and QoS 2 messages across a restart of the
 * process, can arrive twice.
 *
 * @example
 * const session = new MqttSession({
 *   url: 'mqtt://127.0.0.1:1883',
 *   clientId: 'ingest-1',
 *   subscriptions: [{ filter: 'sensors/#', qos: 1 }],
 *   onMessage: (message) => void store(message).then(() => session.acknowledge(message)),
 * });
 * await session.connect();
 */
export class MqttSession {
  readonly #options: MqttSessionOptions;
  readonly #log: Logger;
  readonly #counters: Counters = { received: 0, acknowledged: 0, duplicates: 0, undecodable: 0, bytes: 0 };
  readonly #unreleased = new Set<number>();
  readonly #stop = new AbortController();
  readonly #firstUp = Promise.withResolvers<void>();
  #running: Promise<void> | null = null;
  #connection: Connection | null = null;
  #epoch = 0;
  /** Null before the first connection or failure. */
  #up: boolean | null = null;
  #paused = false;
  #retains = false;
  #version: 4 | 5 = 5;
  #connections = 0;
  #everUp = false;
  #desired: SubscriptionMap;
  // The subscriptions of the broker's session that this process has records of.
  #current: SubscriptionMap = new Map();
  #reconciling = false;
  #waiters: PromiseWithResolvers<void>[] = [];
  #discardLoggedAt = Number.NEGATIVE_INFINITY;

  /** Stores the options; `connect` validates them. */
  constructor(options: MqttSessionOptions) {
    this.#options = options;
    this.#log = options.logger ?? SILENT;
    this.#desired = toSubscriptionMap(options.subscriptions);
  }

  /** Whether the session is connected and subscribed. */
  get connected(): boolean {
    return this.#up === true;
  }

  /**
   * The subscriptions of the broker's session. Persist them, and pass them to the next process as
   * `previousSubscriptions`.
   */
  get subscriptions(): readonly Subscription[] {
    return [...this.#current.values()].filter((subscription) => subscription !== null);
  }

  get stats(): SessionStats {
    const { received, acknowledged, duplicates, undecodable, bytes } = this.#counters;
    return {
      reconnects: Math.max(0, this.#connections - 1),
      received,
      acknowledged,
      duplicates,
      undecodable,
      bytesReceived: bytes,
      inFlight: this.#connection?.inFlight ?? 0,
    };
  }

  /**
   * Resolves when the broker has accepted the connection and the subscriptions. Messages arrive before that, and must
   * be acknowledged without waiting for it: a 3.1.1 broker sends SUBACK after all queued messages. While the broker
   * is unavailable it retries, until `signal` is aborted (it rejects with the signal's reason) or `close` is called.
   * Permanent errors reject at once with an MqttSessionError: wrong options, credentials, client id, certificates, a
   * refused subscription. The session is closed after a rejection. After the first success only `close` ends the
   * session.
   */
  async connect(signal?: AbortSignal): Promise<void> {
    if (this.#running !== null || this.#stop.signal.aborted) {
      throw new MqttSessionError('CLOSED', 'connect() can be called once per session');
    }
    const onAbort = (): void => this.#firstUp.reject(signal?.reason);
    try {
      const settings = resolveSettings(this.#options);
      signal?.throwIfAborted();
      signal?.addEventListener('abort', onAbort);
      for (const previous of this.#options.previousSubscriptions ?? []) {
        this.#current.set(wireFilter(previous), null);
      }
      this.#running = this.#run(settings);
      await this.#firstUp.promise;
    } catch (error) {
      await this.close({ timeoutMs: 0 });
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Acknowledges a message. The acknowledgement is sent when those of all earlier messages have been released. It may
   * be called in any order and at any time. A second call, QoS 0, and messages of an earlier connection (which the
   * broker sends again) are ignored.
   */
  acknowledge(message: Acknowledgeable): void {
    if (message.epoch !== this.#epoch || message.ticket < 0 || this.#connection === null) return;
    if (this.#connection.acknowledge(message.ticket)) this.#counters.acknowledged += 1;
  }

  /**
   * Replaces the subscriptions: subscribes to new filters first, then unsubscribes old ones. Resolves when the broker
   * has confirmed; while the broker is unavailable, that is after the reconnection. Rejects with SUBSCRIPTION_REFUSED
   * and the refused filters, which are removed; the others are in force.
   */
  async setSubscriptions(subscriptions: readonly Subscription[]): Promise<void> {
    if (this.#stop.signal.aborted) throw new MqttSessionError('CLOSED', 'the session is closed');
    checkSubscriptions(subscriptions);
    this.#desired = toSubscriptionMap(subscriptions);
    if (this.#running === null) return;
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    // A failure here ends the connection, which the main loop handles.
    if (this.#up && this.#connection !== null) this.#reconcile(this.#connection).catch(() => {});
    await waiter.promise;
  }

  /**
   * Publishes a message with QoS 0 and without the retain flag, for example a command to a sender. Nothing is queued.
   *
   * @param topic without wildcards, at most 65,535 bytes
   * @returns whether it was sent. It is not without a connection, or while more than 256 KiB wait to be sent
   * @throws {TypeError} when the topic is invalid
   */
  publish(topic: string, payload: Uint8Array): boolean {
    checkTopic(topic);
    return this.#connection?.publish(topic, payload) === true;
  }

  /** Whether the broker of the present connection keeps retained messages. */
  get retains(): boolean {
    return this.#retains;
  }

  /**
   * Publishes a message with QoS 1. Resolves when the broker has accepted it. Nothing is queued: without a connection
   * it rejects. After a rejection the broker may have the message, so a repetition can arrive twice. While the session
   * is paused, the answer is not read.
   *
   * @param topic without wildcards, at most 65,535 bytes
   * @throws {TypeError} when the topic is invalid
   * @throws {MqttSessionError} PUBLISH_REFUSED when the broker does not accept it, for example because of its access
   *   rules; others when the connection ends first
   */
  async deliver(
    topic: string,
    payload: Uint8Array,
    { retain = false }: { readonly retain?: boolean } = {},
  ): Promise<void> {
    checkTopic(topic);
    const connection = this.#up ? this.#connection : null;
    if (connection === null) throw new MqttSessionError('CONNECTION_LOST', 'the session is not connected');
    const { codes, reasonString } = await connection.deliver(topic, payload, retain);
    const [code = 0] = codes;
    if (code < 0x80) return;
    const reason = describeReason(code, reasonString);
    throw new MqttSessionError('PUBLISH_REFUSED', `the broker refused ${JSON.stringify(topic)}: ${reason}`, {
      reasonCode: code,
    });
  }

  /** Stops delivery after the current message. Nothing is read until `resume`; keep-alive continues. */
  pause(): void {
    this.#paused = true;
    this.#connection?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#connection?.resume();
  }

  /**
   * Sends the released acknowledgements, then DISCONNECT, and waits at most `timeoutMs` (default 2000) for the broker
   * to close the connection. The broker keeps the session and all unacknowledged messages. No message is delivered
   * afterwards. It may be called twice.
   */
  async close({ timeoutMs = DEFAULT_CLOSE_MS }: { timeoutMs?: number } = {}): Promise<void> {
    const closed = new MqttSessionError('CLOSED', 'the session was closed');
    const connection = this.#connection;
    const ending = connection?.close(timeoutMs);
    this.#stop.abort(closed);
    this.#settleWaiters(closed);
    this.#firstUp.reject(closed);
    this.#firstUp.promise.catch(() => {});
    await ending;
    await this.#running;
  }

  // Many messages can arrive, so at most one line is logged per second.
  readonly #discard = (message: UndecodableMessage): void => {
    const now = performance.now();
    if (now - this.#discardLoggedAt >= DISCARD_LOG_MS) {
      this.#discardLoggedAt = now;
      const { topic, size, problem } = message;
      const { undecodable } = this.#counters;
      this.#log.error({ topic, size, problem, undecodable }, 'mqtt message discarded: it cannot be decoded');
    }
    this.acknowledge(message);
  };

  // Selects the version of the next connection after an error. Returns whether to connect without a wait.
  #continuesWithout5({ code }: MqttSessionError, { protocolVersion }: Settings, about: object): boolean {
    if (protocolVersion !== 'auto') return false;
    if (code === 'UNSUPPORTED_VERSION' && this.#version === 5) {
      this.#version = 4;
      this.#log.info(about, 'broker does not support MQTT 5, continuing with 3.1.1');
      return true;
    }
    // Brokers such as RabbitMQ before 3.13 close the connection of MQTT 5 without an answer.
    if (code === 'CONNECTION_LOST' && this.#connections === 0) this.#version = this.#version === 5 ? 4 : 5;
    return false;
  }

  async #run(settings: Settings): Promise<void> {
    const { signal } = this.#stop;
    const about = { broker: settings.endpoint.label, clientId: settings.clientId };
    const backoff = new Backoff(settings.reconnectMinMs, settings.reconnectMaxMs);
    if (settings.protocolVersion !== 'auto') this.#version = settings.protocolVersion;
    while (!signal.aborted) {
      const error = await this.#live(settings, about, backoff);
      this.#connection = null;
      if (this.#everUp) this.#setUp(false, error);
      if (signal.aborted || error === null) return;
      if (this.#continuesWithout5(error, settings, about)) continue;
      if (error.permanent && !this.#everUp) {
        this.#firstUp.reject(error);
        return;
      }
      this.#setUp(false, error);
      const harmful = error.permanent || error.code === 'TAKEN_OVER';
      const [pauseMs, level] = harmful
        ? ([backoff.longest(), 'error'] as const)
        : ([backoff.next(), 'warn'] as const);
      const waitMs = Math.round(pauseMs);
      const { code, message: reason, hint } = error;
      const what = { ...about, code, reason, hint, attempt: backoff.attempts, retryInMs: waitMs };
      this.#log[level](what, 'mqtt connection lost or refused');
      await delay(waitMs, undefined, { signal }).catch(() => {});
    }
  }

  // Runs one connection. Resolves with the reason for its end, or null after `close`. Delays are reset only by a
  // connection that lasted longer than the longest delay. Two processes with one client id end each other's
  // connections (many brokers do not report the reason), so both reach the longest delay.
  async #live(settings: Settings, about: object, backoff: Backoff): Promise<MqttSessionError | null> {
    let upAt = Number.POSITIVE_INFINITY;
    try {
      const { connection, accepted } = await Connection.open(
        {
          settings,
          version: this.#version,
          clean: settings.cleanStart && (this.#connections === 0 || this.#version === 4),
          epoch: ++this.#epoch,
          unreleased: this.#unreleased,
          counters: this.#counters,
          onMessage: this.#options.onMessage,
          onUndecodable: this.#options.onUndecodable ?? this.#discard,
        },
        this.#stop.signal,
      );
      if (this.#stop.signal.aborted) {
        await connection.close(0);
        return null;
      }
      this.#connection = connection;
      this.#connections += 1;
      this.#retains = accepted.retains;
      if (!accepted.sessionPresent) {
        this.#current.clear();
        this.#unreleased.clear();
      }
      if (!this.#paused) connection.resume();
      try {
        await this.#reconcile(connection, true);
      } catch (error) {
        await connection.close(DEFAULT_CLOSE_MS);
        throw error;
      }
      upAt = performance.now();
      this.#log.info({ ...about, version: this.#version, ...accepted }, 'mqtt session up');
      this.#setUp(true, null);
      return await connection.closed;
    } catch (error) {
      if (error instanceof MqttSessionError) return error;
      return new MqttSessionError('CONNECTION_LOST', 'unexpected failure', { cause: error });
    } finally {
      if (performance.now() - upAt >= settings.reconnectMaxMs) backoff.reset();
    }
  }

  #setUp(up: boolean, error: MqttSessionError | null): void {
    if (this.#up === up) return;
    this.#up = up;
    if (up && !this.#everUp) {
      this.#everUp = true;
      this.#firstUp.resolve();
    }
    // An error of the application is uncaught there, and does not affect the loop.
    queueMicrotask(() => this.#options.onConnectionChange?.(up, error));
  }

  // Makes the broker's subscriptions equal to the desired ones, however often these change meanwhile. A new
  // connection subscribes to everything again: a broker that crashed can restore an older state of the session
  // without some subscriptions. With retain handling 1 this has no effect on existing subscriptions.
  async #reconcile(connection: Connection, isNew = false): Promise<void> {
    if (this.#reconciling) return;
    this.#reconciling = true;
    try {
      let known = isNew ? withoutOptions(this.#current) : this.#current;
      for (;;) {
        const { added, removed } = difference(known, this.#desired);
        known = this.#current;
        if (added.length === 0 && removed.length === 0) break;
        const refused = await this.#subscribe(connection, added);
        await this.#unsubscribe(connection, removed);
        if (refused !== null) this.#giveUp(refused);
      }
      this.#settleWaiters(null);
    } finally {
      this.#reconciling = false;
    }
  }

  async #subscribe(connection: Connection, added: readonly Subscription[]): Promise<Refused | null> {
    const refused: Refused = { filters: [], reasons: [] };
    for (let from = 0; from < added.length; from += FILTERS_PER_PACKET) {
      const part = added.slice(from, from + FILTERS_PER_PACKET);
      const { codes, reasonString } = await connection.subscribe(part);
      for (const [i, subscription] of part.entries()) {
        const wire = wireFilter(subscription);
        const code = codes[i] ?? 0x80;
        if (code >= 0x80) {
          refused.filters.push(wire);
          refused.reasons.push(`${JSON.stringify(wire)}: ${describeReason(code, reasonString)}`);
          continue;
        }
        this.#current.set(wire, subscription);
        if (code < subscription.qos) {
          this.#log.warn(
            { filter: wire, requested: subscription.qos, granted: code },
            'broker granted a lower qos',
          );
        }
      }
    }
    return refused.filters.length === 0 ? null : refused;
  }

  async #unsubscribe(connection: Connection, removed: readonly string[]): Promise<void> {
    for (let from = 0; from < removed.length; from += FILTERS_PER_PACKET) {
      const part = removed.slice(from, from + FILTERS_PER_PACKET);
      const { codes, reasonString } = await connection.unsubscribe(part);
      for (const [i, filter] of part.entries()) {
        const code = codes[i] ?? 0;
        if (code >= 0x80) {
          this.#log.warn({ filter, reason: describeReason(code, reasonString) }, 'unsubscribe refused');
        }
        this.#current.delete(filter);
      }
    }
  }

  // Rejects the caller of setSubscriptions, and the session continues with the other filters. Without such a caller
  // the session fails.
  #giveUp({ filters, reasons }: Refused): void {
    const error = new MqttSessionError(
      'SUBSCRIPTION_REFUSED',
      `subscription refused: ${reasons.join('; ')}`,
      {
        hint: "check the filters against the broker's access rules and abilities",
      },
    );
    if (this.#waiters.length === 0) throw error;
    for (const filter of filters) this.#desired.delete(filter);
    this.#settleWaiters(error);
  }

  #settleWaiters(error: MqttSessionError | null): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve, reject } of waiters) {
      if (error === null) resolve();
      else reject(error);
    }
  }
}

function checkTopic(topic: string): void {
  if (topic === '' || /[+#\0]/.test(topic) || Buffer.byteLength(topic) > 65_535) {
    throw new TypeError(`topic ${JSON.stringify(topic.slice(0, 100))} cannot be published to`);
  }
}

interface Refused {
  readonly filters: string[];
  readonly reasons: string[];
}
