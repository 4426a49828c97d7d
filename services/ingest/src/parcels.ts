import {
  type DecodeContext,
  type DecodeError,
  deviceNameProblem,
  formatOfMediaType,
  formats,
  metricNameProblem,
  type Reading,
} from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { Router } from './routes.ts';

const PATH = 'POST /readings';

/** A payload that came another way: by HTTP, or again from quarantine or the spool. */
export interface Parcel {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly format: string;
}

/**
 * What came by HTTP, as a parcel. Its "topic" is the request line, which says to a person where it came from
 * and carries the names for a replay.
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
  return { topic: query.size === 0 ? PATH : `${PATH}?${query}`, payload, format };
}

/** Decodes a parcel, from the broker or by HTTP, as the routes are now. */
export function decodeParcel(
  router: Router,
  parcel: Parcel,
  received: number,
): readonly Reading[] | DecodeError {
  const { topic, payload, format } = parcel;
  if (topic.startsWith(PATH)) {
    const query = new URLSearchParams(topic.slice(PATH.length + 1));
    const context: DecodeContext = { device: query.get('device'), metric: query.get('metric'), received };
    return formats[format]!(payload, context);
  }
  const { route, device, metric, error } = router.resolve(topic);
  return error ?? route!.decode(payload, { device, metric, received });
}
