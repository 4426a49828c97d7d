import { readFileSync } from 'node:fs';
import {
  compileTopicTemplate,
  type Decode,
  DecodeError,
  formats,
  quote,
  type TopicTemplate,
} from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { parse } from 'yaml';
import { ByteCache } from './byte-cache.ts';
import { ownText } from './own-text.ts';

/**
 * When a message is acknowledged: `stored` after the commit; `durable` likewise, or while the store is away after
 * an fsync of the spool; `received` at once (at most once).
 */
export const ACK_POLICIES = ['durable', 'stored', 'received'] as const;
export type AckPolicy = (typeof ACK_POLICIES)[number];

export const RETAINED_POLICIES = ['skip', 'store'] as const;
export type RetainedPolicy = (typeof RETAINED_POLICIES)[number];

/** Which topics are read, and how. */
export interface Route {
  readonly name: string;
  readonly template: TopicTemplate;
  readonly format: string;
  readonly decode: Decode;
  readonly qos: 0 | 1 | 2;
  /** What to do with messages that the broker had kept from before we subscribed. */
  readonly retained: RetainedPolicy;
  readonly ack: AckPolicy;
  /** Messages received, by QoS: what the metric shows. */
  readonly messages: [number, number, number];
}

/** A topic seen: its route and what it names, or why it cannot be stored. */
export interface ResolvedTopic {
  readonly route: Route | null;
  readonly device: string | null;
  readonly metric: string | null;
  readonly error: DecodeError | null;
}

const FIELDS = ['name', 'topic', 'format', 'qos', 'retained', 'ack'];
/** Bytes of topics that are remembered: about 30,000 topics of 40 characters. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** Besides its names, what is remembered of a topic takes about this much. */
const RESOLVED_BYTES = 120;
/**
 * Longest topic that is looked up, in UTF-16 units. V8 hashes a text of more than 16,383 by its length alone: a map
 * of such topics is a list, and each look-up compares all of them.
 */
const LONGEST_CACHED = 4096;
/** Bytes of the longest topic when nothing else is configured: device and metric of any length fit. */
export const MAX_TOPIC_BYTES = 1024;

/** The routes, in order: the first whose template matches a topic has it. */
export class Router {
  readonly routes: readonly Route[];
  readonly #maxTopicBytes: number;
  readonly #templates: string;
  readonly #cache = new ByteCache<ResolvedTopic>(CACHE_BYTES, bytesOf);

  /** @param maxTopicBytes longer topics belong to no route */
  constructor(routes: readonly Route[], maxTopicBytes = MAX_TOPIC_BYTES) {
    this.routes = routes;
    this.#maxTopicBytes = maxTopicBytes;
    this.#templates = routes.map((route) => route.template.template).join(', ');
  }

  resolve(topic: string): ResolvedTopic {
    // A character of UTF-16 takes at least a byte: this is always right, and costs nothing.
    if (topic.length > this.#maxTopicBytes) return this.#tooLong(topic);
    const isCached = topic.length <= LONGEST_CACHED;
    const known = isCached ? this.#cache.get(topic) : undefined;
    if (known !== undefined) return known;
    if (Buffer.byteLength(topic) > this.#maxTopicBytes) return this.#tooLong(topic);
    const resolved = this.#match(topic);
    // Topics that cannot be stored are not worth a place that another topic needs.
    if (isCached && resolved.error === null) this.#cache.set(topic, resolved);
    return resolved;
  }

  #tooLong(topic: string): ResolvedTopic {
    const bytes = Buffer.byteLength(topic);
    const message = `topic ${quote(topic)} has ${bytes} bytes, and at most ${this.#maxTopicBytes} are taken: publish to a shorter one, or raise MAX_TOPIC`;
    return { route: null, device: null, metric: null, error: new DecodeError('invalid_name', message) };
  }

  #match(topic: string): ResolvedTopic {
    for (const route of this.routes) {
      const names = route.template.match(topic);
      if (names === null) continue;
      if (names instanceof DecodeError) return { route, device: null, metric: null, error: names };
      const device = names.device === null ? null : ownText(names.device);
      const metric = names.metric === null ? null : ownText(names.metric);
      return { route, device, metric, error: null };
    }
    const message = `topic ${quote(topic)} fits no route (${this.#templates})`;
    return { route: null, device: null, metric: null, error: new DecodeError('unknown_topic', message) };
  }
}

function bytesOf({ device, metric }: ResolvedTopic): number {
  return RESOLVED_BYTES + 2 * ((device?.length ?? 0) + (metric?.length ?? 0));
}

/** The routes when none are configured. */
export function defaultRoutes(ack: AckPolicy): readonly Route[] {
  return [makeRoute({ topic: 'sensors/{device+}/{metric}' }, 0, ack)];
}

/**
 * Reads a routes file: YAML or JSON, a list of `{name, topic, format, qos, retained, ack}`, all but the topic
 * optional.
 *
 * @throws {ConfigError} with a line per mistake, each naming the file and the route
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
  if (typeof entry !== 'object' || entry === null) throw new Error('it must have at least a topic');
  const unknown = Object.keys(entry).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) throw new Error(`${unknown} is not a field of a route (${FIELDS.join(', ')})`);
  const fields = entry as Record<string, unknown>;
  if (typeof fields.topic !== 'string')
    throw new Error('topic must be a text such as sensors/{device+}/{metric}');
  const format = choice(fields, 'format', Object.keys(formats), 'auto');
  return {
    name: typeof fields.name === 'string' ? fields.name : index === 0 ? 'default' : `route-${index + 1}`,
    template: compileTopicTemplate(fields.topic),
    format,
    decode: formats[format]!,
    qos: choice(fields, 'qos', [0, 1, 2], 1) as 0 | 1 | 2,
    retained: choice(fields, 'retained', RETAINED_POLICIES, 'skip'),
    ack: choice(fields, 'ack', ACK_POLICIES, ack),
    messages: [0, 0, 0],
  };
}

function choice<T>(fields: Record<string, unknown>, field: string, values: readonly T[], preset: T): T {
  const value = fields[field];
  if (value === undefined) return preset;
  const found = values.find((known) => known === value);
  if (found === undefined)
    throw new Error(`${field} is ${JSON.stringify(value)}, but is one of ${values.join(', ')}`);
  return found;
}
