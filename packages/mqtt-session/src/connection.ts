import type { Duplex } from 'node:stream';
import type {
  IConnackPacket,
  IDisconnectPacket,
  IPubackPacket,
  ISubackPacket,
  IUnsubackPacket,
} from 'mqtt-packet';
import { ACK_BYTES, AckQueue, PUBACK, PUBREC } from './ack-queue.ts';
import {
  decodeControl,
  encodeConnect,
  encodeDisconnect,
  encodePublish,
  encodeSubscribe,
  encodeUnsubscribe,
  PINGREQ,
  Type,
} from './control.ts';
import { MqttSessionError, ProtocolError } from './errors.ts';
import { FrameReader } from './frame-reader.ts';
import { KeepAlive } from './keep-alive.ts';
import type { Settings } from './options.ts';
import { decodePublish, type InboundMessage, salvagePublish, type UndecodableMessage } from './publish.ts';
import { describeReason, Reason, refusalError, toReasonCode } from './reasons.ts';
import type { Subscription } from './subscriptions.ts';
import { openTransport, transportError } from './transport.ts';

/** Totals over all connections of a session. */
export interface Counters {
  received: number;
  acknowledged: number;
  duplicates: number;
  undecodable: number;
  bytes: number;
}

/** The part of a session that a connection uses. */
export interface ConnectionContext {
  readonly settings: Settings;
  readonly version: 4 | 5;
  readonly clean: boolean;
  readonly epoch: number;
  /** Packet ids of QoS 2 messages whose PUBREC was sent and whose PUBREL was not seen: session state. */
  readonly unreleased: Set<number>;
  readonly counters: Counters;
  readonly onMessage: (message: InboundMessage) => void;
  readonly onUndecodable: (message: UndecodableMessage) => void;
}

/** The result of CONNACK. */
export interface Accepted {
  readonly sessionPresent: boolean;
  /** The expiry that the broker granted; null under 3.1.1. */
  readonly sessionExpirySeconds: number | null;
  readonly keepAliveSeconds: number;
  /** Whether the broker keeps retained messages. 3.1.1 does not say it, so it is assumed. */
  readonly retains: boolean;
}

/** The result of SUBACK, UNSUBACK or PUBACK. */
export interface Answer {
  /** One per filter, in order, or one of a message; empty in a 3.1.1 UNSUBACK. */
  readonly codes: readonly number[];
  readonly reasonString: string | undefined;
}

interface Request {
  readonly type: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: MqttSessionError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Unsent bytes of acknowledgements from which the broker counts as not reading. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/** Unsent bytes up to which messages are published. */
const MAX_UNSENT_PUBLISH_BYTES = 256 * 1024;
const WRITE_INTERVAL_MS = 1;
const SAME_CLIENT_ID =
  'if it repeats, another process may use this clientId: 3.1.1 and mosquitto before 2.0.15 do not report it';
/** How long a failed connection may take to send its DISCONNECT. */
const LAST_WORDS_MS = 1000;

/**
 * One network connection, from CONNECT to its end.
 *
 *     connecting --CONNACK--> open --fail, close, end of stream--> ended
 *
 * It starts paused: nothing is delivered until `resume`. After `ended`, incoming data is discarded, acknowledgements
 * are ignored, and `closed` has the reason. The broker sends unacknowledged messages again.
 */
export class Connection {
  /** Resolves at the end with the reason, or with null after `close`. Does not reject. */
  readonly closed: Promise<MqttSessionError | null>;
  readonly #context: ConnectionContext;
  readonly #stream: Duplex;
  readonly #reader: FrameReader;
  readonly #acks: AckQueue;
  // QoS 2 messages delivered by this connection and not yet answered with PUBREC.
  readonly #unanswered = new Set<number>();
  // PUBCOMPs to write; negative: the packet id is not known here.
  #completions: number[] = [];
  readonly #requests = new Map<number, Request>();
  #lastRequestId = 0;
  #keepAlive: KeepAlive;
  #state: 'connecting' | 'open' | 'ended' = 'connecting';
  // Reading stops while the application has paused it or the window is full. 3.1.1 cannot announce a receive maximum,
  // and mosquitto 2.0.11 exceeds it when it delivers from its queue. Ending the connection would only make the broker
  // send all messages again.
  #paused = false;
  #held = false;
  #flushDue: 'no' | 'now' | 'later' = 'no';
  #flushTimer: NodeJS.Timeout | undefined;
  #flushedAt = 0;
  readonly #accepted = Promise.withResolvers<Accepted>();
  readonly #ended = Promise.withResolvers<MqttSessionError | null>();

