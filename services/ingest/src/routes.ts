import { readFileSync } from 'node:fs';
import {
  compileTopicTemplate,
  type Decode,
  DecodeError,
  formats,
  type TopicTemplate,
} from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { parse } from 'yaml';

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
const CACHED_TOPICS = 50_000;

/** The routes, in order: the first whose template matches a topic has it. */
export class Router {
  readonly routes: readonly Route[];
  readonly #cache = new Map<string, ResolvedTopic>();

  constructor(routes: readonly Route[]) {
    this.routes = routes;
  }

  resolve(topic: string): ResolvedTopic {
    const known = this.#cache.get(topic);
    if (known !== undefined) return known;
    const resolved = this.#match(topic);
    // Topics are chosen by publishers: the cache must not grow with their imagination.
    if (this.#cache.size >= CACHED_TOPICS) this.#cache.clear();
    this.#cache.set(topic, resolved);
    return resolved;
  }

  #match(topic: string): ResolvedTopic {
    for (const route of this.routes) {
      const names = route.template.match(topic);
      if (names === null) continue;
      if (names instanceof DecodeError) return { route, device: null, metric: null, error: names };
      return { route, device: names.device, metric: names.metric, error: null };
    }
    const templates = this.routes.map((route) => route.template.template).join(', ');
    const error = new DecodeError(
      'unknown_topic',
      `topic ${JSON.stringify(topic)} fits no route (${templates})`,
    );
    return { route: null, device: null, metric: null, error };
  }
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
