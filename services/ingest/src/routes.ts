import { readFileSync } from 'node:fs';
import {
  compileInfluxNames,
  compileTopicTemplate,
  type Decode,
  DecodeError,
  formats,
  type InfluxNames,
  influxDecoder,
  influxPrecision,
  quote,
  type TopicTemplate,
} from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { parse } from 'yaml';
import { ByteCache } from './byte-cache.ts';
import { copyString } from './copy-string.ts';
import { RouteNotes } from './route-notes.ts';

/**
 * When a message is acknowledged. `stored`: after the commit. `durable`: after the commit, or after an fsync of the
 * spool while the store is unavailable. `received`: on arrival (at most once).
 */
export const ACK_POLICIES = ['durable', 'stored', 'received'] as const;
export type AckPolicy = (typeof ACK_POLICIES)[number];

export const RETAINED_POLICIES = ['skip', 'store'] as const;
export type RetainedPolicy = (typeof RETAINED_POLICIES)[number];

/** A route: the topics that it reads, and how to decode their messages. */
export interface Route {
  readonly name: string;
  readonly template: TopicTemplate;
  readonly format: string;
  readonly decode: Decode;
  readonly qos: 0 | 1 | 2;
  /** What to do with retained messages, which the broker stored before the subscription. */
  readonly retained: RetainedPolicy;
  readonly ack: AckPolicy;
  /** The number of messages received, by QoS, for the metric. */
  readonly messages: [number, number, number];
  /** Ignored fields and units of its payloads. */
  readonly notes: RouteNotes;
}

/** The result of a topic: its route and names, or why its messages cannot be stored. */
export interface ResolvedTopic {
  readonly route: Route | null;
  readonly device: string | null;
  readonly metric: string | null;
  readonly error: DecodeError | null;
}

const FIELDS = ['name', 'topic', 'format', 'qos', 'retained', 'ack', 'influx'];
/** Memory of the topic cache: about 30,000 topics of 40 characters. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** Approximate bytes of a cached topic besides its names. */
const RESOLVED_BYTES = 120;
/**
 * Longest topic that is cached, in UTF-16 units. V8 hashes a string of more than 16,383 units by its length alone. In
 * a map of such topics each lookup would compare all of them.
 */
const LONGEST_CACHED = 4096;
/** Default of MAX_TOPIC, bytes. Device and metric names of any length fit. */
export const MAX_TOPIC_BYTES = 1024;

/** Routes in order. The first route whose template matches a topic is used. */
export class Router {
  readonly routes: readonly Route[];
  /** The notes of payloads from HTTP, which use no route. */
  readonly httpNotes = new RouteNotes();
  readonly #maxTopicBytes: number;
  readonly #templates: string;
  readonly #cache = new ByteCache<ResolvedTopic>(CACHE_BYTES, bytesOf);

  /** The names of line protocol from HTTP. */
  readonly influxNames: InfluxNames;

  /**
   * @param maxTopicBytes longer topics match no route
   * @param influxNames for line protocol from HTTP
   */
  constructor(
    routes: readonly Route[],
    maxTopicBytes = MAX_TOPIC_BYTES,
    influxNames: InfluxNames = compileInfluxNames(),
  ) {
    this.routes = routes;
    this.influxNames = influxNames;
    this.#maxTopicBytes = maxTopicBytes;
    this.#templates = routes.map((route) => route.template.template).join(', ');
  }

  resolve(topic: string): ResolvedTopic {
    // A UTF-16 unit takes at least one byte, so this cheap check is always right.
    if (topic.length > this.#maxTopicBytes) return this.#tooLong(topic);
    const isCached = topic.length <= LONGEST_CACHED;
    const known = isCached ? this.#cache.get(topic) : undefined;
    if (known !== undefined) return known;
    if (Buffer.byteLength(topic) > this.#maxTopicBytes) return this.#tooLong(topic);
    const resolved = this.#match(topic);
    // Topics that cannot be stored are not cached, so that they do not evict others.
    if (isCached && resolved.error === null) this.#cache.set(topic, resolved);
    return resolved;
  }

  #tooLong(topic: string): ResolvedTopic {
    const bytes = Buffer.byteLength(topic);
    const message = `topic ${quote(topic)} has ${bytes} bytes, and at most ${this.#maxTopicBytes} are accepted: publish to a shorter topic, or raise MAX_TOPIC`;
    return { route: null, device: null, metric: null, error: new DecodeError('invalid_name', message) };
  }

  #match(topic: string): ResolvedTopic {
    for (const route of this.routes) {
      const names = route.template.match(topic);
      if (names === null) continue;
      if (names instanceof DecodeError) return { route, device: null, metric: null, error: names };
      const device = names.device === null ? null : copyString(names.device);
      const metric = names.metric === null ? null : copyString(names.metric);
      return { route, device, metric, error: null };
    }
    const message = `topic ${quote(topic)} matches no route (${this.#templates})`;
    return { route: null, device: null, metric: null, error: new DecodeError('unknown_topic', message) };
  }
}

