import { isUtf8 } from 'node:buffer';
import { ProtocolError } from './errors.ts';
import { Reason } from './reasons.ts';

export type QoS = 0 | 1 | 2;

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
 * One PUBLISH as it arrived. `payload` is a view of the chunk that was read: holding it holds up to 64 KiB,
 * so copy what is kept for long.
 */
export class InboundMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  /** Sent because a subscription began, not because somebody published now (unless retainAsPublished). */
  readonly retain: boolean;
  /** The broker may have sent it before. */
  readonly dup: boolean;
  readonly properties: PublishProperties | null;
  /** MQTT packet identifier; 0 for QoS 0. */
  readonly packetId: number;
  /** Place in the acknowledgement order of its connection; -1 for QoS 0. Belongs to the session. */
  ticket = -1;
  /** Which connection of the session it came by. Belongs to the session. */
  epoch = 0;

  constructor(
    header: number,
    topic: string,
    packetId: number,
    properties: PublishProperties | null,
    payload: Buffer,
  ) {
    this.topic = topic;
    this.payload = payload;
    this.qos = ((header >> 1) & 3) as QoS;
    this.retain = (header & 1) === 1;
    this.dup = (header & 8) !== 0;
    this.properties = properties;
    this.packetId = packetId;
  }
}

// U+FFFD is what ill-formed UTF-8 decodes to; NUL and wildcards have no place in a topic name.
const SUSPECT_TOPIC = /[\0+#\ufffd]/;

/**
 * Decodes a PUBLISH that lies at `start`..`end` with its variable header at `body`. Throws ProtocolError
 * with the reason for the broker when it is malformed.
 */
export function decodePublish(
  buffer: Buffer,
  start: number,
  body: number,
  end: number,
  mqtt5: boolean,
): InboundMessage {
  const header = buffer[start]!;
  const qos = (header >> 1) & 3;
  if (qos === 3) throw malformed('a PUBLISH with QoS 3');
  if (body + 2 > end) throw malformed('a PUBLISH without a topic');
  let position = body + 2 + ((buffer[body]! << 8) | buffer[body + 1]!);
  if (position > end) throw malformed('a PUBLISH whose topic is longer than the packet');
  const topic = buffer.toString('utf8', body + 2, position);
  if (topic.length === 0 || SUSPECT_TOPIC.test(topic)) checkTopic(topic, buffer.subarray(body + 2, position));

  let packetId = 0;
  if (qos !== 0) {
    if (position + 2 > end) throw malformed('a PUBLISH without its packet identifier');
    packetId = (buffer[position]! << 8) | buffer[position + 1]!;
    if (packetId === 0) throw new ProtocolError(Reason.PROTOCOL_ERROR, 'a PUBLISH with packet identifier 0');
    position += 2;
  }

  let properties: PublishProperties | null = null;
  if (mqtt5) {
    if (position >= end) throw malformed('a PUBLISH without its property length');
    if (buffer[position] === 0) {
      position += 1;
    } else {
      const reader = new PropertyReader(buffer, position, end);
      properties = reader.read();
      position = reader.end;
    }
  }
  return new InboundMessage(header, topic, packetId, properties, buffer.subarray(position, end));
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
  /** Behind the last property: where the payload starts. */
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
          throw new ProtocolError(Reason.TOPIC_ALIAS_INVALID, 'a topic alias, though none was allowed');
        case 0x26: {
          found.userProperties ??= Object.create(null) as Record<string, string | string[]>;
          const name = this.#string();
          found.userProperties[name] = append(found.userProperties[name], this.#string());
          break;
        }
        default:
          throw malformed(`a PUBLISH with property 0x${id.toString(16).padStart(2, '0')}`);
      }
    }
    return found;
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
      if (byte < 0x80) return value;
    }
    throw malformed('a property with a variable byte integer of more than four bytes');
  }

  #binary(): Buffer {
    const length = this.#uint(2);
    const from = this.#take(length);
    return this.#buffer.subarray(from, from + length);
  }

  #string(): string {
    const bytes = this.#binary();
    const text = bytes.toString('utf8');
    if (text.includes('\0') || (text.includes('\ufffd') && !isUtf8(bytes))) {
      throw malformed('a property that is not well-formed UTF-8');
    }
    return text;
  }
}

function append<T>(list: T | T[] | undefined, value: T): T | T[] {
  if (list === undefined) return value;
  if (!Array.isArray(list)) return [list, value];
  list.push(value);
  return list;
}

function malformed(what: string): ProtocolError {
  return new ProtocolError(Reason.MALFORMED_PACKET, what);
}
