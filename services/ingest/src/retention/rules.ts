import { existsSync } from 'node:fs';
import {
  deviceNameProblem,
  isTable,
  metricNameProblem,
  type RetentionRuleDocument,
} from '@tidegauge/readings';
import { ConfigError, type Kind } from '@tidegauge/service';
import type { RollupPeriod, SeriesScope } from '@tidegauge/storage';
import { didYouMean } from '@tidegauge/text';
import { type Mistake, type Path, unknownKeys, YamlFile } from '@tidegauge/yaml-file';

/** How long readings and their rollups are kept, microseconds. Infinity: forever. */
export type Keep = Readonly<Record<'raw' | RollupPeriod, number>>;

export const PERIODS: readonly RollupPeriod[] = ['minute', 'hour', 'day'];

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
const LEVELS: Readonly<Record<string, keyof Keep>> = {
  raw: 'raw',
  '1m': 'minute',
  '1h': 'hour',
  '1d': 'day',
};
const FOREVER: Keep = {
  raw: Number.POSITIVE_INFINITY,
  minute: Number.POSITIVE_INFINITY,
  hour: Number.POSITIVE_INFINITY,
  day: Number.POSITIVE_INFINITY,
};
/** Rollups of an hour are computed two minutes after it has ended, and readings of it can arrive late. */
const LEAST_RAW_SECONDS = 3 * SECONDS.h!;
const KEYS = ['devices', 'metrics', 'keep'];
const MOST_RULES = 1000;
const MOST_METRICS = 1000;

/**
 * Reads how long each level of data is kept, such as `raw:30d,1m:1y,1h:forever`: readings, and rollups of minutes, hours
 * and days. An age is a whole number with s, m, h, d, w or y (365 days), or `forever`, as for levels that are left out.
 *
 * @throws {Error} with the part that is wrong, and how to write it
 */
