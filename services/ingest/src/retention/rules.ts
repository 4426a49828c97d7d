import { deviceNameProblem, isTable, metricNameProblem } from '@tidegauge/readings';
import type { Kind } from '@tidegauge/service';
import { didYouMean } from '@tidegauge/text';
import { type Mistake, type Path, YamlFile } from '@tidegauge/yaml-file';

/** How long readings are kept, microseconds. Infinity: forever. */
export interface Keep {
  readonly raw: number;
}

/** What is kept of the series that match. */
export interface Rule extends Keep {
  /** For reports: what the rule matches. */
  readonly name: string;
  /** A device. The rule matches it and all devices below it. Null: all devices. */
  readonly devices: string | null;
  /** Null: all metrics. */
  readonly metrics: readonly string[] | null;
}

const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 7 * 86_400,
  y: 365 * 86_400,
};
/** A longer age begins before 1970. */
const MOST_SECONDS = 50 * SECONDS.y!;
const LEVELS = ['raw', '1m', '1h', '1d'];
const KEYS = ['devices', 'metrics', 'keep'];
const MOST_RULES = 1000;
const MOST_METRICS = 1000;

/**
 * Reads how long each level of data is kept, such as `raw:30d`. An age is a whole number with s, m, h, d, w or y (365
 * days), or `forever`.
 *
 * @throws {Error} with the part that is wrong, and how to write it
 */
export function parseKeep(text: string): Keep {
  const ages = new Map<string, number>();
  for (const part of text.split(',').map((each) => each.trim())) {
    const [, level, age] = /^([^:]*):([^:]*)$/.exec(part) ?? [];
    if (level === undefined || age === undefined)
      throw new Error(`${quoted(part)} is not a level and an age: write raw:30d`);
    if (!LEVELS.includes(level))
      throw new Error(`${quoted(level)} is not one of ${LEVELS.join(', ')}${didYouMean(level, LEVELS)}`);
    if (level !== 'raw')
      throw new Error(`${level} keeps rollups, which this version does not store: leave ${part} out`);
    if (ages.has(level)) throw new Error(`${level} has two ages: leave one out`);
    ages.set(level, parseAge(age));
  }
  return { raw: ages.get('raw')! };
}

function parseAge(text: string): number {
  if (text === 'forever') return Number.POSITIVE_INFINITY;
  const [, number, unit] = /^([1-9]\d{0,9})([smhdwy])$/.exec(text) ?? [];
  const seconds = Number(number) * (SECONDS[unit ?? ''] ?? Number.NaN);
  if (Number.isNaN(seconds))
    throw new Error(`${quoted(text)} is not an age: a whole number with s, m, h, d, w or y, or forever`);
  if (seconds > MOST_SECONDS) throw new Error(`${text} is longer than 50y: write forever`);
  return seconds * 1e6;
}

/** The setting RETENTION. */
export const keepKind: Kind<Keep> = {
  takes: 'the age until which readings are kept, such as raw:30d or raw:forever',
  placeholder: 'KEEP',
  parse: parseKeep,
};

/** Rules in order: of the rules that match a series, the first one counts. Other series are kept forever. */
export class RetentionRules {
  readonly rules: readonly Rule[];

  /** @param last what is kept of series that no rule matches; null: everything */
  constructor(rules: readonly Rule[], last: Keep | null) {
    const all = { name: 'all other series', devices: null, metrics: null };
    this.rules = [...rules, { ...all, raw: last?.raw ?? Number.POSITIVE_INFINITY }];
  }

  /** The age that no reading exceeds, whatever its series, microseconds. */
  get longest(): number {
    return Math.max(...this.rules.map(({ raw }) => raw));
  }

  /** Whether all series have the same age. */
  get isUniform(): boolean {
    return this.rules.every(({ raw }) => raw === this.longest);
  }

