import {
  type Declared,
  type DecodeContext,
  DecodeError,
  deviceNameProblem,
  formatOfMediaType,
  formats,
  type InfluxOptions,
  influxDecoder,
  influxPrecision,
  mediaTypes,
  metricNameProblem,
  type Notes,
  type Reading,
} from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { SeriesUnit } from '@tidegauge/storage';
import { type Part, type Selected, select } from './part.ts';
import { decodeRelayed, RELAYED } from './relay/relayed-lines.ts';
import type { Router } from './routes.ts';
import { timedAtReceipt } from './sensor-clocks.ts';
import { nameOf } from './series-units.ts';

const PATH = 'POST /readings';
/** The parameters of a request, with what is wrong with a value. */
const PARAMETERS = new Map([
  ['device', deviceNameProblem],
  ['metric', metricNameProblem],
]);

/** How a message was received. It determines how its topic is interpreted. */
export const SOURCES = ['mqtt', 'http'] as const;
export type Source = (typeof SOURCES)[number];

/** A message as bytes, with everything that is needed to decode it now, or later from quarantine or the spool. */
export interface RawMessage {
  readonly source: Source;
  /** The MQTT topic. For HTTP it is the method and path, with the names in the query. */
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly format: string;
  /** The selected readings; null for all readings of the payload. */
  readonly part: Part | null;
}

/**
 * Creates a message from an HTTP request.
 *
 * @throws {Problem} 415 for a media type that is not supported, 400 for names that cannot be stored
 */
export function httpMessage(contentType: string, query: URLSearchParams, payload: Uint8Array): RawMessage {
  const format = formatOfMediaType(contentType);
  if (format === null) {
    const title = 'Unsupported media type';
    const detail = `${contentType || 'No Content-Type'} cannot be read: send ${Object.keys(mediaTypes).join(', ')}.`;
    throw new Problem(415, title, detail);
  }
  for (const [name, value] of query) {
    const problemOf = PARAMETERS.get(name);
    const problem = problemOf === undefined ? 'it is not a parameter of this request' : problemOf(value);
    if (problem !== null) throw new Problem(400, 'Bad parameter', `Parameter ${name}: ${problem}.`);
  }
  const topic = query.size === 0 ? PATH : `${PATH}?${query}`;
  return { source: 'http', topic, payload, format, part: null };
}

/** Creates a message of line protocol from an HTTP request. All its devices are `device` or below it, unless it is null. */
export function influxMessage(
  { database, precision, device }: { database: string; precision: string; device: string | null },
  payload: Uint8Array,
): RawMessage {
  const query = new URLSearchParams({ db: database, precision, ...(device === null ? {} : { device }) });
  return { source: 'http', topic: `${PATH}?${query}`, payload, format: 'influx', part: null };
}

/** Creates a message of relayed readings, which are lines of `encodeRelayed`. */
export function relayedMessage(payload: Uint8Array): RawMessage {
  return { source: 'http', topic: PATH, payload, format: RELAYED, part: null };
}

/** How the lines of a message from HTTP are decoded. */
export function influxOptionsOf({ influxNames }: Router, { topic }: RawMessage): InfluxOptions {
  const query = new URLSearchParams(topic.slice(PATH.length));
  const precision = influxPrecision(query.get('precision') ?? 'ns') ?? 'ns';
  return { precision, names: influxNames, database: query.get('db') };
}

/** Readings of a message, and the units that the store may not have. */
export interface Decoded extends Selected {
  readonly units: readonly SeriesUnit[];
}

/**
 * Decodes a message with the current routes.
 *
 * @param takesNotes whether its units and ignored fields are recorded: once for each message, not at each decoding
 * @param timed gives readings of sensors without a clock their times
 * @param declared receives what the sensor declares, at the first decoding only
 */
export function decodeMessage(
  router: Router,
  message: RawMessage,
  received: number,
  takesNotes = false,
  timed: (readings: readonly Reading[]) => readonly Reading[] = timedAtReceipt,
  declared?: Declared,
): Decoded | DecodeError {
  router.units.take();
  const decoded = decodeWhole(router, message, received, takesNotes, declared);
  const units = router.units.take();
  if (decoded instanceof DecodeError) return decoded;
  // The process that received relayed readings first has given them their times.
  const readings = message.format === RELAYED ? decoded : timed(decoded);
  return { ...select(readings, message.part), units };
}

/** Notes of a message that was noted before: its units can still be missing in the store. */
function unitsOnly({ units }: Router): Notes {
  return {
    unit: (device, metric, unit) => units.note(nameOf({ device, metric }), device, metric, unit),
    ignored: () => {},
  };
}

function decodeWhole(
  router: Router,
  message: RawMessage,
  received: number,
  takesNotes: boolean,
  declared: Declared | undefined,
): readonly Reading[] | DecodeError {
  const { source, topic, payload, format } = message;
  if (source === 'http') {
    const query = new URLSearchParams(topic.slice(PATH.length));
    const notes = takesNotes ? router.httpNotes : unitsOnly(router);
    if (format === RELAYED) return decodeRelayed(payload, notes);
    const device = query.get('device');
    const context: DecodeContext = {
      device,
      full: router.levels === 'drop' || device === null ? undefined : device,
      metric: query.get('metric'),
      received,
      captured: null,
      notes,
      declared,
    };
    const decode = format === 'influx' ? influxDecoder(influxOptionsOf(router, message)) : formats[format]!;
    return decode(payload, context);
  }
  const { route, device, metric, full, captured, error } = router.resolve(topic);
  if (error !== null) return error;
  const notes = takesNotes ? route!.notes : unitsOnly(router);
  return route!.decode(payload, { device, metric, full, received, captured, topic, notes });
}
