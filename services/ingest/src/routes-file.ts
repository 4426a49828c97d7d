import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  autoDecoder,
  checkMapping,
  compileInfluxNames,
  compileMapping,
  compileTopicTemplate,
  type Decode,
  formatNames,
  formats,
  influxDecoder,
  influxPrecision,
  isTable,
  type MappingOptions,
  type MappingProblem,
  mergeMappings,
  type PresetRoute,
  presetMapping,
  presetNames,
  presets,
  presetTopic,
  statefulFormats,
  templateNames,
  withZone,
  zoneProblem,
} from '@tidegauge/readings';
import { didYouMean } from '@tidegauge/text';
import {
  appendEntry,
  dataError,
  type Mistake,
  readBounded,
  unknownKeys,
  YamlFile,
} from '@tidegauge/yaml-file';
import { readFilter } from './filter-options.ts';
import { RouteNotes } from './route-notes.ts';
import {
  ACK_POLICIES,
  type AckPolicy,
  RETAINED_POLICIES,
  type RetainedPolicy,
  type Route,
} from './routes.ts';
import type { FilterOptions } from './series-filter.ts';

const KEYS = [
  'name',
  'topic',
  'format',
  'preset',
  'base',
  'mapping',
  'influx',
  'qos',
  'retained',
  'ack',
  'filter',
  'zone',
];
const INFLUX_KEYS = ['device', 'metric', 'precision'];
/** Keys that are texts, and the message when one is not. */
const TEXTS = [
  ['topic', 'it must be a text such as sensors/{device+}/{metric}'],
  ['base', 'it must be a text'],
  ['name', 'it must be a text'],
] as const;
const QOS = [0, 1, 2] as const;
const FORMATS = [...formatNames, ...Object.keys(statefulFormats)];
/** Entries of a file. Each message is compared with the routes until one matches, unless its topic is cached. */
const MOST_ENTRIES = 1000;
/** Longest name of a route. */
const MAX_NAME = 1000;
const IGNORE: Decode = () => [];
/** The entry that is used while a routes file has none. */
const DEFAULT_ROUTE = { topic: 'sensors/{device+}/{metric}' };

/** The routes of a file, and what may be a mistake in it. */
export interface RoutesFile {
  readonly routes: readonly Route[];
  readonly warnings: readonly string[];
}

/** The file of routes: ROUTES, or one in DATA_DIR. It need not exist. */
export function routesFileOf(config: { readonly routes: string | null; readonly dataDir: string }): string {
  return config.routes ?? join(config.dataDir, 'routes.yml');
}

/** The routes while the file has none. */
export function defaultRoutes(ack: AckPolicy, zone: string | null = null): readonly Route[] {
  return new RoutesReader([DEFAULT_ROUTE], ack, zone).routes;
}

/**
 * The text of a routes file, empty when there is no file.
 *
 * @throws {ConfigError} when it cannot be read
 */
export function readRoutesText(file: string): string {
  return existsSync(file) ? readBounded(file) : '';
}

/**
 * Reads a routes file, YAML or JSON: a list of routes, each with a topic or a preset. Without a file or an entry, the
 * default route is used.
 *
 * @param zone of local times of routes that state none; null: UTC, with a note
 * @throws {ConfigError} with one line per mistake: file, line, column, key and reason
 */
export function loadRoutes(file: string, ack: AckPolicy, zone: string | null = null): RoutesFile {
  return parseRoutes(readRoutesText(file), file, ack, zone);
}

/**
 * Like `loadRoutes`, from the text of a file.
 *
 * @param name the name of the file in errors
 */
export function parseRoutes(
  text: string,
  name: string,
  ack: AckPolicy,
  zone: string | null = null,
): RoutesFile {
  const file = YamlFile.parse(text, name);
  if (hasNoEntry(file)) return { routes: defaultRoutes(ack, zone), warnings: [] };
  const { routes, mistakes, warnings } = new RoutesReader(file.data, ack, zone);
  if (mistakes.length > 0) throw file.error(mistakes);
  return { routes, warnings: warnings.length === 0 ? [] : file.error(warnings).problems };
}

