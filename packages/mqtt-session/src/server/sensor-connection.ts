import type { Duplex } from 'node:stream';
import type { IDisconnectPacket, ISubscribePacket, IUnsubscribePacket } from 'mqtt-packet';
import { AckQueue, PUBACK, PUBREC } from '../ack-queue.ts';
import { decodeControl, encodeDisconnect, encodePublish, generate, Type } from '../control.ts';
import { checkShape } from '../control-shape.ts';
import { ProtocolError } from '../errors.ts';
import { FrameReader } from '../frame-reader.ts';
import {
  decodePublish,
  type InboundMessage,
  salvagePublish,
  TopicAliases,
  TopicTooLong,
  type UndecodableMessage,
} from '../publish.ts';
import { Reason } from '../reasons.ts';
import type { Client, ClientMember } from './client.ts';
import {
  type ConnectRequest,
  decodeConnect,
  encodeAccepted,
  encodeRefusal,
  expiry,
  Refusal,
} from './connect.ts';
import type {
  ClientConnection,
  EndReason,
  LoginProblem,
  Peer,
  Receipt,
  ServerHandlers,
  ServerLimits,
  ServerStats,
  User,
} from './options.ts';
import type { Session, SessionConnection, Sessions } from './sessions.ts';
import type { Subscribers } from './subscribers.ts';

/** The part of a server that its connections use. */
export interface ConnectionHost {
  readonly limits: ServerLimits;
  readonly handlers: ServerHandlers;
  readonly stats: ServerStats;
  readonly sessions: Sessions;
  readonly subscribers: Subscribers<SensorConnection>;
  /** Whether the application takes no messages now. */
  readonly isPaused: boolean;
  /** Calls `flush` of the connection in a microtask. */
  flushSoon(connection: SensorConnection): void;
  /** The bytes that the connection collects for a packet. Returns false when it has to end. */
  collects(connection: SensorConnection, bytes: number): boolean;
  /**
   * A connection that logged in becomes one of this client. Returns why it may not; null when it may.
   */
  join(connection: SensorConnection, client: string): EndReason | null;
  /** The connection ended. Called once. */
  ended(connection: SensorConnection): void;
}

/** Bytes of the first packet, before the client has logged in. A will is a part of it. */
const MAX_CONNECT_BYTES = 16 * 1024;
/** Bytes of a packet that is not a PUBLISH. Decoded, a list of filters or properties takes many times its bytes. */
const MAX_CONTROL_BYTES = 16 * 1024;
/** Unsent bytes from which a client counts as not reading, when there is more to send. */
const MAX_UNSENT_BYTES = 16 * 1024;
/** How long a client may take to read the last packet. */
const LAST_WORDS_MS = 1000;
const PINGRESP = Buffer.from([0xd0, 0]);
const COMPLETION_BYTES = 5;
const DISCONNECT_WITH_WILL = 4;
const NO_SUBSCRIPTION = 0x11;
const REFUSED_FILTER = 0x80;
const GRANTED = 0;
/** Filters of a session, and their bytes together. A device or a gateway needs one. */
const MAX_FILTERS = 16;
const MAX_FILTER_BYTES = 1024;
/** Why the connection ends, by the code of a refused CONNECT. Of all other codes, the client may not connect. */
const REASONS_OF_REFUSALS: ReadonlyMap<number, EndReason> = new Map([
  [Reason.UNSUPPORTED_VERSION, 'version'],
  [Reason.BAD_CLIENT_ID, 'client_id'],
  [Reason.MALFORMED_PACKET, 'protocol'],
  [Reason.PROTOCOL_ERROR, 'protocol'],
  [Reason.TOPIC_NAME_INVALID, 'protocol'],
]);
const TOO_MUCH = 'its client has more unfinished packets and messages than there is room for';
const TOO_MANY = 'its client has as many connections as it may';
const NO_SUBSCRIBERS = 'messages of clients are not passed on here: read them over HTTP, or use a broker';

const PROBLEMS: Readonly<Record<LoginProblem, { code: number; text: string }>> = {
  credentials: { code: Reason.BAD_CREDENTIALS, text: 'bad user name or password' },
  not_authorized: { code: Reason.NOT_AUTHORIZED, text: 'not authorized' },
  busy: { code: Reason.BUSY, text: 'the server is busy: try again later' },
};

