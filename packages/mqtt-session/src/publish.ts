import { isUtf8 } from 'node:buffer';
import { isTopicName } from './control-shape.ts';
import { ProtocolError } from './errors.ts';
import { Reason } from './reasons.ts';

export type QoS = 0 | 1 | 2;

const RETAIN_BIT = 0x01;
const QOS_BITS = 0x06;
const DUP_BIT = 0x08;

/** MQTT 5 properties of a message, by mqtt-packet's names (MQTT 5, section 3.3.2.3). */
export interface PublishProperties {
  payloadFormatIndicator?: boolean;
  /** Seconds left. */
  messageExpiryInterval?: number;
  contentType?: string;
  responseTopic?: string;
  correlationData?: Buffer;
  subscriptionIdentifier?: number | number[];
  userProperties?: Record<string, string | string[]>;
}

/**
 * A received PUBLISH. `payload` is a view of the chunk that was read: keeping the message or the view keeps up to 64 KiB in
 * memory, so copy what you keep for long. The message is small, because thousands of them wait for a commit.
 */
export class InboundMessage {
  readonly topic: string;
  /** MQTT packet identifier; 0 for QoS 0. */
  readonly packetId: number;
  /** Bytes of the whole packet, which stay in memory as long as the message. */
  readonly size: number;
  /** Position in the acknowledgement order of its connection; -1 for QoS 0. Used by the session. */
  ticket = -1;
  /** The connection of the session that received it. Used by the session. */
  epoch = 0;
  readonly #flags: number;
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly #properties: Buffer | null;

  /**
   * @param properties well-formed MQTT 5 properties, preceded by their length
   * @param buffer with the payload from `start` to `end`
   */
  constructor(
    header: number,
    topic: string,
    packetId: number,
    properties: Buffer | null,
    buffer: Buffer,
    start: number,
    end: number,
    size: number,
  ) {
    this.topic = topic;
    this.packetId = packetId;
    this.size = size;
    this.#flags = header;
    this.#buffer = buffer;
    this.#start = start;
    this.#end = end;
    this.#properties = properties;
  }