export function parseKeep(text: string): Keep {
  const ages = new Map<keyof Keep, number>();
  for (const part of text.split(',').map((each) => each.trim())) {
    const [, level, age] = /^([^:]*):([^:]*)$/.exec(part) ?? [];
    if (level === undefined || age === undefined)
      throw new Error(`${quoted(part)} is not a level and an age: write raw:30d`);
    const kind = Object.hasOwn(LEVELS, level) ? LEVELS[level]! : null;
    const names = Object.keys(LEVELS);
    if (kind === null)
      throw new Error(`${quoted(level)} is not one of ${names.join(', ')}${didYouMean(level, names)}`);
    if (ages.has(kind)) throw new Error(`${level} has two ages: leave one out`);
    ages.set(kind, parseAge(age));
  }
  const raw = ages.get('raw') ?? FOREVER.raw;
  const hasRollups = [...ages.keys()].some((kind) => kind !== 'raw');
  if (hasRollups && raw < LEAST_RAW_SECONDS * 1e6)
    throw new Error(
      'raw is shorter than rollups need, which are computed after the end of an hour: keep raw:3h or more',
    );
  return { ...FOREVER, ...Object.fromEntries(ages) };
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

/** Ages as `parseKeep` reads them. */
export function keepText(keep: Keep): string {
  const limited = Object.entries(LEVELS).filter(([, level]) => keep[level] !== Number.POSITIVE_INFINITY);
  const parts = limited.map(([name, level]) => `${name}:${ageText(keep[level] / 1e6)}`);
  return parts.length === 0 ? 'raw:forever' : parts.join(',');
}

/** Seconds in the largest unit that keeps them whole. */
function ageText(seconds: number): string {
  const [unit, size] = Object.entries(SECONDS)
    .reverse()
    .find(([, each]) => seconds % each === 0)!;
  return `${seconds / size}${unit}`;
}

/** A rule as an entry of a file. */
export function retentionEntry(rule: Rule): RetentionRuleDocument {
  const { devices, metrics } = rule;
  return {
    ...(devices === null ? {} : { devices }),
    ...(metrics === null ? {} : { metrics }),
    keep: keepText(rule),
  };
}

/** The setting RETENTION. */
export const keepKind: Kind<Keep> = {
  takes: 'the ages until which readings and rollups are kept, such as raw:30d or raw:30d,1m:1y,1h:forever',
  placeholder: 'KEEP',
  parse: parseKeep,
};

/** Rules in order: of the rules that match a series, the first one counts. Other series are kept forever. */
export class RetentionRules {
  readonly rules: readonly Rule[];

  /**
   * @param last what is kept of series that no rule matches; null: everything
   * @throws {ConfigError} when a rule would delete rollups that a rule before it keeps
   */
  constructor(rules: readonly Rule[], last: Keep | null) {
    const all = { name: 'all other series', devices: null, metrics: null };
    this.rules = [...rules, { ...all, ...(last ?? FOREVER) }];
    const problem = rollupProblem(this.rules);
    if (problem !== null) throw new ConfigError([problem]);
  }

  /** Whether a rule limits the age of rollups. */
  get hasRollups(): boolean {
    return this.rules.some((rule) => PERIODS.some((period) => rule[period] !== Number.POSITIVE_INFINITY));
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

/** Why the ages of rollups cannot be applied rule by rule, or null: rollups are deleted for all series of a rule. */
function rollupProblem(rules: readonly Rule[]): string | null {
  for (const [index, rule] of rules.entries()) {
    for (const before of rules.slice(0, index)) {
      const period = PERIODS.find((each) => rule[each] < before[each]);
      if (period === undefined || !isOverlapping(rule, before)) continue;
      const level = Object.keys(LEVELS).find((each) => LEVELS[each] === period)!;
      return (
        `retention: the rule ${before.name} keeps ${level} longer than the rule ${rule.name}, which has the same series: ` +
        `give both the same age of ${level}`
      );
    }
  }
  return null;
}

function isOverlapping(one: Rule, other: Rule): boolean {
  const isWithin = (inner: string | null, outer: string | null) =>
    outer === null || (inner !== null && (inner === outer || inner.startsWith(`${outer}/`)));
  const sharesDevices = isWithin(one.devices, other.devices) || isWithin(other.devices, one.devices);
  const sharesMetrics =
    one.metrics === null ||
    other.metrics === null ||
    one.metrics.some((metric) => other.metrics!.includes(metric));
  return sharesDevices && sharesMetrics;
}

/** What a rule matches, as scopes of the store. */
export function scopesOf({ devices, metrics }: Rule): SeriesScope[] {
  const scope = devices === null ? {} : { devices };
  return metrics === null ? [scope] : metrics.map((metric) => ({ ...scope, metric }));
}

/** The rule of a series, from the rules of its device. */
export function ruleOf(rules: readonly Rule[], metric: string): Rule {
  return rules.find(({ metrics }) => metrics === null || metrics.includes(metric))!;
}

/**
 * Reads a file of rules: a list, each with `keep` and optionally `devices` and `metrics`.
 *
 * @param isRequired whether a missing file is a mistake. Otherwise it has no rules
 * @throws {ConfigError} with one line per mistake: file, line, column, key and reason
 */
export function loadRules(file: string, isRequired = true): readonly Rule[] {
  return isRequired || existsSync(file) ? rulesOf(YamlFile.read(file)) : [];
}

/** Like `loadRules`, from the text of a file. */
export function parseRules(text: string, name: string): readonly Rule[] {
  return rulesOf(YamlFile.parse(text, name));
}

function rulesOf(file: YamlFile): readonly Rule[] {
  const mistakes: Mistake[] = [];
  const add = (path: Path, message: string, atKey = false) => void mistakes.push({ path, message, atKey });
  const { data } = file;
  if (!Array.isArray(data)) {
    add([], 'it must be a list of rules, each with keep: such as - keep: raw:30d');
    throw file.error(mistakes);
  }
  if (data.length > MOST_RULES)
    throw file.error([
      { path: [], message: `it has ${data.length} rules, and at most ${MOST_RULES} are used` },
    ]);
  const rules = data.map((entry: unknown, index): Rule => {
    if (isTable(entry)) {
      mistakes.push(...unknownKeys(entry, [index], KEYS, 'a rule'));
      return readRule(entry, (path, message) => add([index, ...path], message));
    }
    add([index], 'a rule must have keep, such as raw:30d');
    return { name: '', devices: null, metrics: null, ...FOREVER };
  });
  const last = rules.findIndex(({ devices, metrics }) => devices === null && metrics === null);
  if (last !== -1 && last < rules.length - 1)
    add([last + 1], `rule ${last + 1} matches every series, so this rule is never used: move it up`);
  if (mistakes.length > 0) throw file.error(mistakes);
  return rules;
}

type Entry = Readonly<Record<string, unknown>>;

/** @param add receives mistakes, with their paths in the entry */
function readRule({ devices, metrics, keep }: Entry, add: (path: Path, message: string) => void): Rule {
  const problem = devices === undefined ? null : problemOf(devices, deviceNameProblem);
  if (problem !== null) add(['devices'], problem);
  const named = metrics === undefined ? null : [metrics].flat();
  if (named !== null) checkMetrics(named, Array.isArray(metrics), add);
  const matches = [devices ?? 'all devices', ...(named === null ? [] : [named.join(', ')])];
  return {
    name: matches.join(': '),
    devices: (devices as string | undefined) ?? null,
    metrics: named as readonly string[] | null,
    ...keepOf(keep, (message) => add(keep === undefined ? [] : ['keep'], message)),
  };
}

function checkMetrics(
  metrics: readonly unknown[],
  isList: boolean,
  add: (path: Path, message: string) => void,
): void {
  if (metrics.length === 0 || metrics.length > MOST_METRICS)
    add(['metrics'], `it must be 1 to ${MOST_METRICS} metrics`);
  for (const [place, metric] of metrics.entries()) {
    const problem = problemOf(metric, metricNameProblem);
    if (problem !== null) add(isList ? ['metrics', place] : ['metrics'], problem);
  }
}

function problemOf(name: unknown, problem: (name: string) => string | null): string | null {
  return typeof name === 'string' ? problem(name) : 'it must be a text';
}

function keepOf(keep: unknown, add: (message: string) => void): Keep {
  try {
    if (typeof keep !== 'string')
      throw new Error(keep === undefined ? 'keep is missing' : 'it must be a text');
    return parseKeep(keep);
  } catch (error) {
    add(`${(error as Error).message}`);
    return FOREVER;
  }
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