/**
 * One connection of a client at the server.
 *
 *     first --CONNECT--> checking --login--> open --DISCONNECT, error, close--> ended
 *
 * Nothing is read while the login is checked, while the application is paused, and while the messages of the
 * connection reach a bound. After `ended` acknowledgements are not sent; the client sends these messages again.
 */
export class SensorConnection implements ClientConnection, ClientMember, SessionConnection {
  readonly peer: Peer;
  /** Before the login: the client of its address. */
  client: Client<SensorConnection>;
  /** `performance.now()` when something arrived last, or reading continued. */
  receivedAt = performance.now();
  readonly since = performance.now();
  /** Whether the host will call `flush`. Used by the host. */
  isFlushDue = false;
  readonly #host: ConnectionHost;
  readonly #stream: Duplex;
  readonly #reader: FrameReader;
  #aliases = new TopicAliases(0);
  #acks = new AckQueue(1);
  // PUBCOMPs to write; negative: the packet identifier is not known.
  #completions: number[] = [];
  #state: 'first' | 'checking' | 'open' | 'ended' = 'first';
  #version: 4 | 5 = 4;
  #request: ConnectRequest | null = null;
  #clientId: string | null = null;
  #user: User | null = null;
  #session: Session | null = null;
  #held = false;
  // Bytes of messages that are not acknowledged.
  #bytes = 0;
  #silenceMs = 0;
  #isSuspect = false;
  /** Ends the check of the login. */
  #check: AbortController | null = null;

