import {
  compileInfluxNames,
  type Decode,
  DecodeError,
  type InfluxNames,
  type MappingOptions,
  quote,
  type StatefulDecoder,
  type TopicNames,
  type TopicTemplate,
} from '@tidegauge/readings';
import { copyString } from '@tidegauge/text';
import { ByteCache } from './byte-cache.ts';
import { BOUNDS } from './memory.ts';
import { RouteNotes } from './route-notes.ts';
import type { FilterOptions } from './series-filter.ts';
import { SeriesUnits } from './series-units.ts';

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
  /** Decodes a message; for a format with state, one that was kept. */
  readonly decode: Decode;
  /** Decodes messages as they arrive, for a format with state; null for other formats. */
  readonly stateful: StatefulDecoder | null;
  /** The preset that it belongs to; null without one. */
  readonly preset: string | null;
  /** Its mapping, with that of its preset; null without one. */
  readonly mapping: MappingOptions | null;
  /** Whether its messages are acknowledged and not decoded. Its topics are not subscribed to. */
  readonly isIgnored: boolean;
  readonly qos: 0 | 1 | 2;
  /** What to do with retained messages, which the broker stored before the subscription. */
  readonly retained: RetainedPolicy;
  readonly ack: AckPolicy;
  /** Which of its readings are worth storing; null: all. */
  readonly filter: FilterOptions | null;
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
  /** The device of values that the payload names; undefined with `TOPIC_LEVELS=drop`. */
  readonly full: string | DecodeError | null | undefined;
  /** Further levels of the topic, for the mapping. */
  readonly captured: Readonly<Record<string, string>> | null;
  readonly error: DecodeError | null;
}

/** Approximate bytes of a cached topic besides its names. */
const RESOLVED_BYTES = 120;
/** Approximate memory of a captured level besides its text, in characters. */
const CAPTURED_CHARACTERS = 30;
const NO_ROUTE = { route: null, device: null, metric: null, full: null, captured: null };
/**
 * Longest topic that is cached, in UTF-16 units. V8 hashes a string of more than 16,383 units by its length alone. In
 * a map of such topics each lookup would compare all of them.
 */
const LONGEST_CACHED = 4096;
/** The longest topic that is accepted, bytes. Device and metric names of any length fit. */
export const MAX_TOPIC_BYTES = 1024;

/**
 * What becomes of the levels of `{metric}` in a topic when a payload names its values itself. `keep`: they are the last
 * segments of the device. `drop`: they are dropped, as before version 0.3.
 */
export const TOPIC_LEVELS = ['keep', 'drop'] as const;
export type TopicLevels = (typeof TOPIC_LEVELS)[number];

export interface RouterOptions {
  /** Longer topics match no route. */
  readonly maxTopicBytes?: number;
  /** For line protocol from HTTP. */
  readonly influxNames?: InfluxNames;
  readonly units?: SeriesUnits;
  readonly levels?: TopicLevels;
  /** Of local times of routes that state none: a name of the IANA database. Default: UTC, with a note. */
  readonly zone?: string | null;
}

/** Routes in order. The first route whose template matches a topic is used. */
export class Router {
  /** The notes of payloads from HTTP, which use no route. */
  readonly httpNotes = new RouteNotes();
  readonly #maxTopicBytes: number;
  #routes: readonly Route[];
  /** Removed routes whose topics the broker still sends. They count after all others. */
  #leaving: readonly Route[] = [];
  #all: readonly Route[] = [];
  #templates = '';
  #cache = new ByteCache<ResolvedTopic>(BOUNDS.resolvedTopics, bytesOf);

  /** The zone of the site. */
  readonly zone: string | null;
  /** The names of line protocol from HTTP. */
  readonly influxNames: InfluxNames;
  /** The units that payloads state. */
  readonly units: SeriesUnits;
  readonly levels: TopicLevels;