function bytesOf({ device, metric }: ResolvedTopic): number {
  return RESOLVED_BYTES + 2 * ((device?.length ?? 0) + (metric?.length ?? 0));
}

/** The routes when ROUTES is not set. */
export function defaultRoutes(ack: AckPolicy): readonly Route[] {
  return [makeRoute({ topic: 'sensors/{device+}/{metric}' }, 0, ack)];
}

/**
 * Reads a routes file, YAML or JSON: a list of `{name, topic, format, qos, retained, ack, influx}`. Only the
 * topic is required.
 *
 * @throws {ConfigError} with one line per mistake, which names the file and the route
 */
export function loadRoutes(file: string, ack: AckPolicy): readonly Route[] {
  let document: unknown;
  try {
    document = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError([`ROUTES: ${file} cannot be read: ${(error as Error).message}`]);
  }
  if (!Array.isArray(document) || document.length === 0) {
    throw new ConfigError([`ROUTES: ${file} must be a list of routes, each with a topic`]);
  }
  const problems: string[] = [];
  const routes: Route[] = [];
  for (const [index, entry] of document.entries()) {
    try {
      routes.push(makeRoute(entry, index, ack));
    } catch (error) {
      problems.push(`ROUTES: ${file}, route ${index + 1}: ${(error as Error).message}`);
    }
  }
  const names = routes.map((route) => route.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problems.push(`ROUTES: ${file}: two routes are named ${JSON.stringify(twice)}`);
  if (problems.length > 0) throw new ConfigError(problems);
  return routes;
}

function makeRoute(entry: unknown, index: number, ack: AckPolicy): Route {
  if (typeof entry !== 'object' || entry === null) throw new Error('a route must have at least a topic');
  const unknown = Object.keys(entry).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) throw new Error(`${unknown} is not a field of a route (${FIELDS.join(', ')})`);
  const fields = entry as Record<string, unknown>;
  if (typeof fields.topic !== 'string')
    throw new Error('topic must be a text such as sensors/{device+}/{metric}');
  const format = choice(fields, 'format', Object.keys(formats), 'auto');
  if (fields.influx !== undefined && format !== 'influx') throw new Error('influx needs format: influx');
  return {
    name: typeof fields.name === 'string' ? fields.name : index === 0 ? 'default' : `route-${index + 1}`,
    template: compileTopicTemplate(fields.topic),
    format,
    decode: format === 'influx' ? influxOf(fields.influx) : formats[format]!,
    qos: choice(fields, 'qos', [0, 1, 2], 1) as 0 | 1 | 2,
    retained: choice(fields, 'retained', RETAINED_POLICIES, 'skip'),
    ack: choice(fields, 'ack', ACK_POLICIES, ack),
    messages: [0, 0, 0],
    notes: new RouteNotes(),
  };
}

/** The decoder of a route with line protocol, from its `influx: {device, metric, precision}`. */
function influxOf(settings: unknown): Decode {
  if (settings === undefined) return formats.influx!;
  if (typeof settings !== 'object' || settings === null) throw new Error('influx must be a map');
  const texts = settings as Record<string, unknown>;
  for (const [key, value] of Object.entries(texts)) {
    if (!['device', 'metric', 'precision'].includes(key))
      throw new Error(`influx.${key} is not a field (device, metric, precision)`);
    if (typeof value !== 'string') throw new Error(`influx.${key} must be a text`);
  }
  const { device, metric, precision = 'auto' } = texts as Record<string, string>;
  const unit = influxPrecision(precision);
  if (unit === null)
    throw new Error(`influx.precision is ${precision}, but is one of auto, ns, us, ms, s, m, h`);
  return influxDecoder({ names: compileInfluxNames(device, metric), precision: unit });
}

function choice<T>(fields: Record<string, unknown>, field: string, values: readonly T[], preset: T): T {
  const value = fields[field];
  if (value === undefined) return preset;
  const found = values.find((known) => known === value);
  if (found === undefined)
    throw new Error(`${field} is ${JSON.stringify(value)}, but is one of ${values.join(', ')}`);
  return found;
}