/**
 * The text of a routes file with a further entry at its end. The first entry comes after the default route, which so
 * stays in use.
 *
 * @param name the name of the file in errors
 * @returns null when an equal entry is in use already
 * @throws {ConfigError} as `appendEntry` does
 */
export function appendRoute(text: string, name: string, entry: object): string | null {
  const isFirst = hasNoEntry(YamlFile.parse(text, name));
  const before = isFirst ? (appendEntry(text, name, DEFAULT_ROUTE) ?? text) : text;
  return appendEntry(before, name, entry);
}

function hasNoEntry({ data }: YamlFile): boolean {
  const entries = data ?? [];
  return Array.isArray(entries) && entries.length === 0;
}

/**
 * Like `loadRoutes`, from one entry of a routes file, given as data.
 *
 * @throws {ConfigError} with its mistakes, each with its key
 */
export function routesOfEntry(entry: object, ack: AckPolicy, zone: string | null = null): readonly Route[] {
  const { routes, mistakes } = new RoutesReader([entry], ack, zone);
  if (mistakes.length === 0) return routes;
  throw dataError(
    'route',
    mistakes.map((mistake) => ({ ...mistake, path: mistake.path.slice(1) })),
  );
}

/** What a route is made of, after its entry was checked. */
interface Parts {
  readonly name: string;
  readonly topic: string;
  readonly mapping: MappingOptions | 'ignore' | null;
}

/** Makes routes of the data of a file, and collects all mistakes. */
class RoutesReader {
  readonly routes: Route[] = [];
  readonly mistakes: Mistake[] = [];
  readonly warnings: Mistake[] = [];
  readonly #ack: AckPolicy;
  readonly #siteZone: string | null;
  readonly #names = new Set<string>();

  constructor(data: unknown, ack: AckPolicy, zone: string | null) {
    this.#ack = ack;
    this.#siteZone = zone;
    if (!Array.isArray(data)) {
      this.mistakes.push({ path: [], message: 'it must be a list of routes, each with a topic or a preset' });
      return;
    }
    if (data.length > MOST_ENTRIES) {
      this.mistakes.push({
        path: [],
        message: `it has ${data.length} routes, and at most ${MOST_ENTRIES} are used`,
      });
      return;
    }
    for (const [index, entry] of data.entries()) this.#entry(entry, index);
  }