  /** A new view at each call. */
  get payload(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  get qos(): QoS {
    return ((this.#flags >> 1) & 3) as QoS;
  }

  /** Sent because of a new subscription, not a new publication (unless retainAsPublished). */
  get retain(): boolean {
    return (this.#flags & RETAIN_BIT) !== 0;
  }

  /** The broker may have sent it before. */
  get dup(): boolean {
    return (this.#flags & DUP_BIT) !== 0;
  }

  /** Decoded at each call, because decoded properties can take much more memory than the packet. */
  get properties(): PublishProperties | null {
    const bytes = this.#properties;
    return bytes === null ? null : new PropertyReader(bytes, 0, bytes.length).read();
  }
}

/** The part of a message that an acknowledgement needs. Keep a copy of it where the message itself is not needed. */
export type Acknowledgeable = Pick<InboundMessage, 'ticket' | 'epoch'>;

/** Why a PUBLISH could not be decoded. */
export type UndecodableReason = 'malformed' | 'too_large' | 'topic_too_long';

/**
 * A PUBLISH that cannot be decoded, with the parts that are known. `topic` is for display: invalid bytes are U+FFFD,
 * and a long topic is truncated and ends with …. `payload` is empty when the packet was too large. QoS is 0 when the
 * packet has no identifier to acknowledge.
 */
export class UndecodableMessage extends InboundMessage {
  readonly reason: UndecodableReason;
  /** The problem, as one sentence without a full stop. */
  readonly problem: string;

  constructor(
    header: number,
    topic: string,
    packetId: number,
    payload: Buffer,
    reason: UndecodableReason,
    problem: string,
    size: number,
  ) {
    super(header, topic, packetId, null, payload, 0, payload.length, size);
    this.reason = reason;
    this.problem = problem;
  }
}

/**
 * The topic aliases of one connection from a client to a server (MQTT 5, section 3.3.2.3.4). Memory is bounded by
 * `maximum` topics.
 */
export class TopicAliases {
  readonly #maximum: number;
  readonly #topics = new Map<number, string>();

  /** @param maximum the Topic Alias Maximum that the server announced; 0: no alias is allowed */
  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /**
   * The topic of a PUBLISH with this alias. A PUBLISH with a topic sets the alias.
   *
   * @throws {ProtocolError} for an alias above the maximum, or one that has no topic yet
   */
  resolve(alias: number, topic: string): string {
    if (alias === 0 || alias > this.#maximum) {
      throw new ProtocolError(Reason.TOPIC_ALIAS_INVALID, `topic alias ${alias}, at most ${this.#maximum}`);
    }
    if (topic !== '') {
      this.#topics.set(alias, topic);
      return topic;
    }
    const known = this.#topics.get(alias);
    if (known !== undefined) return known;
    throw new ProtocolError(Reason.PROTOCOL_ERROR, `topic alias ${alias} before its topic`);
  }
}

// Ill-formed UTF-8 decodes to U+FFFD. NUL and wildcards are not allowed in a topic name.
const SUSPECT_TOPIC = /[\0+#\ufffd]/;

/**
 * Decodes the PUBLISH from `start` to `end`, with its variable header at `body`. Throws ProtocolError with the reason
 * code for the sender when it is malformed.
 *
 * @param aliases at a server, the topic aliases of the client's connection. The client's retain flag is then a request
 * to the server, so `retain` of the message is false
 */
export function decodePublish(
  buffer: Buffer,
  start: number,
  body: number,
  end: number,
  mqtt5: boolean,
  maximumTopicBytes = 65_535,
  aliases: TopicAliases | null = null,
): InboundMessage {
  const header = aliases === null ? buffer[start]! : buffer[start]! & ~RETAIN_BIT;
  const qos = (header >> 1) & 3;
  checkFlags(qos, header, aliases !== null);
  let position = endOfTopic(buffer, body, end, maximumTopicBytes);
  let topic = topicAt(buffer, body + 2, position, mqtt5 && aliases !== null);

  let packetId = 0;
  if (qos !== 0) {
    packetId = packetIdAt(buffer, position, end);
    position += 2;
  }

  let properties: Buffer | null = null;
  if (mqtt5 && position >= end) throw malformed('a PUBLISH without its property length');
  if (mqtt5 && buffer[position] === 0) position += 1;
  else if (mqtt5) {
    const reader = new PropertyReader(buffer, position, end);
    reader.check(aliases !== null);
    if (reader.alias !== null) topic = aliases!.resolve(reader.alias, topic);
    properties = buffer.subarray(position, reader.end);
    position = reader.end;
  }
  if (topic.length === 0) checkTopic(topic, EMPTY);
  return new InboundMessage(header, topic, packetId, properties, buffer, position, end, end - start);
}

function checkFlags(qos: number, header: number, isServer: boolean): void {
  if (qos === 3) throw malformed('a PUBLISH with QoS 3');
  if (qos === 0 && (header & DUP_BIT) !== 0 && isServer)
    throw malformed('a PUBLISH with QoS 0 and the flag DUP');
}

function endOfTopic(buffer: Buffer, body: number, end: number, maximumTopicBytes: number): number {
  if (body + 2 > end) throw malformed('a PUBLISH without a topic');
  const position = body + 2 + ((buffer[body]! << 8) | buffer[body + 1]!);
  if (position > end) throw malformed('a PUBLISH whose topic is longer than the packet');
  // Checked before the topic becomes a string: long strings fill the heap, and lookups by them are slow.
  if (position - body - 2 > maximumTopicBytes) throw new TopicTooLong(position - body - 2, maximumTopicBytes);
  return position;
}

function packetIdAt(buffer: Buffer, position: number, end: number): number {
  if (position + 2 > end) throw malformed('a PUBLISH without its packet identifier');
  const packetId = (buffer[position]! << 8) | buffer[position + 1]!;
  if (packetId === 0) throw new ProtocolError(Reason.PROTOCOL_ERROR, 'a PUBLISH with packet identifier 0');
  return packetId;
}

/** Reads a topic. It may be empty if an alias can replace it. */
function topicAt(buffer: Buffer, from: number, to: number, mayHaveAlias: boolean): string {
  const topic = buffer.toString('utf8', from, to);
  if ((topic.length === 0 && !mayHaveAlias) || SUSPECT_TOPIC.test(topic))
    checkTopic(topic, buffer.subarray(from, to));
  return topic;
}

/** A topic that is longer than the receiver's own bound, in a packet that is well-formed. */
export class TopicTooLong extends ProtocolError {
  constructor(bytes: number, most: number) {
    super(Reason.TOPIC_NAME_INVALID, `the topic has ${bytes} bytes, and at most ${most} are taken`);
  }
}

/** Bytes that are kept of the topic of an undecodable message. */
const SHOWN_TOPIC_BYTES = 508;
const EMPTY = Buffer.alloc(0);

/**
 * Extracts what is known of a PUBLISH that `decodePublish` refused, or of which only the start was kept because it is
 * larger than `maximumPacketSize`. Does not throw.
 */
export function salvagePublish(
  buffer: Buffer,
  start: number,
  body: number,
  end: number,
  mqtt5: boolean,
  why: ProtocolError | { readonly size: number; readonly maximumPacketSize: number },
): UndecodableMessage {
  const header = buffer[start]!;
  const topicEnd = body + 2 <= end ? body + 2 + buffer.readUInt16BE(body) : end + 1;
  const shownEnd = Math.min(topicEnd, end, body + 2 + SHOWN_TOPIC_BYTES);
  const shown = buffer.toString('utf8', Math.min(body + 2, end), shownEnd).replaceAll('\0', '\ufffd');
  const topic = shownEnd < Math.min(topicEnd, end) ? `${shown}…` : shown;
  const qos = (header >> 1) & 3;
  let position = Math.min(topicEnd, end);
  let packetId = 0;
  if ((qos === 1 || qos === 2) && topicEnd + 2 <= end) {
    packetId = buffer.readUInt16BE(topicEnd);
    position = topicEnd + 2;
  }
  const known = packetId === 0 ? header & ~QOS_BITS : header;
  if (!(why instanceof ProtocolError)) {
    const { size, maximumPacketSize } = why;
    const problem = `the packet has ${size} bytes, and at most ${maximumPacketSize} are taken`;
    return new UndecodableMessage(known, topic, packetId, Buffer.alloc(0), 'too_large', problem, size);
  }
  if (mqtt5) position = endOfProperties(buffer, position, end);
  const payload = buffer.subarray(position, end);
  const [reason, problem] =
    why instanceof TopicTooLong
      ? (['topic_too_long', why.message] as const)
      : (['malformed', `the broker sent ${why.message}`] as const);
  return new UndecodableMessage(known, topic, packetId, payload, reason, problem, end - start);
}

function endOfProperties(buffer: Buffer, position: number, end: number): number {
  try {
    return new PropertyReader(buffer, position, end).end;
  } catch {
    return position;
  }
}

function checkTopic(topic: string, bytes: Buffer): void {
  if (topic.length === 0) throw new ProtocolError(Reason.PROTOCOL_ERROR, 'a PUBLISH with an empty topic');
  if (topic.includes('\0') || !isUtf8(bytes))
    throw malformed('a PUBLISH whose topic is not well-formed UTF-8');
  if (/[+#]/.test(topic)) {
    throw new ProtocolError(Reason.TOPIC_NAME_INVALID, 'a PUBLISH with a wildcard in its topic');
  }
}

/** Reads the properties of a PUBLISH, the length at `position` first. */
class PropertyReader {
  readonly #buffer: Buffer;
  #position: number;
  /** The topic alias that `check` found; null when there is none. */
  alias: number | null = null;
  /** The offset after the last property, where the payload starts. */
  readonly end: number;

  constructor(buffer: Buffer, position: number, end: number) {
    this.#buffer = buffer;
    this.#position = position;
    this.end = end;
    const length = this.#varint();
    this.end = this.#position + length;
    if (this.end > end) throw malformed('properties that are longer than the packet');
  }

  read(): PublishProperties {
    const found: PublishProperties = {};
    while (this.#position < this.end) {
      const id = this.#byte();
      switch (id) {
        case 0x01:
          found.payloadFormatIndicator = this.#byte() !== 0;
          break;
        case 0x02:
          found.messageExpiryInterval = this.#uint(4);
          break;
        case 0x03:
          found.contentType = this.#string();
          break;
        case 0x08:
          found.responseTopic = this.#string();
          break;
        case 0x09:
          found.correlationData = this.#binary();
          break;
        case 0x0b:
          found.subscriptionIdentifier = append(found.subscriptionIdentifier, this.#varint());
          break;
        case 0x23:
          this.#take(2);
          break;
        case 0x26: {
          found.userProperties ??= Object.create(null) as Record<string, string | string[]>;
          const name = this.#string();
          found.userProperties[name] = append(found.userProperties[name], this.#string());
          break;
        }
        default:
          throw unexpected(id);
      }
    }
    return found;
  }

  /**
   * Validates like `read`, without creating the values: one packet can contain a million properties. Properties depend
   * on the sender: only a client may send a topic alias here, and only a server a subscription identifier. A broker can
   * pass on what it did not check, so values and repetitions are checked for clients only.
   */
  check(isFromClient: boolean): void {
    // Each has an identifier below 32, except for those that may be repeated and the alias.
    let seen = 0;
    while (this.#position < this.end) {
      const id = this.#byte();
      if (isFromClient && id < 0x20) {
        if ((seen & (1 << id)) !== 0) throw problem('a repeated property');
        seen |= 1 << id;
      }
      if (id === (isFromClient ? 0x0b : 0x23)) throw unexpected(id);
      this.#checkValue(id, isFromClient);
    }
  }

  #checkValue(id: number, isFromClient: boolean): void {
    switch (id) {
      case 0x01:
        if (this.#byte() > 1 && isFromClient) throw problem('a payload format other than 0 and 1');
        break;
      case 0x02:
        this.#take(4);
        break;
      case 0x03:
        this.#checkString();
        break;
      case 0x08: {
        const from = this.#position + 2;
        this.#checkString();
        if (isFromClient && !isTopicName(this.#buffer.subarray(from, this.#position)))
          throw problem('a Response Topic that is no topic');
        break;
      }
      case 0x09:
        this.#take(this.#uint(2));
        break;
      case 0x0b:
        this.#varint();
        break;
      case 0x23:
        this.#takeAlias();
        break;
      case 0x26:
        this.#checkString();
        this.#checkString();
        break;
      default:
        throw unexpected(id);
    }
  }

  #takeAlias(): void {
    if (this.alias !== null) throw new ProtocolError(Reason.PROTOCOL_ERROR, 'two topic aliases');
    this.alias = this.#uint(2);
  }

  #checkString(): void {
    const length = this.#uint(2);
    const from = this.#take(length);
    for (let position = from; position < from + length; position++) {
      const byte = this.#buffer[position]!;
      if (byte > 0 && byte < 0x80) continue;
      const rest = this.#buffer.subarray(position, from + length);
      if (rest.includes(0) || !isUtf8(rest)) throw illFormed();
      break;
    }
  }

  #take(length: number): number {
    const from = this.#position;
    this.#position += length;
    if (this.#position > this.end) throw malformed('a property that is longer than its packet');
    return from;
  }

  #byte(): number {
    return this.#buffer[this.#take(1)]!;
  }

  #uint(bytes: number): number {
    return this.#buffer.readUIntBE(this.#take(bytes), bytes);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte === 0 && shift > 0) break;
      if (byte < 0x80) return value;
    }
    throw malformed('a property with a variable byte integer that is too long');
  }

  #binary(): Buffer {
    const length = this.#uint(2);
    const from = this.#take(length);
    return this.#buffer.subarray(from, from + length);
  }

  #string(): string {
    const bytes = this.#binary();
    const text = bytes.toString('utf8');
    if (text.includes('\0') || (text.includes('\ufffd') && !isUtf8(bytes))) throw illFormed();
    return text;
  }
}

function append<T>(list: T | T[] | undefined, value: T): T | T[] {
  if (list === undefined) return value;
  if (!Array.isArray(list)) return [list, value];
  list.push(value);
  return list;
}

function unexpected(property: number): ProtocolError {
  if (property === 0x23) {
    return new ProtocolError(Reason.TOPIC_ALIAS_INVALID, 'a topic alias although none is allowed');
  }
  return malformed(`a PUBLISH with property 0x${property.toString(16).padStart(2, '0')}`);
}

function illFormed(): ProtocolError {
  return malformed('a property that is not well-formed UTF-8');
}

function problem(what: string): ProtocolError {
  return new ProtocolError(Reason.PROTOCOL_ERROR, `a PUBLISH with ${what}`);
}

function malformed(what: string): ProtocolError {
  return new ProtocolError(Reason.MALFORMED_PACKET, what);
}