  private constructor(stream: Duplex, context: ConnectionContext) {
    this.#stream = stream;
    this.#context = context;
    this.#acks = new AckQueue(context.settings.receiveMaximum);
    this.#reader = new FrameReader(context.settings.maximumPacketSize, this.#onFrame, this.#onOversized);
    this.#keepAlive = this.#newKeepAlive(0);
    this.closed = this.#ended.promise;
    stream.on('data', this.#onData);
    stream.on('error', (error) => this.#fail(this.#streamError(error)));
    stream.on('close', () =>
      this.#fail(this.#lost('the connection was closed without a reason', SAME_CLIENT_ID)),
    );
  }

  /**
   * Connects and waits for CONNACK, at most `connectTimeoutMs`. Rejects with MqttSessionError, or with the reason of
   * `signal`.
   */
  static async open(
    context: ConnectionContext,
    signal: AbortSignal,
  ): Promise<{ connection: Connection; accepted: Accepted }> {
    const { connectTimeoutMs, endpoint } = context.settings;
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      const message = `${endpoint.label} did not accept a connection within ${connectTimeoutMs} ms`;
      deadline.abort(new MqttSessionError('TIMEOUT', message));
    }, connectTimeoutMs);
    const either = AbortSignal.any([signal, deadline.signal]);
    try {
      const connection = new Connection(await openTransport(context.settings, either), context);
      const abort = (): void => connection.#fail(either.reason);
      either.addEventListener('abort', abort);
      try {
        if (either.aborted) abort();
        return { connection, accepted: await connection.#handshake() };
      } finally {
        either.removeEventListener('abort', abort);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Messages delivered and not acknowledged, QoS 2 ones until their PUBREL. */
  get inFlight(): number {
    return this.#acks.size + this.#context.unreleased.size;
  }

  /** Releases the acknowledgement of a message of this connection. Returns false when it was released before. */
  acknowledge(ticket: number): boolean {
    if (this.#state !== 'open' || !this.#acks.release(ticket)) return false;
    if (this.#acks.ready > 0) this.#scheduleFlush();
    return true;
  }

  pause(): void {
    this.#paused = true;
    this.#updateHold();
  }

  resume(): void {
    this.#paused = false;
    this.#updateHold();
  }

  /** Sends a message with QoS 0. Returns false when it was not sent, because earlier bytes are not sent yet. */
  publish(topic: string, payload: Uint8Array): boolean {
    if (this.#state !== 'open') return false;
    const packet = encodePublish(topic, payload, this.#context.version);
    if (this.#stream.writableLength + packet.length > MAX_UNSENT_PUBLISH_BYTES) return false;
    this.#write(packet);
    return true;
  }

  /** Sends a message with QoS 1, and resolves with the answer. Rejects when the connection ends first. */
  deliver(topic: string, payload: Uint8Array, retain: boolean): Promise<Answer> {
    const { version } = this.#context;
    return this.#request(Type.PUBACK, (messageId) =>
      encodePublish(topic, payload, version, { messageId, retain }),
    );
  }

  /** Rejects when the connection ends first. */
  subscribe(subscriptions: readonly Subscription[]): Promise<Answer> {
    return this.#request(Type.SUBACK, (id) => encodeSubscribe(id, subscriptions, this.#context.version));
  }

  /** Rejects when the connection ends first. */
  unsubscribe(filters: readonly string[]): Promise<Answer> {
    return this.#request(Type.UNSUBACK, (id) => encodeUnsubscribe(id, filters, this.#context.version));
  }

  /**
   * Sends the ready acknowledgements, then DISCONNECT, and waits up to `timeoutMs` for the broker to close the
   * connection. The broker keeps the session and all unacknowledged messages.
   */
  async close(timeoutMs: number): Promise<void> {
    if (this.#state === 'open') {
      this.#flush();
      this.#end(null, encodeDisconnect(Reason.SUCCESS, this.#context.version), timeoutMs);
    } else {
      this.#fail(this.#lost('closed'));
    }
    const stream = this.#stream;
    if (!stream.closed) await new Promise<void>((resolve) => stream.once('close', () => resolve()));
  }

  get #label(): string {
    return this.#context.settings.endpoint.label;
  }

  #handshake(): Promise<Accepted> {
    const { settings, version, clean } = this.#context;
    this.#write(encodeConnect(settings, version, clean));
    return this.#accepted.promise;
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#keepAlive.received();
    this.#context.counters.bytes += chunk.length;
    if (this.#state !== 'ended') this.#read(() => this.#reader.push(chunk));
  };

  #read(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (error instanceof ProtocolError) {
        this.#failProtocol(error);
        return;
      }
      this.#fail(this.#lost('onMessage threw'));
      throw error;
    }
  }

  readonly #onFrame = (buffer: Buffer, start: number, body: number, end: number): void => {
    if (this.#state === 'ended') return;
    const type = buffer[start]! >> 4;
    if (this.#state === 'connecting' && type !== Type.CONNACK && type !== Type.AUTH) {
      throw new ProtocolError(Reason.PROTOCOL_ERROR, `a packet of type ${type} before CONNACK`);
    }
    if (type === Type.PUBLISH) {
      const message = this.#decode(buffer, start, body, end);
      if (message !== null) this.#onPublish(message);
    } else if (type === Type.PUBREL) {
      this.#onPubrel(buffer, start, body, end);
    } else this.#onControl(type, buffer.subarray(start, end));
  };

  readonly #onOversized = (head: Buffer, body: number, size: number): void => {
    if (this.#state === 'ended') return;
    if (this.#state === 'connecting') {
      throw new ProtocolError(Reason.PROTOCOL_ERROR, `a packet of type ${Type.PUBLISH} before CONNACK`);
    }
    const why = { size, maximumPacketSize: this.#context.settings.maximumPacketSize };
    this.#onUndecodable(salvagePublish(head, 0, body, head.length, this.#context.version === 5, why));
  };

  // Returns the message, or null when it could not be decoded and was reported.
  #decode(buffer: Buffer, start: number, body: number, end: number): InboundMessage | null {
    const mqtt5 = this.#context.version === 5;
    try {
      return decodePublish(buffer, start, body, end, mqtt5, this.#context.settings.maximumTopicBytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#onUndecodable(salvagePublish(buffer, start, body, end, mqtt5, error));
      return null;
    }
  }

  // The standard allows a client to end the connection here. But the broker would send this message first on the next
  // connection too, and no later message would arrive.
  #onUndecodable(message: UndecodableMessage): void {
    if (message.qos !== 0 && !this.#enter(message)) return;
    message.epoch = this.#context.epoch;
    this.#context.counters.undecodable += 1;
    this.#context.onUndecodable(message);
  }

  #onPublish(message: InboundMessage): void {
    if (message.qos !== 0 && !this.#enter(message)) return;
    message.epoch = this.#context.epoch;
    this.#context.counters.received += 1;
    this.#context.onMessage(message);
  }

  // Adds the message to the acknowledgement order. Returns false when it was delivered before.
  #enter(message: InboundMessage): boolean {
    const { unreleased, counters } = this.#context;
    const id = message.packetId;
    if (message.qos === 2) {
      if (this.#unanswered.has(id)) {
        counters.duplicates += 1;
        return false;
      }
      if (message.dup && unreleased.has(id)) {
        counters.duplicates += 1;
        this.#acks.release(this.#push(PUBREC, id));
        this.#scheduleFlush();
        return false;
      }
      // Without DUP it is a different message: the broker lost the state of the packet id.
      unreleased.delete(id);
      this.#unanswered.add(id);
    }
    message.ticket = this.#push(message.qos === 1 ? PUBACK : PUBREC, id);
    if (this.#acks.size >= this.#acks.limit) this.#updateHold();
    return true;
  }

  #push(type: number, id: number): number {
    const ticket = this.#acks.push(type, id);
    if (ticket === -1) throw this.#tooMany();
    return ticket;
  }

  #tooMany(): ProtocolError {
    const { receiveMaximum } = this.#context.settings;
    return new ProtocolError(
      Reason.RECEIVE_MAXIMUM_EXCEEDED,
      `more than receiveMaximum (${receiveMaximum}) messages without acknowledgement`,
    );
  }

  #onPubrel(buffer: Buffer, start: number, body: number, end: number): void {
    if (buffer[start] !== 0x62 || body + 2 > end) {
      throw new ProtocolError(Reason.MALFORMED_PACKET, 'a malformed PUBREL');
    }
    const id = (buffer[body]! << 8) | buffer[body + 1]!;
    this.#completions.push(this.#context.unreleased.delete(id) ? id : -id);
    this.#scheduleFlush();
  }

  #onControl(type: number, frame: Buffer): void {
    const packet = decodeControl(frame, this.#context.version);
    if (packet.cmd === 'pingresp' || packet.cmd === 'pubcomp') return;
    if (packet.cmd === 'pubrec') this.#onPubrec(packet.messageId ?? 0, packet.reasonCode ?? 0);
    else if (packet.cmd === 'connack' && this.#state === 'connecting') this.#onConnack(packet);
    else if (packet.cmd === 'suback' || packet.cmd === 'unsuback' || packet.cmd === 'puback')
      this.#onAnswer(type, packet);
    else if (packet.cmd === 'disconnect' && this.#context.version === 5) this.#onDisconnect(packet);
    else if (packet.cmd === 'auth') {
      throw new ProtocolError(Reason.PROTOCOL_ERROR, 'AUTH without a request for enhanced authentication');
    } else throw new ProtocolError(Reason.PROTOCOL_ERROR, `${packet.cmd.toUpperCase()} out of place`);
  }

  #onConnack(packet: IConnackPacket): void {
    const { settings, version } = this.#context;
    const code = packet.reasonCode ?? packet.returnCode ?? 0;
    const properties = packet.properties ?? {};
    if (code !== 0) {
      const refusal = { code: toReasonCode(code), ...properties };
      this.#fail(refusalError(this.#label, refusal));
      return;
    }
    const keepAliveSeconds = properties.serverKeepAlive ?? settings.keepAliveSeconds;
    this.#keepAlive.stop();
    this.#keepAlive = this.#newKeepAlive(keepAliveSeconds * 1000);
    this.#state = 'open';
    this.pause();
    this.#accepted.resolve({
      sessionPresent: packet.sessionPresent,
      sessionExpirySeconds:
        version === 4 ? null : (properties.sessionExpiryInterval ?? settings.sessionExpirySeconds),
      keepAliveSeconds,
      retains: properties.retainAvailable !== false,
    });
  }

  #onAnswer(type: number, packet: ISubackPacket | IUnsubackPacket | IPubackPacket): void {
    const request = this.#requests.get(packet.messageId ?? 0);
    // A broker can answer twice. No standard calls that an error, and a new connection would not help.
    if (request === undefined && packet.cmd !== 'suback') return;
    if (request === undefined || request.type !== type) {
      throw new ProtocolError(Reason.PROTOCOL_ERROR, `${packet.cmd.toUpperCase()} that nobody waits for`);
    }
    this.#requests.delete(packet.messageId!);
    clearInterval(request.timer);
    request.resolve({
      codes: packet.cmd === 'puback' ? [packet.reasonCode ?? 0] : ((packet.granted ?? []) as number[]),
      reasonString: packet.properties?.reasonString,
    });
  }