  #checkTexts(entry: Readonly<Record<string, unknown>>, index: number): void {
    for (const [key, message] of TEXTS) {
      const text = entry[key];
      if (text !== undefined && (typeof text !== 'string' || text === ''))
        this.mistakes.push({ path: [index, key], message });
    }
    if (typeof entry.name === 'string' && entry.name.length > MAX_NAME)
      this.mistakes.push({ path: [index, 'name'], message: `it has more than ${MAX_NAME} characters` });
  }

  #entry(entry: unknown, index: number): void {
    if (!isTable(entry)) {
      this.mistakes.push({ path: [index], message: 'a route must have at least a topic or a preset' });
      return;
    }
    const before = this.mistakes.length;
    if (this.#isTooLarge(entry, [index], KEYS)) return;
    this.mistakes.push(...unknownKeys(entry, [index], KEYS, 'a route'));
    this.#checkTexts(entry, index);
    const format = this.#choice<string>(entry, index, 'format', FORMATS, 'auto');
    const qos = this.#choice<0 | 1 | 2>(entry, index, 'qos', QOS, 1);
    const retained = this.#choice<RetainedPolicy>(entry, index, 'retained', RETAINED_POLICIES, 'skip');
    const ack = this.#choice<AckPolicy>(entry, index, 'ack', ACK_POLICIES, this.#ack);
    const preset = this.#choice<string | null>(entry, index, 'preset', presetNames, null);
    const mapping = this.#mapping(entry, index);
    const influx = this.#influx(entry, index);
    const filter = this.#filter(entry, index);
    const zone = this.#zone(entry, index);
    this.#combination(entry, index);
    if (this.mistakes.length > before) return;
    for (const parts of partsOf(entry, index, preset, mapping, zone)) {
      const template = this.#template(parts, entry, index);
      if (template === null) return;
      this.#checkName(parts.name, index);
      const stateful = statefulFormats[format]?.() ?? null;
      this.routes.push({
        name: parts.name,
        template,
        format,
        decode: influx ?? stateful?.replay ?? decoderOf(parts.mapping, format, zone),
        stateful,
        preset,
        mapping: parts.mapping === 'ignore' ? null : parts.mapping,
        isIgnored: parts.mapping === 'ignore',
        qos,
        retained,
        ack,
        filter,
        messages: [0, 0, 0],
        notes: new RouteNotes(),
      });
    }
  }

  /** Whether a table has so many keys that most are no spelling mistakes. */
  #isTooLarge(table: Entry, path: Mistake['path'], keys: readonly string[]): boolean {
    const { length } = Object.keys(table);
    if (length <= 2 * keys.length) return false;
    this.mistakes.push({
      path,
      message: `it has ${length} keys; it is a table with keys of ${keys.join(', ')}`,
    });
    return true;
  }

  #template({ topic, mapping }: Parts, entry: Entry, index: number) {
    const captures = mapping === null || mapping === 'ignore' ? [] : templateNames(mapping);
    try {
      return compileTopicTemplate(topic, { captures });
    } catch (error) {
      const key = entry.topic === undefined ? (entry.base === undefined ? 'preset' : 'base') : 'topic';
      this.mistakes.push({ path: [index, key], message: (error as Error).message });
      return null;
    }
  }

  #checkName(name: string, index: number): void {
    if (this.#names.has(name)) {
      const message = `two routes are named ${JSON.stringify(name)}: give each its own name`;
      this.mistakes.push({ path: [index, 'name'], message });
    }
    this.#names.add(name);
  }

  #mapping(entry: Entry, index: number): MappingOptions | null {
    if (entry.mapping === undefined) return null;
    for (const problem of checkMapping(entry.mapping)) {
      const list = problem.isWarning === true ? this.warnings : this.mistakes;
      list.push(mistakeOf(problem, [index, 'mapping']));
    }
    return entry.mapping as MappingOptions;
  }

  /** The decoder of `influx`; null without it. */
  #influx({ influx, format }: Entry, index: number): Decode | null {
    if (influx === undefined) return null;
    const add = (message: string, ...key: string[]) =>
      void this.mistakes.push({ path: [index, 'influx', ...key], message });
    if (format !== 'influx') add('it needs format: influx');
    if (!isTable(influx)) {
      add(`it must be a table with keys of ${INFLUX_KEYS.join(', ')}`);
      return null;
    }
    if (this.#isTooLarge(influx, [index, 'influx'], INFLUX_KEYS)) return null;
    this.mistakes.push(...unknownKeys(influx, [index, 'influx'], INFLUX_KEYS, 'influx'));
    const wrong = INFLUX_KEYS.filter((key) => influx[key] !== undefined && typeof influx[key] !== 'string');
    for (const key of wrong) add('it must be a text', key);
    if (wrong.length > 0) return null;
    const { device, metric, precision = 'auto' } = influx as Readonly<Record<string, string>>;
    const unit = influxPrecision(precision);
    if (unit === null) {
      add(`${JSON.stringify(precision)} is not one of auto, ns, us, ms, s, m, h`, 'precision');
      return null;
    }
    try {
      return influxDecoder({ names: compileInfluxNames(device, metric), precision: unit });
    } catch (error) {
      add((error as Error).message);
      return null;
    }
  }

  /** The zone of local times: that of the route, or of the site. */
  #zone({ zone }: Entry, index: number): string | null {
    if (zone === undefined) return this.#siteZone;
    const problem = typeof zone === 'string' ? zoneProblem(zone) : `${JSON.stringify(zone)} is not a text`;
    if (problem === null) return zone as string;
    this.mistakes.push({ path: [index, 'zone'], message: problem });
    return null;
  }

  #filter({ filter }: Entry, index: number): FilterOptions | null {
    if (filter === undefined) return null;
    const { options, problems } = readFilter(filter);
    for (const { path, message, atKey } of problems)
      this.mistakes.push({ path: [index, 'filter', ...path], message, ...(atKey === true ? { atKey } : {}) });
    return options;
  }

  /** Keys that exclude each other, or need each other. */
  #combination({ topic, preset, base, mapping, format, zone }: Entry, index: number): void {
    const add = (key: string, message: string) => void this.mistakes.push({ path: [index, key], message });
    if (topic === undefined && preset === undefined) {
      this.mistakes.push({
        path: [index],
        message: 'topic is missing; a route has a topic, a preset or both',
      });
    }
    if (base !== undefined && preset === undefined) add('base', 'only a preset has a base topic');
    if (base !== undefined && topic !== undefined)
      add('base', 'topic replaces all topics of the preset: leave base out');
    if (zone !== undefined && format !== undefined && format !== 'auto')
      add('zone', `only auto, mappings and presets read local times: leave zone or format out`);
    const isMapped = preset !== undefined || mapping !== undefined;
    if (isMapped && format !== undefined && format !== 'auto') {
      add(
        'format',
        'a mapping or preset reads JSON and plain values, with the format auto: leave format out',
      );
    }
  }

  #choice<T>(entry: Entry, index: number, key: string, values: readonly Exclude<T, null>[], preset: T): T {
    const value = entry[key];
    if (value === undefined) return preset;
    const found = values.find((known) => known === value);
    if (found !== undefined) return found;
    const near = typeof value === 'string' ? didYouMean(value, values.map(String)) : '';
    const message = `${JSON.stringify(value)} is not one of ${values.join(', ')}${near}`;
    this.mistakes.push({ path: [index, key], message });
    return preset;
  }
}

