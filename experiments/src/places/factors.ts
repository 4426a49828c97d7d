import { optionsOf, parseUrl, STORE_SCHEMES } from '@tidegauge/storage';
import type { Combination, Level, NetworkProfile, Study } from '../model.ts';

const UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
/** A level that leaves a factor to the store. */
const UNSET: readonly (Level | undefined)[] = [undefined, '', 'default', 'none', false];
/** Stores whose copies are an option of the STORE URL. */
export const COPIES_BY_URL: readonly string[] = ['cassandra', 'citus'];
const OPTION = /^url\.(.+)$/;

/** The hard factors of a combination, with the meaning that they have for a place. */
export interface StoreLevels {
  /** The name of a store, such as `cassandra`, or a STORE URL. */
  readonly store: string;
  /** Whether `store` is a URL. */
  readonly isUrl: boolean;
  readonly nodes: number;
  /** Copies of each row. null: what the place sets. */
  readonly rf: number | null;
  /** Memory limit of each node in bytes. null: no limit. */
  readonly memory: number | null;
  /** null: no profile. */
  readonly network: NetworkProfile | null;
}

/**
 * The level of a factor: of the combination, or the one that all runs of the study have.
 */
export function levelOf(name: string, combination: Combination, study: Study): Level | undefined {
  return combination[name] ?? study.fixed[name];
}

/** @throws {Error} for a level that has no meaning, such as a network profile that the study does not define */
export function storeLevels(hard: Combination, study: Study): StoreLevels {
  const level = (name: string): Level | undefined => levelOf(name, hard, study);
  const store = String(level('store') ?? '');
  if (store === '') throw new Error('the combination has no level of the factor store');
  return {
    store,
    isUrl: store.includes(':') && STORE_SCHEMES.includes(store.slice(0, store.indexOf(':'))),
    nodes: wholeNumber('nodes', level('nodes') ?? 1, 1),
    rf: copiesOf(level('rf')),
    memory: isUnset(level('memory')) || level('memory') === 0 ? null : bytesOf(level('memory')!),
    network: isUnset(level('network')) ? null : profileOf(String(level('network')), study),
  };
}

/** The options of a STORE URL that factors `url.<option>`, `rf` and `consistency` set. */
export function urlOptions(
  scheme: string,
  hard: Combination,
  easy: Combination,
  study: Study,
): Map<string, string> {
  const options = new Map<string, string>();
  for (const [name, level] of Object.entries({ ...study.fixed, ...hard, ...easy })) {
    const option = OPTION.exec(name)?.[1];
    if (option !== undefined && level !== 'default') options.set(option, String(level));
  }
  const rf = copiesOf(levelOf('rf', hard, study));
  if (rf !== null && COPIES_BY_URL.includes(scheme)) options.set('rf', String(rf));
  const consistency = levelOf('consistency', { ...hard, ...easy }, study);
  if (!isUnset(consistency)) setConsistency(scheme, String(consistency), options);
  return options;
}

/**
 * Checks the options of a combination by the option table of the store.
 *
 * @throws {Error} that names the option
 */
export async function checkOptions(scheme: string, options: ReadonlyMap<string, string>): Promise<void> {
  const schema = await optionsOf(scheme);
  for (const [name, text] of options) {
    const option = Object.hasOwn(schema, name) ? schema[name] : undefined;
    if (option === undefined) {
      throw new Error(`${scheme} has no option ${name}: its options are ${Object.keys(schema).join(', ')}`);
    }
    if (option.parse(text) === undefined) {
      throw new Error(`${scheme} option ${name} cannot be ${JSON.stringify(text)}: it takes ${option.takes}`);
    }
  }
}

/** A STORE URL with further options. An option that it already has is replaced. */
export function withOptions(url: string, options: ReadonlyMap<string, string>): string {
  const [, location = url, query = ''] = /^([^?]*)(?:\?(.*))?$/.exec(url) ?? [];
  const search = new URLSearchParams(query);
  for (const [name, value] of options) search.set(name, value);
  const text = search.toString();
  return text === '' ? location : `${location}?${text}`;
}

/** A STORE URL with another database or keyspace. */
export function withDatabase(url: string, database: string): string {
  return url.replace(/^([^?]*\/)[^/?]*/, (_all, location: string) => `${location}${database}`);
}

/** The scheme of a STORE URL. @throws {StoreError} when it is not a URL */
export function schemeOf(url: string): string {
  return parseUrl(url).scheme;
}

function setConsistency(scheme: string, level: string, options: Map<string, string>): void {
  if (scheme === 'cassandra') {
    for (const side of ['read', 'write']) options.set(side, level.toUpperCase());
  } else if (scheme === 'mongodb') options.set('w', level.toLowerCase());
  else throw new Error(`${scheme} has no consistency levels: use the level default`);
}

function isUnset(level: Level | undefined): boolean {
  return UNSET.includes(level);
}

/** null: the level leaves the number of copies to the place. */
function copiesOf(level: Level | undefined): number | null {
  return level === undefined || isUnset(level) || level === 0 ? null : wholeNumber('rf', level, 1);
}

function wholeNumber(name: string, level: Level, least: number): number {
  const number = Number(level);
  if (Number.isInteger(number) && number >= least) return number;
  throw new Error(`${name} takes a whole number from ${least}, not ${JSON.stringify(level)}`);
}

function bytesOf(level: Level): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB)?$/.exec(String(level)) ?? [];
  if (number === undefined) throw new Error(`memory takes a size such as 1GiB, not ${JSON.stringify(level)}`);
  return Math.round(Number(number) * UNITS[unit]!);
}

function profileOf(name: string, study: Study): NetworkProfile {
  const profile = Object.hasOwn(study.networks, name) ? study.networks[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(study.networks).join(', ') || 'none';
  throw new Error(`the study defines no network profile ${name}: there are ${known}`);
}