  constructor(
    routes: readonly Route[],
    {
      maxTopicBytes = MAX_TOPIC_BYTES,
      influxNames = compileInfluxNames(),
      units = new SeriesUnits(),
      levels = 'keep',
      zone = null,
    }: RouterOptions = {},
  ) {
    this.zone = zone;
    this.#routes = routes;
    this.units = units;
    this.levels = levels;
    this.httpNotes.onUnit = units.note;
    this.influxNames = influxNames;
    this.#maxTopicBytes = maxTopicBytes;
    this.#begin();
  }

  get routes(): readonly Route[] {
    return this.#routes;
  }

  /**
   * Uses other routes from the next message on. A route with the name of a previous one continues its counts.
   *
   * @param leaving previous routes that are used for messages of no other route until `endLeaving`
   */
  replace(routes: readonly Route[], leaving: readonly Route[]): void {
    const before = new Map(this.#routes.map((route) => [route.name, route]));
    this.#routes = routes.map((route) => {
      const { messages, notes, stateful, decode, format } = before.get(route.name) ?? route;
      // A decoder with state keeps the births of its senders.
      const kept = stateful !== null && format === route.format ? { stateful, decode } : {};
      return { ...route, messages, notes, ...kept };
    });
    this.#leaving = leaving;
    this.#begin();
  }

  /** A router that tries further routes before those in use, for an explanation. */
  before(routes: readonly Route[]): Router {
    if (routes.length === 0) return this;
    const { influxNames, units, levels, zone } = this;
    const options = { maxTopicBytes: this.#maxTopicBytes, influxNames, units, levels, zone };
    return new Router([...routes, ...this.#routes], options);
  }

  /** Has decoders with state forget, because messages may have been missed. */
  forget(): void {
    for (const { stateful } of this.#all) stateful?.forget();
  }

  /** Ends the use of the previous routes. */
  endLeaving(): void {
    if (this.#leaving.length === 0) return;
    this.#leaving = [];
    this.#begin();
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

  #begin(): void {
    this.#cache = new ByteCache(BOUNDS.resolvedTopics, bytesOf);
    this.#all = [...this.#routes, ...this.#leaving];
    for (const { notes } of this.#all) notes.onUnit = this.units.note;
    this.#templates = shortList(this.#routes.map((route) => route.template.template));
  }

  #tooLong(topic: string): ResolvedTopic {
    const bytes = Buffer.byteLength(topic);
    const message = `topic ${quote(topic)} has ${bytes} bytes, and at most ${this.#maxTopicBytes} are accepted: publish to a shorter topic`;
    return { ...NO_ROUTE, error: new DecodeError('invalid_name', message) };
  }

  #match(topic: string): ResolvedTopic {
    for (const route of this.#all) {
      const names = route.template.match(topic);
      if (names === null) continue;
      if (names instanceof DecodeError) return { ...NO_ROUTE, route, error: names };
      const device = names.device === null ? null : copyString(names.device);
      const metric = names.metric === null ? null : copyString(names.metric);
      const captured = names.captured === null ? null : copied(names.captured);
      return { route, device, metric, full: this.#full(names, device), captured, error: null };
    }
    const message = `topic ${quote(topic)} matches no route (${this.#templates})`;
    return { ...NO_ROUTE, error: new DecodeError('unknown_topic', message) };
  }

  #full({ full }: TopicNames, device: string | null): ResolvedTopic['full'] {
    if (this.levels === 'drop') return undefined;
    return typeof full !== 'string' ? full : full === device ? device : copyString(full);
  }
}

function bytesOf({ device, metric, full, captured }: ResolvedTopic): number {
  let characters = (device?.length ?? 0) + (metric?.length ?? 0);
  if (full instanceof DecodeError) characters += full.message.length;
  else if (full !== device) characters += full?.length ?? 0;
  for (const name in captured) characters += CAPTURED_CHARACTERS + captured[name]!.length;
  return RESOLVED_BYTES + 2 * characters;
}

function copied(captured: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(captured).map(([name, level]) => [name, copyString(level)]));
}

/** At most ten templates, for a message. */
function shortList(templates: readonly string[]): string {
  const more = templates.length - 10;
  return more > 0 ? `${templates.slice(0, 10).join(', ')} and ${more} more` : templates.join(', ');
}
