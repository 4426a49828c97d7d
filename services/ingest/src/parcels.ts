import {
  type DecodeContext,
  DecodeError,
  deviceNameProblem,
  formatOfMediaType,
  formats,
  metricNameProblem,
  type Reading,
} from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import { type Part, type Selected, select } from './part.ts';
import type { Router } from './routes.ts';

const PATH = 'POST /readings';

/** The way by which a message came in. It decides how its topic is read. */
export const SOURCES = ['mqtt', 'http'] as const;
export type Source = (typeof SOURCES)[number];

/** A message as bytes, with all that is needed to decode it: now, or later from quarantine or the spool. */
export interface Parcel {
  readonly source: Source;
  /** The MQTT topic; for HTTP the request line, which carries the names in its query. */
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly format: string;
  /** The readings that are meant; null for all of the payload. */
  readonly part: Part | null;
}

/**
 * What came by HTTP, as a parcel.
 *
 * @throws {Problem} 415 for a media type that cannot be read, 400 for names that cannot be stored
 */
export function httpParcel(contentType: string, query: URLSearchParams, payload: Uint8Array): Parcel {
  const format = formatOfMediaType(contentType);
  if (format === null) {
    const title = 'Unsupported media type';
    const detail = `${contentType || 'No Content-Type'} cannot be read: send application/json, application/senml+json or text/plain.`;
    throw new Problem(415, title, detail);
  }
  for (const [name, value] of query) {
    const problem =
      name === 'device'
        ? deviceNameProblem(value)
        : name === 'metric'
          ? metricNameProblem(value)
          : 'it is unknown';
    if (problem !== null) throw new Problem(400, 'Bad parameter', `Parameter ${name}: ${problem}.`);
  }
  const topic = query.size === 0 ? PATH : `${PATH}?${query}`;
  return { source: 'http', topic, payload, format, part: null };
}

/** Decodes a parcel as the routes are now. */
export function decodeParcel(router: Router, parcel: Parcel, received: number): Selected | DecodeError {
  const decoded = decodeWhole(router, parcel, received);
  return decoded instanceof DecodeError ? decoded : select(decoded, parcel.part);
}

function decodeWhole(router: Router, parcel: Parcel, received: number): readonly Reading[] | DecodeError {
  const { source, topic, payload, format } = parcel;
  if (source === 'http') {
    const query = new URLSearchParams(topic.slice(PATH.length));
    const context: DecodeContext = { device: query.get('device'), metric: query.get('metric'), received };
    return formats[format]!(payload, context);
  }
  const { route, device, metric, error } = router.resolve(topic);
  return error ?? route!.decode(payload, { device, metric, received });
}
