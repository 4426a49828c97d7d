import { type ExplainDocument, formatNames, isTable, now, statefulFormats } from '@tidegauge/readings';
import { ConfigError, Problem } from '@tidegauge/service';
import { explain } from './explain.ts';
import { suggestedTopic } from './fixes.ts';
import type { Route, Router } from './routes.ts';
import { routesOfEntry } from './routes-file.ts';

const KEYS = ['topic', 'payload', 'encoding', 'format', 'route'];
const ENCODINGS = ['text', 'base64'];
/** MQTT's largest topic, bytes (MQTT 5, section 1.5.4). */
const MAX_TOPIC = 65_535;

/** A message to explain, from the body of a request. */
interface ExplainRequest {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** The format to try in place of the route's; null for the routes in use. */
  readonly format: string | null;
  /** An entry of a routes file to try before the routes in use; null for these alone. */
  readonly route: object | null;
}

/**
 * Answers `POST /explain`: what becomes of a message, with the routes in use or with another one.
 *
 * @param body JSON: `topic`, `payload`, and optionally `encoding` (`text` or `base64`), `format` and `route`
 * @throws {Problem} 400 for a body of another form, 422 when the format or the route cannot be used
 */
export function explainRequest(router: Router, body: unknown): ExplainDocument {
  const { topic, payload, format, route } = requestOf(body);
  return explain(router.before(routesToTry(router, topic, format, route)), topic, payload, now());
}

/**
 * The routes of an entry of a routes file, given as data.
 *
 * @param zone that of the site
 * @throws {Problem} 422 with all its mistakes
 */
export function routesOfRequest(entry: object, zone: string | null): readonly Route[] {
  try {
    return routesOfEntry(entry, 'durable', zone);
  } catch (error) {
    if (error instanceof ConfigError) throw notValid(error, 'The route has mistakes');
    throw error;
  }
}

/** A 422 with all mistakes of a file or a route. */
export function notValid({ problems }: ConfigError, what: string): Problem {
  const errors = problems.map((message) => ({ path: '', message }));
  return new Problem(422, 'Routes not valid', `${what}: ${problems.join('; ')}`, { errors });
}

function routesToTry(
  router: Router,
  topic: string,
  format: string | null,
  route: object | null,
): readonly Route[] {
  if (route !== null) return routesOfRequest(format === null ? route : { ...route, format }, router.zone);
  if (format === null) return [];
  const taken = router.resolve(topic).route;
  const template = suggestedTopic(topic);
  if (taken === null && template === null) return [];
  // The decoder of the format, with the topic of the route that takes the message now.
  const [tried] = routesOfRequest(
    { name: taken?.name ?? 'tried', topic: template ?? '{device}', format },
    router.zone,
  );
  return taken === null
    ? [tried!]
    : [{ ...taken, format, decode: tried!.decode, stateful: tried!.stateful, preset: null }];
}

function requestOf(body: unknown): ExplainRequest {
  if (!isTable(body)) throw bad('it must be a JSON object');
  const { topic, payload, encoding = 'text', format = null, route = null } = body;
  const unknown = Object.keys(body).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw bad(`${unknown} is not one of ${KEYS.join(', ')}`);
  if (typeof topic !== 'string' || topic === '') throw bad('topic must be a text such as tele/attic/SENSOR');
  if (/[+#\0]/.test(topic)) throw bad('topic is that of a message, so it cannot have +, # or U+0000');
  if (Buffer.byteLength(topic) > MAX_TOPIC) throw bad(`topic has more than ${MAX_TOPIC} bytes`);
  if (typeof payload !== 'string') throw bad('payload must be a text');
  if (typeof encoding !== 'string' || !ENCODINGS.includes(encoding))
    throw bad(`encoding must be ${ENCODINGS.join(' or ')}`);
  const known = [...formatNames, ...Object.keys(statefulFormats)];
  if (format !== null && (typeof format !== 'string' || !known.includes(format)))
    throw bad(`format must be one of ${known.join(', ')}`);
  if (route !== null && !isTable(route)) throw bad('route must be an object, an entry of a routes file');
  return { topic, payload: bytesOf(payload, encoding), format, route };
}

function bytesOf(payload: string, encoding: string): Uint8Array {
  if (encoding === 'text') return Buffer.from(payload);
  // Buffer.from skips characters that are not base64.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(payload) || payload.replace(/=+$/, '').length % 4 === 1)
    throw bad('payload is not base64 (RFC 4648, section 4)');
  return Buffer.from(payload, 'base64');
}

function bad(detail: string): Problem {
  return new Problem(400, 'Invalid request', `The body cannot be used: ${detail}.`);
}