  // The session sends no messages with QoS 2, so the packet identifier is not known (MQTT 5, section 4.3.3).
  #onPubrec(id: number, reasonCode: number): void {
    if (reasonCode >= 0x80) return;
    const answer = Buffer.from([0x62, 2, id >> 8, id & 0xff]);
    const reason = Buffer.from([Reason.PACKET_ID_NOT_FOUND]);
    if (this.#context.version === 5) answer[1] = 3;
    this.#write(this.#context.version === 5 ? Buffer.concat([answer, reason]) : answer);
  }

  #onDisconnect(packet: IDisconnectPacket): void {
    const reasonCode = packet.reasonCode ?? Reason.SUCCESS;
    const taken = reasonCode === Reason.SESSION_TAKEN_OVER;
    const reason = describeReason(reasonCode, packet.properties?.reasonString);
    this.#fail(
      new MqttSessionError(
        taken ? 'TAKEN_OVER' : 'CONNECTION_LOST',
        `${this.#label} ended the connection: ${reason}`,
        { reasonCode, ...(taken ? { hint: 'another process uses this clientId: give each its own' } : {}) },
      ),
    );
  }

  #request(type: number, encode: (id: number) => Buffer): Promise<Answer> {
    if (this.#state !== 'open') return Promise.reject(this.#lost('the connection ended'));
    const id = (this.#lastRequestId % 65535) + 1;
    this.#lastRequestId = id;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { connectTimeoutMs } = this.#context.settings;
    // The answer may follow a long queue of messages, so the time counts only while the broker sends nothing.
    const timer = setInterval(() => {
      if (this.#held || this.#keepAlive.quietMs < connectTimeoutMs) return;
      this.#fail(new MqttSessionError('TIMEOUT', `${this.#label} did not answer a request`));
    }, connectTimeoutMs);
    this.#requests.set(id, { type, resolve, reject, timer });
    this.#write(encode(id));
    return promise;
  }

  // One write for all that a turn of the application or one chunk from the broker brought about, and at most
  // one per millisecond: at full speed chunks are small and a write per chunk costs more than all else together
  // (10 us of CPU per message without this rule, 3.6 with it). An acknowledgement after a quiet millisecond goes
  // out at once, and so does half a window, for which the broker may be waiting.
  #scheduleFlush(): void {
    if (this.#flushDue === 'now') return;
    const urgent = this.#acks.ready * 2 >= this.#acks.limit;
    if (this.#flushDue === 'later' && !urgent) return;
    if (urgent || performance.now() - this.#flushedAt >= WRITE_INTERVAL_MS) {
      this.#flushDue = 'now';
      queueMicrotask(this.#flush);
    } else {
      this.#flushDue = 'later';
      this.#flushTimer = setTimeout(this.#flush, WRITE_INTERVAL_MS);
    }
  }

  readonly #flush = (): void => {
    this.#flushDue = 'no';
    clearTimeout(this.#flushTimer);
    if (this.#state !== 'open') return;
    const packets = Buffer.allocUnsafe(this.#acks.ready * ACK_BYTES + this.#completions.length * 5);
    let length = this.#acks.take(packets, 0);
    if (this.#unanswered.size > 0) this.#noteAnswered(packets, length);
    for (const id of this.#completions) length = this.#encodePubcomp(packets, length, id);
    this.#completions = [];
    if (length === 0) return;
    this.#flushedAt = performance.now();
    this.#write(packets.subarray(0, length));
    if (this.#held) this.#updateHold();
  };

  #noteAnswered(packets: Buffer, length: number): void {
    for (let i = 0; i < length; i += ACK_BYTES) {
      if (packets[i] !== PUBREC) continue;
      const id = (packets[i + 2]! << 8) | packets[i + 3]!;
      this.#unanswered.delete(id);
      this.#context.unreleased.add(id);
    }
  }

  #encodePubcomp(target: Buffer, offset: number, id: number): number {
    const unknown = id <= 0 && this.#context.version === 5;
    target[offset] = 0x70;
    target[offset + 1] = unknown ? 3 : 2;
    offset = target.writeUInt16BE(Math.abs(id), offset + 2);
    if (unknown) target[offset++] = Reason.PACKET_ID_NOT_FOUND;
    return offset;
  }

  #write(bytes: Buffer): void {
    this.#keepAlive.sent();
    this.#stream.write(bytes);
    if (this.#stream.writableLength > MAX_UNSENT_BYTES) {
      this.#fail(new MqttSessionError('TIMEOUT', `${this.#label} does not read what it is sent`));
    }
  }

  #updateHold(): void {
    const held = this.#paused || this.#acks.size >= this.#acks.limit;
    if (held === this.#held) return;
    this.#held = held;
    this.#keepAlive.paused = held;
    if (held) {
      this.#reader.paused = true;
      this.#stream.pause();
    } else {
      // Not within the application's call to resume, nor within a read that is under way.
      queueMicrotask(this.#continue);
    }
  }

  readonly #continue = (): void => {
    if (this.#held || this.#state !== 'open') return;
    this.#read(() => this.#reader.resume());
    if (!this.#held) this.#stream.resume();
  };

  #newKeepAlive(intervalMs: number): KeepAlive {
    return new KeepAlive(intervalMs, {
      ping: () => this.#write(PINGREQ),
      dead: () =>
        this.#fail(
          new MqttSessionError('TIMEOUT', `${this.#label} is silent: no answer to PINGREQ (half-open?)`),
        ),
    });
  }

  // TLS 1.3 refuses a client's certificate only after the connection seems made.
  #streamError(cause: Error): MqttSessionError {
    const error = transportError(this.#label, cause);
    return error.permanent ? error : this.#lost(cause.message);
  }

  #lost(why: string, hint?: string): MqttSessionError {
    const message = `${this.#label}: ${why}`;
    return new MqttSessionError('CONNECTION_LOST', message, hint === undefined ? {} : { hint });
  }

  #failProtocol(error: ProtocolError): void {
    const { version } = this.#context;
    const sendsReason = this.#state === 'open' && version === 5;
    this.#end(
      new MqttSessionError('PROTOCOL', `${this.#label} broke the protocol: it sent ${error.message}`, {
        cause: error,
        reasonCode: error.reasonCode,
      }),
      sendsReason ? encodeDisconnect(error.reasonCode, version) : null,
      LAST_WORDS_MS,
    );
  }

  #fail(error: MqttSessionError): void {
    this.#end(error, null, 0);
  }

  // The only transition to `ended`. With a last packet, the stream gets `timeoutMs` to send it.
  #end(error: MqttSessionError | null, lastWords: Buffer | null, timeoutMs: number): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#keepAlive.stop();
    clearTimeout(this.#flushTimer);
    const reason = error ?? this.#lost('the session was closed');
    for (const { reject, timer } of this.#requests.values()) {
      clearInterval(timer);
      reject(reason);
    }
    this.#requests.clear();
    this.#accepted.reject(reason);
    this.#accepted.promise.catch(() => {});
    this.#ended.resolve(error);
    const stream = this.#stream;
    if (lastWords === null || stream.destroyed) {
      stream.destroy();
      return;
    }
    const timer = setTimeout(() => stream.destroy(), timeoutMs);
    stream.once('close', () => clearTimeout(timer));
    stream.end(lastWords);
    stream.resume();
  }
}
