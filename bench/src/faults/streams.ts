import { now } from '@tidegauge/readings';

/** What the messages of a stream are. */
export type StreamKind = 'readings' | 'undecodable' | 'old' | 'gateway';

export interface StreamPlan {
  readonly kind: StreamKind;
  /** Share of the run's rate. */
  readonly share: number;
  readonly devices: number;
  /** Connections of sensors. Each device uses one of them. */
  readonly connections: number;
}

/** Numbered messages. Message n is always the same bytes, and its readings have the number of its round. */
export interface Stream extends StreamPlan {
  /** Messages per second. */
  readonly rate: number;
  /** The place of a message among the topics. Its connection depends on it. */
  placeOf(number: number): number;
  topic(number: number): string;
  payload(number: number): string;
  /** The devices that receive a reading from a message. */
  devicesOf(number: number): readonly string[];
  /** The sequence number of the readings of a message. */
  seqOf(number: number): number;
  /** The message that corrects the readings of a message; null: there is none. */
  correctionOf(number: number): number | null;
  /** Whether the sensor loses the message before it sends it. Ingest must name its reading. */
  isLost(number: number): boolean;
}

/** Devices below a gateway. Each of its messages has a reading of each. */
export const GATEWAY_DEVICES = 20;
export const METRIC = 'temperature';
export const BOOT = 'b1';
/** The first level of all devices. */
export const ROOT = 'faults';
const DAY = 86_400_000_000;
/**
 * Devices of a stream whose sensors lose a reading in so many, and how many each loses at most: `GET /ledger` lists the
 * ranges of 200 devices, with 64 for each.
 */
const LOSING_DEVICES = 20;
const LOST_EVERY = 97;
const FIRST_LOST = 9;
const MOST_LOST = 50;
/** Age of the first reading of a stream of old readings, microseconds. */
const OLD = 30 * DAY;

/**
 * @param rate messages per second of the whole run
 * @param root the first level of its devices
 */
export function makeStream(plan: StreamPlan, rate: number, root = ROOT): Stream {
  const { kind, devices, share } = plan;
  const own = Math.max(1, Math.round(rate * share));
  const start = kind === 'old' ? now() - OLD : now();
  const step = 1e6 / own;
  const names = Array.from({ length: devices }, (_, device) => `${root}/${kind}/probe-${device}`);
  const below = names.map((name) =>
    kind === 'gateway'
      ? Array.from({ length: GATEWAY_DEVICES }, (_, part) => `${name}/part-${part}`)
      : [name],
  );
  const placeOf = (number: number): number => number % devices;
  const seqOf = (number: number): number => Math.floor(number / devices);
  const timeOf = (number: number): number => Math.round(start + number * step);
  const fields = (number: number, time: number): string =>
    `"t":${time},"v":${number},"boot":"${BOOT}","seq":${seqOf(number)}`;
  const payloadOf = {
    readings: (number: number) => `{${fields(number, timeOf(number))}}`,
    old: (number: number) => `{${fields(number, timeOf(number))}}`,
    undecodable: (number: number) => `{"no reading ${number}`,
    // The second message of each pair corrects the first one.
    gateway(number: number) {
      const corrected = seqOf(number) % 2 === 0 ? number : number - devices;
      const parts = Array.from(
        { length: GATEWAY_DEVICES },
        (_, part) => `{"device":"part-${part}",${fields(number, timeOf(corrected))}}`,
      );
      return `[${parts.join(',')}]`;
    },
  };
  return {
    ...plan,
    rate: own,
    placeOf,
    topic: (number) => `sensors/${names[placeOf(number)]}/${METRIC}`,
    payload: payloadOf[kind],
    devicesOf: (number) => below[placeOf(number)]!,
    seqOf,
    correctionOf: (number) => (kind === 'gateway' && seqOf(number) % 2 === 0 ? number + devices : null),
    isLost: (number) =>
      (kind === 'readings' || kind === 'old') &&
      placeOf(number) < LOSING_DEVICES &&
      seqOf(number) % LOST_EVERY === FIRST_LOST &&
      seqOf(number) < MOST_LOST * LOST_EVERY,
  };
}

/**
 * The number of a message, from its payload.
 *
 * @throws {Error} when it is no message of a stream
 */
export function numberIn(payload: Uint8Array): number {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1');
  const [, reading, undecodable] = /"v":(\d+)|"no reading (\d+)$/.exec(text) ?? [];
  const number = reading ?? undecodable;
  if (number === undefined)
    throw new Error(`${JSON.stringify(text.slice(0, 100))} is no message of this program`);
  return Number(number);
}