  /** @param client the client of its address */
  constructor(stream: Duplex, peer: Peer, client: Client<SensorConnection>, host: ConnectionHost) {
    this.peer = peer;
    this.client = client;
    this.#stream = stream;
    this.#host = host;
    this.#reader = new FrameReader(MAX_CONNECT_BYTES, this.#onFrame, this.#onOversized, (bytes) => {
      if (!host.collects(this, bytes)) throw new ProtocolError(Reason.QUOTA_EXCEEDED, TOO_MUCH);
    });
    this.#reader.maximumControlSize = MAX_CONTROL_BYTES;
    stream.on('data', this.#onData);
    // An error is followed by close.
    stream.on('error', () => {});
    stream.on('close', () => this.#end(null, null));
    stream.on('end', () => this.#end(null, null));
    this.#updateHold();
  }

  /** Whether its login is checked. */
  get isChecked(): boolean {
    return this.#state === 'checking';
  }

  acknowledge({ ticket, packetId, qos, size }: Receipt, reason = 0): void {
    this.#bytes -= size;
    this.client.unacknowledged -= 1;
    if (qos === 2 && reason === 0) {
      const { connection, tickets } = this.#host.sessions.stored(this.#session!, packetId) ?? NOTHING;
      connection?.release(tickets);
    } else if (qos !== 0) this.#release(ticket, reason);
    if (this.#held) this.#host.flushSoon(this);
  }

  release(tickets: readonly number[]): void {
    for (const ticket of tickets) this.#release(ticket, 0);
  }

  /**
   * Sends a message with QoS 0. Nothing waits for a client that does not read: the message is left out.
   *
   * @returns whether it was sent
   */
  send(topic: string, payload: Uint8Array): boolean {
    if (this.#state !== 'open' || this.#user!.mayReceive?.(topic) !== true) return false;
    const packet = encodePublish(topic, payload, this.#version);
    const hasRoom = this.#stream.writableLength + packet.length <= MAX_UNSENT_BYTES;
    if (!hasRoom || packet.length > this.#request!.maximumPacketSize) return false;
    this.#write(packet);
    return true;
  }

  /** Looks again whether to read. Called when the application pauses or resumes. */
  refreshHold(): void {
    this.#updateHold();
  }

  /** MQTT 5, section 3.1.4, MQTT-3.1.4-3. */
  takeOver(): void {
    this.#end('taken_over', Reason.SESSION_TAKEN_OVER);
  }

  /** Ends the connection, because its client has more of something than there is room for. */
  exceed(): void {
    this.#end('quota', Reason.QUOTA_EXCEEDED, false, TOO_MUCH);
  }

  /**
   * Ends a connection that has not logged in in time, whose login has ended, or whose client is silent (MQTT 5,
   * MQTT-3.1.2-22).
   */
  checkTime(now: number): void {
    // A login that is checked is answered in any case.
    if (this.#state === 'checking') return;
    if (this.#state === 'first') {
      if (now - this.since > this.#host.limits.connectTimeoutMs) this.#end('connect_timeout', null);
      return;
    }
    if (this.#state === 'open' && this.#user?.isCurrent?.() === false) {
      // Without its will: the user may no longer publish.
      this.#end('not_authorized', Reason.NOT_AUTHORIZED, true, 'the login has ended');
      return;
    }
    const isSilent = this.#silenceMs > 0 && !this.#held && now - this.receivedAt > this.#silenceMs;
    // The data may wait in the socket because this process was busy, so the second look decides.
    if (isSilent && this.#isSuspect) this.#end('keep_alive', Reason.KEEP_ALIVE_TIMEOUT);
    this.#isSuspect = isSilent;
  }

  /** Ends the connection, because others need its place. */
  dropNew(): void {
    this.#end('connections', null);
  }

  /** Ends the connection for one of another client: this client has the most. */
  makePlace(): void {
    this.#end('connections', Reason.QUOTA_EXCEEDED, false, 'its client has the most connections');
  }

  /** Sends the acknowledgements that are ready, then ends the connection: the server stops. */
  close(): void {
    this.flush();
    this.#end(null, Reason.SHUTTING_DOWN, true);
  }

  /** Writes the acknowledgements that are ready. */
  flush(): void {
    if (this.#state !== 'open') return;
    const room = this.#acks.readyBytes + this.#completions.length * COMPLETION_BYTES;
    if (room > 0) {
      const packets = Buffer.allocUnsafe(room);
      let length = this.#acks.take(packets, 0);
      for (const id of this.#completions) length = this.#encodePubcomp(packets, length, id);
      this.#completions = [];
      if (length > 0) this.#write(packets.subarray(0, length));
    }
    if (this.#held) this.#updateHold();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.receivedAt = performance.now();
    this.#isSuspect = false;
    this.#host.stats.receivedBytes += chunk.length;
    this.client.take(this, chunk.length);
    if (this.#state !== 'ended') this.#read(() => this.#reader.push(chunk));
    // A client may send more before its login is decided.
    if (this.#state === 'checking' && this.#reader.hasRest) this.#stream.pause();
  };

  #read(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (error instanceof Refusal) this.#refuse(error);
      else if (error instanceof ProtocolError) this.#failProtocol(error);
      else {
        this.#stream.destroy();
        throw error;
      }
    }
  }

  readonly #onFrame = (buffer: Buffer, start: number, body: number, end: number): void => {
    if (this.#state === 'ended') return;
    const type = buffer[start]! >> 4;
    this.client.take(this, 0);
    if (this.#state !== 'open') {
      if (this.#state === 'first' && type === Type.CONNECT)
        this.#onConnect(buffer.subarray(start, end), body - start);
      else throw new ProtocolError(Reason.PROTOCOL_ERROR, `a packet of type ${type} before CONNECT`);
    } else if (type === Type.PUBLISH) this.#onPublish(buffer, start, body, end);
    else if (type === Type.PUBREL) this.#onPubrel(buffer, start, body, end);
    else {
      this.#countControl(end - start);
      if (type === Type.PINGREQ) this.#onPing(buffer, start, end);
      else this.#onControl(type, buffer.subarray(start, end));
    }
  };

  #countControl(bytes: number): void {
    if (!this.client.control(bytes))
      throw new ProtocolError(Reason.QUOTA_EXCEEDED, 'more control packets than any client needs');
  }

  readonly #onOversized = (head: Buffer, body: number, size: number): void => {
    if (this.#state === 'ended') return;
    const { maximumPacketSize } = this.#reader;
    // A client of MQTT 5 was given the maximum.
    if (this.#state !== 'open' || this.#version === 5)
      throw new ProtocolError(
        Reason.PACKET_TOO_LARGE,
        `a packet of ${size} bytes, at most ${maximumPacketSize}`,
      );
    this.#onUndecodable(salvagePublish(head, 0, body, head.length, false, { size, maximumPacketSize }));
  };

  #onConnect(frame: Buffer, body: number): void {
    const request = decodeConnect(frame, body);
    this.#version = request.version;
    this.#request = request;
    this.#clientId = request.clientId;
    this.#state = 'checking';
    this.#check = new AbortController();
    this.#updateHold();
    this.#host.handlers
      .authenticate(request, this.peer, this.#check.signal)
      .catch((): LoginProblem => 'busy')
      .then((user) => this.#onLogin(request, user));
  }

  #onLogin(request: ConnectRequest, user: User | LoginProblem): void {
    if (this.#state !== 'checking') return;
    this.#check = null;
    const { version, will } = request;
    if (typeof user === 'string') {
      const { code, text } = PROBLEMS[user];
      this.#refuse(new Refusal(code, version, text), user);
      return;
    }
    this.#user = user;
    if (will !== null && !user.mayPublish(will.topic)) {
      this.#refuse(
        new Refusal(Reason.NOT_AUTHORIZED, version, `the will may not be published on ${will.topic}`),
      );
      return;
    }
    this.#accept(request, user);
  }

  #accept(request: ConnectRequest, user: User): void {
    const { limits, sessions, stats } = this.#host;
    const { version } = request;
    const client = user.name === null ? this.client.name : `user ${user.name}`;
    const assigned =
      request.clientId === '' ? { assignedClientIdentifier: `auto-${crypto.randomUUID()}` } : {};
    this.#clientId = assigned.assignedClientIdentifier ?? request.clientId;
    const { cleanStart, sessionExpirySeconds } = request;
    const key = `${user.name ?? ''}\0${this.#clientId}`;
    // It makes room for the connection that takes it over.
    sessions.takeOver(key);
    const full = this.#host.join(this, client);
    if (full !== null) {
      this.#refuse(new Refusal(Reason.QUOTA_EXCEEDED, version, TOO_MANY), full);
      return;
    }
    const { session, isPresent } = sessions.open(key, client, this, cleanStart, sessionExpirySeconds);
    this.#session = session;
    this.#acks = new AckQueue(limits.receiveMaximum);
    this.#aliases = new TopicAliases(version === 5 ? limits.topicAliasMaximum : 0);
    this.#reader.maximumPacketSize = limits.maximumPacketSize;
    this.#silenceMs = request.keepAliveSeconds * 1500;
    this.receivedAt = performance.now();
    const { receiveMaximum, maximumPacketSize, topicAliasMaximum } = limits;
    const shorter =
      session.expirySeconds < sessionExpirySeconds ? { sessionExpiryInterval: session.expirySeconds } : {};
    const announced = { receiveMaximum, maximumPacketSize, topicAliasMaximum, ...shorter, ...assigned };
    this.#answer(encodeAccepted(version, isPresent, announced));
    if (this.#state === ('ended' as string)) return;
    this.#state = 'open';
    stats.accepted += 1;
    for (const filter of session.filters) this.#host.subscribers.add(filter, this);
    this.#updateHold();
  }

  #onPublish(buffer: Buffer, start: number, body: number, end: number): void {
    const { maximumTopicBytes } = this.#host.limits;
    const isVersion5 = this.#version === 5;
    let message: InboundMessage;
    try {
      message = decodePublish(buffer, start, body, end, isVersion5, maximumTopicBytes, this.#aliases);
    } catch (error) {
      if (!(error instanceof TopicTooLong)) throw error;
      this.#onUndecodable(salvagePublish(buffer, start, body, end, isVersion5, error));
      return;
    }
    if (this.#enter(message)) this.#host.handlers.onMessage(message, this);
  }

  #onUndecodable(message: UndecodableMessage): void {
    if (this.#enter(message)) this.#host.handlers.onUndecodable(message, this);
  }

  /** Adds a message to the acknowledgement order. Returns false when it is not delivered. */
  #enter(message: InboundMessage): boolean {
    const { stats } = this.#host;
    const { qos, packetId, topic } = message;
    stats.messages += 1;
    if (!this.#user!.mayPublish(topic)) {
      this.#deny(message);
      return false;
    }
    if (qos === 2 && !this.#enterOnce(message)) return false;
    if (qos === 1) message.ticket = this.#push(PUBACK, packetId);
    this.#bytes += message.size;
    this.client.unacknowledged += 1;
    if (this.#acks.size >= this.#acks.limit || this.#bytes >= this.#host.limits.maxInFlightBytes)
      this.#updateHold();
    return true;
  }

  /** Returns false when the session received the QoS 2 message before (MQTT 5, section 4.3.3). */
  #enterOnce(message: InboundMessage): boolean {
    const { stats, sessions } = this.#host;
    const session = this.#session!;
    const { packetId } = message;
    const storing = session.storing.get(packetId);
    if (storing === undefined && !session.unreleased.has(packetId)) {
      sessions.makeRoom(session);
      // It was a session that ended for it.
      if (this.#state === ('ended' as string)) return false;
      message.ticket = this.#push(PUBREC, packetId);
      session.storing.set(packetId, { connection: this, tickets: [message.ticket] });
      return true;
    }
    stats.duplicates += 1;
    const ticket = this.#push(PUBREC, packetId);
    if (storing === undefined) this.#release(ticket, 0);
    else if (storing.connection === this) storing.tickets.push(ticket);
    else Object.assign(storing, { connection: this, tickets: [ticket] });
    if (this.#acks.size >= this.#acks.limit) this.#updateHold();
    return false;
  }

  /**
   * Answers a message that the user may not publish. An acknowledgement of 3.1.1 would mean that it is stored, so the
   * connection ends instead (MQTT 3.1.1, MQTT-3.3.5-2).
   */
  #deny({ qos, packetId, topic }: InboundMessage): void {
    this.#host.stats.denied += 1;
    const detail = `the user may not publish on ${topic}`;
    if (qos === 0 || this.#version === 5) this.#report('denied', detail);
    if (qos === 0) return;
    if (this.#version === 4) this.#end('publish_denied', null, false, detail);
    else this.#release(this.#push(qos === 1 ? PUBACK : PUBREC, packetId), Reason.NOT_AUTHORIZED);
  }

  #push(type: number, packetId: number): number {
    const ticket = this.#acks.push(type, packetId);
    // Reading stops when the queue is full, so this is not reached.
    if (ticket === -1) throw new ProtocolError(Reason.RECEIVE_MAXIMUM_EXCEEDED, 'too many messages at once');
    return ticket;
  }

  #release(ticket: number, reason: number): void {
    if (this.#state !== 'open') return;
    this.#acks.release(ticket, this.#version === 5 ? reason : 0);
    if (this.#acks.ready > 0) this.#host.flushSoon(this);
  }

  #onPubrel(buffer: Buffer, start: number, body: number, end: number): void {
    if (buffer[start] !== 0x62 || body + 2 > end)
      throw new ProtocolError(Reason.MALFORMED_PACKET, 'a malformed PUBREL');
    if (end - body > 2) {
      checkShape(buffer.subarray(start, end), this.#version);
      if (![0, Reason.PACKET_ID_NOT_FOUND].includes(buffer[body + 2]!))
        throw new ProtocolError(Reason.MALFORMED_PACKET, 'a PUBREL with the reason of another packet');
    }
    const id = buffer.readUInt16BE(body);
    if (id === 0) throw new ProtocolError(Reason.PROTOCOL_ERROR, 'a PUBREL with packet identifier 0');
    const session = this.#session!;
    if (session.storing.has(id)) throw new ProtocolError(Reason.PROTOCOL_ERROR, 'PUBREL before PUBREC');
    const isKnown = this.#host.sessions.release(session, id);
    if (!isKnown) this.#countControl(end - start);
    this.#completions.push(isKnown ? id : -id);
    this.#host.flushSoon(this);
  }

  #encodePubcomp(target: Buffer, offset: number, id: number): number {
    const isUnknown = id <= 0 && this.#version === 5;
    target[offset] = 0x70;
    target[offset + 1] = isUnknown ? 3 : 2;
    offset = target.writeUInt16BE(Math.abs(id), offset + 2);
    if (isUnknown) target[offset++] = Reason.PACKET_ID_NOT_FOUND;
    return offset;
  }

  #onPing(buffer: Buffer, start: number, end: number): void {
    if (buffer[start] !== 0xc0 || end - start !== 2)
      throw new ProtocolError(Reason.MALFORMED_PACKET, 'a malformed PINGREQ');
    this.#write(PINGRESP);
  }

  #onControl(type: number, frame: Buffer): void {
    if (type === Type.SUBSCRIBE || type === Type.UNSUBSCRIBE || type === Type.DISCONNECT) {
      const packet = decodeControl(frame, this.#version);
      if (packet.cmd === 'subscribe') this.#onSubscribe(packet);
      else if (packet.cmd === 'unsubscribe') this.#onUnsubscribe(packet);
      else this.#onDisconnect(packet as IDisconnectPacket);
    } else throw new ProtocolError(Reason.PROTOCOL_ERROR, `a packet of type ${type} out of place`);
  }

  #onSubscribe({ messageId = 0, subscriptions }: ISubscribePacket): void {
    const granted = subscriptions.map(({ topic }) => this.#subscribe(topic));
    const refused = subscriptions.filter((_, index) => granted[index] !== GRANTED);
    if (refused.length > 0) {
      this.#host.stats.subscriptionsRefused += refused.length;
      this.#report('subscribe', `a subscription to ${refused[0]!.topic}`);
    }
    const reason = refused.length > 0 ? this.#reason(NO_SUBSCRIBERS) : {};
    const answer = { cmd: 'suback', messageId, granted, ...reason } as const;
    this.#answer(generate(answer as never, this.#version));
  }

  /** Subscribes to a topic that the user may receive, or also to all below it. Returns the code of the answer: QoS 0. */
  #subscribe(filter: string): number {
    const session = this.#session!;
    if (session.filters.includes(filter)) return GRANTED;
    const topic = filter.endsWith('/#') ? filter.slice(0, -2) : filter;
    const bytes = session.filters.reduce((sum, each) => sum + each.length, filter.length);
    const hasRoom = session.filters.length < MAX_FILTERS && bytes <= MAX_FILTER_BYTES;
    if (!hasRoom || /[+#]/.test(topic) || this.#user!.mayReceive?.(topic) !== true)
      return this.#version === 5 ? Reason.IMPLEMENTATION_ERROR : REFUSED_FILTER;
    session.filters = [...session.filters, filter];
    this.#host.subscribers.add(filter, this);
    return GRANTED;
  }

  #onUnsubscribe({ messageId = 0, unsubscriptions }: IUnsubscribePacket): void {
    const session = this.#session!;
    const granted = unsubscriptions.map((filter) => {
      if (!session.filters.includes(filter)) return NO_SUBSCRIPTION;
      session.filters = session.filters.filter((each) => each !== filter);
      this.#host.subscribers.delete(filter, this);
      return GRANTED;
    });
    this.#answer(generate({ cmd: 'unsuback', messageId, granted } as never, this.#version));
  }

  #reason(reasonString: string): object {
    return this.#request?.takesReasonStrings ? { properties: { reasonString } } : {};
  }

  #onDisconnect({ reasonCode = 0, properties }: IDisconnectPacket): void {
    const session = this.#session!;
    const interval = properties?.sessionExpiryInterval;
    if (interval !== undefined) {
      if (session.expirySeconds === 0 && interval > 0)
        throw new ProtocolError(Reason.PROTOCOL_ERROR, 'a session expiry after none');
      session.expirySeconds = Math.min(expiry(interval), this.#host.limits.maximumSessionExpirySeconds);
    }
    this.flush();
    this.#end(null, null, reasonCode !== DISCONNECT_WITH_WILL);
  }

  /** Writes a packet, or ends the connection if its client does not take such a size (MQTT 5, MQTT-3.1.2-24). */
  #answer(packet: Buffer): void {
    const { maximumPacketSize } = this.#request!;
    if (packet.length <= maximumPacketSize) this.#write(packet);
    else {
      const detail = `an answer of ${packet.length} bytes, and the client takes ${maximumPacketSize}`;
      this.#end('protocol', Reason.PACKET_TOO_LARGE, false, detail);
    }
  }

  #write(bytes: Buffer): void {
    if (this.#stream.writableLength > MAX_UNSENT_BYTES) {
      this.#end('not_reading', null);
      return;
    }
    this.#host.stats.sentBytes += bytes.length;
    this.#stream.write(bytes);
  }

  #updateHold(): void {
    const held =
      this.#state === 'checking' ||
      (this.#state === 'open' &&
        (this.#host.isPaused ||
          this.client.holds(this) ||
          this.#acks.size >= this.#acks.limit ||
          this.#bytes >= this.#host.limits.maxInFlightBytes));
    if (this.#state === 'ended') return;
    // The end of a connection is read only while its stream is not paused, and its login need not be checked then. A
    // login can end while its client is paused.
    if (held && this.#state !== 'checking') this.#stream.pause();
    if (held === this.#held) return;
    this.#held = held;
    if (held) {
      this.#reader.paused = true;
    } else {
      // Not within a read that is under way.
      queueMicrotask(this.#continue);
    }
  }

  readonly #continue = (): void => {
    if (this.#held || this.#state === 'ended' || this.client.defer(this, 0)) return;
    // Others come first after the next hold.
    if (this.client.connections.delete(this)) this.client.connections.add(this);
    this.receivedAt = performance.now();
    this.#read(() => this.#reader.resume());
    if (!this.#held && this.#state !== ('ended' as string)) this.#stream.resume();
  };

  #refuse(refusal: Refusal, problem?: EndReason): void {
    const reason = problem ?? REASONS_OF_REFUSALS.get(refusal.code) ?? 'not_authorized';
    const answer = encodeRefusal(refusal, this.#request?.takesReasonStrings ?? false);
    this.#finish(reason, answer, false, refusal.message);
  }

  #failProtocol(error: ProtocolError): void {
    const isQuota = error.reasonCode === Reason.QUOTA_EXCEEDED;
    this.#end(isQuota ? 'quota' : 'protocol', error.reasonCode, false, error.message);
  }

  /**
   * Ends the connection; with `reason` the server caused it, with `code` MQTT 5 clients receive a DISCONNECT.
   *
   * @param isOrderly the will is not published
   */
  #end(reason: EndReason | null, code: number | null, isOrderly = false, detail = ''): void {
    const isTold = code !== null && this.#version === 5 && this.#state === 'open';
    this.#finish(reason, isTold ? encodeDisconnect(code, 5) : null, isOrderly, detail);
  }

  #finish(reason: EndReason | null, packet: Buffer | null, isOrderly: boolean, detail: string): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    const room = this.#request?.maximumPacketSize ?? Number.POSITIVE_INFINITY;
    const lastWords = packet !== null && packet.length <= room ? packet : null;
    this.#check?.abort();
    if (reason !== null) {
      this.#host.stats.ended[reason] += 1;
      this.#report(reason, detail);
    }
    this.#host.collects(this, 0);
    if (this.#session !== null) {
      for (const filter of this.#session.filters) this.#host.subscribers.delete(filter, this);
      const will = this.#request!.will;
      this.#host.sessions.closed(this.#session, isOrderly ? null : will);
    }
    this.#host.ended(this);
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (lastWords === null && stream.writableLength === 0 && reason !== null) {
      stream.destroy();
      return;
    }
    if (lastWords !== null) this.#host.stats.sentBytes += lastWords.length;
    const timer = setTimeout(() => stream.destroy(), LAST_WORDS_MS);
    stream.once('close', () => clearTimeout(timer));
    stream.end(lastWords ?? undefined);
    // What the client still sends is read and dropped, so that the last packet is not lost in a reset.
    stream.resume();
  }

  #report(reason: EndReason | 'subscribe' | 'denied', detail: string): void {
    this.#host.handlers.onRefused({
      reason,
      address: this.peer.address,
      user: this.#user?.name ?? null,
      clientId: this.#clientId,
      detail,
    });
  }
}

const NOTHING: { connection?: SessionConnection; tickets: number[] } = { tickets: [] };
