import type { DeliveryDocument, Reading } from '@tidegauge/readings';
import type { SeriesUnit } from '@tidegauge/storage';
import type { AckDemand } from './ack-demand.ts';
import type { Part } from './part.ts';
import type { RawMessage } from './raw-message.ts';
import { readingBytes } from './reading-bytes.ts';
import type { Route } from './routes.ts';
import type { Share } from './share.ts';

/** The origin of a delivery, which is notified of its outcome. */
export interface Origin {
  /** The share of its client. Absent: it counts for the bounds of all only. */
  readonly share?: Share;
  /** Whether its sender waits for acknowledgements. Absent: it waits for each. */
  readonly demand?: AckDemand;
  /**
   * Called once, when every reading of the delivery is stored, spooled or quarantined. `outcome` is null unless the
   * delivery is counted.
   */
  settled(delivery: Delivery, outcome: DeliveryDocument | null): void;
  /** The login or address of the sender. Absent: it is not known. */
  readonly client?: string | undefined;
  /** Returns an equivalent token that does not hold the bytes of the message. */
  compact?(token: unknown): unknown;
}

/** A message, or a part of one, on its way to the store. It is the unit of acknowledgement. */
export interface Delivery extends RawMessage {
  readonly readings: readonly Reading[];
  /** The units of its series that the store may not have. */
  readonly units: readonly SeriesUnit[];
  /**
   * Bytes that it holds in memory until it is settled. 0 for a part, because its message counts, and for a message
   * from the spool.
   */
  readonly bytes: number;
  /** `performance.now()` at arrival. */
  readonly arrived: number;
  readonly origin: Origin;
  /** The handle that the origin needs to settle it: the MQTT message to acknowledge. */
  readonly token: unknown;
  /** Whether its origin needs its own counts. */
  readonly counted: boolean;
  /** Written in its own batch. */
  readonly ownBatch: boolean;
  /** Whether it may be acknowledged when it is in the spool. */
  readonly spoolable: boolean;
  /** Whether it comes from the spool. Its sequence numbers were recorded when it was spooled. */
  readonly fromSpool: boolean;
  /** Whether it may have been stored before. */
  readonly isAgain: boolean;
  /** Whether it comes from quarantine. It must not replace readings that were received after it. */
  readonly replayed: boolean;
}

/** A message from MQTT, as the session delivers it. It is the token of its delivery. */
export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly dup?: boolean;
  readonly retain?: boolean;
}

/** What the deliveries of a route have in common. */
export type DeliveryKind = Pick<Route, 'format' | 'ack'>;

/**
 * A message from MQTT. Thousands of them wait for a commit, so it has few fields, and the rest is read from its message
 * and its route.
 */
export class MqttDelivery implements Delivery {
  readonly token: MqttMessage;
  readonly readings: readonly Reading[];
  readonly units: readonly SeriesUnit[];
  readonly part: Part | null;
  readonly bytes: number;
  readonly arrived = performance.now();
  readonly origin: Origin;
  readonly #kind: DeliveryKind;
  readonly #payload: Uint8Array | null;

  /** @param payload replaces that of the message, unless it is null */
  constructor(
    token: MqttMessage,
    kind: DeliveryKind,
    origin: Origin,
    bytes: number,
    readings: readonly Reading[],
    units: readonly SeriesUnit[],
    part: Part | null,
    payload: Uint8Array | null,
  ) {
    this.token = token;
    this.#kind = kind;
    this.origin = origin;
    this.bytes = bytes;
    this.readings = readings;
    this.units = units;
    this.part = part;
    this.#payload = payload;
  }

  get source(): 'mqtt' {
    return 'mqtt';
  }

  get topic(): string {
    return this.token.topic;
  }

  get payload(): Uint8Array {
    return this.#payload ?? this.token.payload;
  }

  get format(): string {
    return this.#kind.format;
  }

  get spoolable(): boolean {
    return this.#kind.ack !== 'stored';
  }

  get counted(): boolean {
    return false;
  }

  get ownBatch(): boolean {
    return false;
  }

  get fromSpool(): boolean {
    return false;
  }

  /** A retained message is sent again for each subscription. */
  get isAgain(): boolean {
    return this.token.dup === true || this.token.retain === true;
  }

  get replayed(): boolean {
    return false;
  }
}

/** A copy of a delivery with other values for some of its fields. */
export function deliveryWith(delivery: Delivery, changes: Partial<Delivery>): Delivery {
  const { source, topic, payload, format, part, readings, units, bytes, arrived, origin, token } = delivery;
  const { counted, ownBatch, spoolable, fromSpool, isAgain, replayed } = delivery;
  const message = { source, topic, payload, format, part, readings, units, bytes, arrived, origin, token };
  return { ...message, counted, ownBatch, spoolable, fromSpool, isAgain, replayed, ...changes };
}

/** Approximate memory of a message besides its bytes, and of each of its units. */
const MESSAGE_BYTES = 400;
const UNIT_BYTES = 200;

/**
 * Bytes that a message holds in memory until it is settled: its packet, its topic as a string, and its readings with
 * their names and texts. Names can be far longer than what names them in the payload, such as an alias.
 */
export function bytesInMemory(
  received: number,
  topic: string,
  readings: readonly Reading[],
  units = 0,
): number {
  let bytes = received + 2 * topic.length + MESSAGE_BYTES + UNIT_BYTES * units;
  for (let index = 0; index < readings.length; index++) bytes += readingBytes(readings[index]!);
  return bytes;
}

/**
 * Copies a delivery that may wait for a long time. A payload is a view of a buffer of the socket: without a copy a
 * few bytes would hold 64 KiB after its neighbours are settled.
 */
export function compacted(delivery: Delivery): Delivery {
  const { payload, origin, token } = delivery;
  if (payload.buffer.byteLength <= 2 * payload.length) return delivery;
  return deliveryWith(delivery, {
    payload: Uint8Array.from(payload),
    token: origin.compact?.(token) ?? token,
  });
}

const NOTHING: DeliveryDocument = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };

/** The origin of the parts of a message. It settles the message when the last part is settled. */
export class PartsOrigin implements Origin {
  readonly client: string | undefined;
  readonly #settled: (outcome: DeliveryDocument) => void;
  #open: number;
  #total = NOTHING;

  /** @param client of the message */
  constructor(parts: number, client: string | undefined, settled: (outcome: DeliveryDocument) => void) {
    this.client = client;
    this.#open = parts;
    this.#settled = settled;
  }

  settled(_part: Delivery, outcome: DeliveryDocument | null): void {
    if (outcome !== null) {
      const { received, stored, duplicate, quarantined, errors = outcome.errors } = this.#total;
      this.#total = {
        received: received + outcome.received,
        stored: stored + outcome.stored,
        duplicate: duplicate + outcome.duplicate,
        quarantined: quarantined + outcome.quarantined,
        ...(errors === undefined ? {} : { errors }),
      };
    }
    if (--this.#open === 0) this.#settled(this.#total);
  }
}

/** The index of a delivery's reading in the payload of its message. */
export function placeOf({ part }: Delivery, index: number): number {
  return part === null ? index : part.places[index]!;
}