type Entry = Readonly<Record<string, unknown>>;

/** The routes of an entry: one, or those of its preset. */
function partsOf(
  entry: Entry,
  index: number,
  presetName: string | null,
  own: MappingOptions | null,
  zone: string | null,
): readonly Parts[] {
  const preset = presetName === null ? null : presets[presetName]!;
  const fallback = index === 0 && preset === null ? 'default' : `route-${index + 1}`;
  const name = typeof entry.name === 'string' ? entry.name : (preset?.name ?? fallback);
  if (preset === null)
    return [{ name, topic: entry.topic as string, mapping: own === null ? null : withZone(own, zone) }];
  if (typeof entry.topic === 'string') {
    return [{ name, topic: entry.topic, mapping: merged(presetMapping(preset, entry.topic), own, zone) }];
  }
  const base = typeof entry.base === 'string' ? entry.base : preset.base;
  return preset.routes.map(({ topic, mapping }, place) => ({
    name: place === 0 ? name : `${name}-${place + 1}`,
    topic: presetTopic(base, topic),
    mapping: mapping === 'ignore' ? mapping : merged(mapping, own, zone),
  }));
}

function merged(
  mapping: PresetRoute['mapping'] & object,
  own: MappingOptions | null,
  zone: string | null,
): MappingOptions {
  // A preset has the zone `unknown` for times that are local. The mapping of the route can state that too.
  const preset = withZone(mapping, zone, true);
  return own === null ? preset : withZone(mergeMappings(preset, own), zone);
}

function decoderOf(mapping: Parts['mapping'], format: string, zone: string | null): Decode {
  if (mapping === null) return format === 'auto' && zone !== null ? autoDecoder(zone) : formats[format]!;
  return mapping === 'ignore' ? IGNORE : compileMapping(mapping);
}

function mistakeOf(
  { path, message, atKey, word, known }: MappingProblem,
  at: readonly (string | number)[],
): Mistake {
  const near = word === undefined ? '' : didYouMean(word, known ?? []);
  return { path: [...at, ...path], message: `${message}${near}`, ...(atKey === true ? { atKey } : {}) };
}