  /** The rules that can match series of a device, in order. The last of them matches all of its series. */
  ofDevice(device: string): readonly Rule[] {
    const matching = this.rules.filter(
      ({ devices }) => devices === null || device === devices || device.startsWith(`${devices}/`),
    );
    return matching.slice(0, matching.findIndex(({ metrics }) => metrics === null) + 1);
  }
}

/** The rule of a series, from the rules of its device. */
export function ruleOf(rules: readonly Rule[], metric: string): Rule {
  return rules.find(({ metrics }) => metrics === null || metrics.includes(metric))!;
}

/**
 * Reads a file of rules: a list, each with `keep` and optionally `devices` and `metrics`.
 *
 * @throws {ConfigError} with one line per mistake: file, line, column, key and reason
 */
export function loadRules(file: string): readonly Rule[] {
  return rulesOf(YamlFile.read(file));
}

/** Like `loadRules`, from the text of a file. */
export function parseRules(text: string, name: string): readonly Rule[] {
  return rulesOf(YamlFile.parse(text, name));
}

function rulesOf(file: YamlFile): readonly Rule[] {
  const mistakes: Mistake[] = [];
  const add = (path: Path, message: string, atKey = false) => void mistakes.push({ path, message, atKey });
  const { data } = file;
  if (!Array.isArray(data) || data.length === 0) {
    add([], 'it must be a list of rules, each with keep: such as - keep: raw:30d');
    throw file.error(mistakes);
  }
  if (data.length > MOST_RULES)
    throw file.error([
      { path: [], message: `it has ${data.length} rules, and at most ${MOST_RULES} are used` },
    ]);
  const rules = data.map((entry: unknown, index): Rule => {
    if (!isTable(entry)) add([index], 'a rule must have keep, such as raw:30d');
    const { devices, metrics, keep } = (isTable(entry) ? entry : { keep: 'raw:forever' }) as Entry;
    for (const key of Object.keys(isTable(entry) ? entry : {})) {
      if (!KEYS.includes(key))
        add([index, key], `${key} is not a key of a rule (${KEYS.join(', ')})${didYouMean(key, KEYS)}`, true);
    }
    const problem = devices === undefined ? null : problemOf(devices, deviceNameProblem);
    if (problem !== null) add([index, 'devices'], problem);
    const named = metrics === undefined ? null : [metrics].flat();
    if (named !== null && (named.length === 0 || named.length > MOST_METRICS))
      add([index, 'metrics'], `it must be 1 to ${MOST_METRICS} metrics`);
    for (const [place, metric] of (named ?? []).entries()) {
      const wrong = problemOf(metric, metricNameProblem);
      if (wrong !== null) add(Array.isArray(metrics) ? [index, 'metrics', place] : [index, 'metrics'], wrong);
    }
    const matches = [devices ?? 'all devices', ...(named === null ? [] : [named.join(', ')])];
    return {
      name: matches.join(': '),
      devices: (devices as string | undefined) ?? null,
      metrics: named as readonly string[] | null,
      raw: rawOf(keep, (message) => add(keep === undefined ? [index] : [index, 'keep'], message)),
    };
  });
  const last = rules.findIndex(({ devices, metrics }) => devices === null && metrics === null);
  if (last !== -1 && last < rules.length - 1)
    add([last + 1], `rule ${last + 1} matches every series, so this rule is never used: move it up`);
  if (mistakes.length > 0) throw file.error(mistakes);
  return rules;
}

type Entry = Readonly<Record<string, unknown>>;

function problemOf(name: unknown, problem: (name: string) => string | null): string | null {
  return typeof name === 'string' ? problem(name) : 'it must be a text';
}

function rawOf(keep: unknown, add: (message: string) => void): number {
  try {
    if (typeof keep !== 'string')
      throw new Error(keep === undefined ? 'keep is missing' : 'it must be a text');
    return parseKeep(keep).raw;
  } catch (error) {
    add(`${(error as Error).message}`);
    return 0;
  }
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
