import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bytes } from '@tidegauge/service/program';
import { parseUrl } from '@tidegauge/storage';
import { parseWorkload, type RecordWorkload } from '@tidegauge/workload';
import { isStoreUrl, isWorkloadLetter, NONE, UNSET, urlOption } from './file/factors.ts';
import type { Combination, Driver, Level, Study } from './model.ts';

/** The levels of all factors: those that are fixed, and those of a combination. */
export function allLevels(
  study: Pick<Study, 'fixed'>,
  ...combinations: readonly (Combination | { readonly driver: Driver })[]
): Combination {
  return Object.assign({}, study.fixed, ...combinations);
}

/** Bytes of a level of the factor `memory`, or null for `none`. */
export function memoryBytes(level: Level | undefined): number | null {
  if (level === undefined || level === NONE) return null;
  return bytes(0, Number.MAX_SAFE_INTEGER).parse(String(level));
}

/** The scheme of a level of the factor `store`: of its URL, or its name. */
export function schemeOf(store: Level): string {
  const text = String(store);
  return isStoreUrl(text) ? parseUrl(text).scheme : text;
}

const CONSISTENCY_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  cassandra: ['read', 'write'],
  mongodb: ['w'],
};

/** Options of a STORE URL that the factor `consistency` sets. Empty if the store has no consistency levels. */
export function consistencyOptions(scheme: string): readonly string[] {
  return CONSISTENCY_OPTIONS[scheme] ?? [];
}

/** Stores whose replication factor is an option of the URL. In others, such as HBase, the deployment sets it. */
const RF_IN_URL: readonly string[] = ['cassandra', 'citus'];

/**
 * The options of a STORE URL for a combination of levels: replication factor, consistency and `url.…`.
 *
 * @param scheme of the store's URL
 * @param levels of all factors; see `allLevels`
 */
export function storeOptions(scheme: string, levels: Combination): Readonly<Record<string, string>> {
  const options: Record<string, string> = {};
  for (const [name, level] of Object.entries(levels)) {
    const option = urlOption(name);
    if (option !== null && level !== UNSET) options[option] = String(level);
  }
  if (RF_IN_URL.includes(scheme) && levels.rf !== undefined) options.rf = String(levels.rf);
  if (levels.consistency !== undefined && levels.consistency !== UNSET) {
    for (const option of consistencyOptions(scheme)) options[option] = String(levels.consistency);
  }
  return options;
}

/** Adds options to a STORE URL. An option that the URL has already is replaced. */
export function withOptions(url: string, options: Readonly<Record<string, string>>): string {
  const at = url.indexOf('?');
  const place = at === -1 ? url : url.slice(0, at);
  const query = new Map(
    at === -1
      ? []
      : url
          .slice(at + 1)
          .split('&')
          .map((pair) => [pair.split('=')[0], pair]),
  );
  for (const [name, value] of Object.entries(options))
    query.set(name, `${name}=${encodeURIComponent(value)}`);
  return query.size === 0 ? place : `${place}?${[...query.values()].join('&')}`;
}

/**
 * Replaces `${NAME}` in a STORE URL with that environment variable.
 * @throws {Error} when the variable is not set
 */
export function withPassword(url: string, env: Readonly<Record<string, string | undefined>>): string {
  return url.replace(/\$\{([A-Z][A-Z0-9_]*)\}/g, (_all, name: string) => {
    const value = env[name];
    if (value === undefined) throw new Error(`set ${name}: the store ${url} needs it`);
    return encodeURIComponent(value);
  });
}

/**
 * The workload of a combination of levels.
 *
 * @param study has the texts of property files
 * @param levels of all factors; see `allLevels`
 * @param overrides further properties of YCSB, such as `dataintegrity`
 * @throws {WorkloadError} for a property file with a mistake
 */
export function workloadOf(
  study: Pick<Study, 'files'>,
  levels: Combination,
  overrides: Readonly<Record<string, string>> = {},
): RecordWorkload {
  const name = String(levels.workload);
  const text = isWorkloadLetter(name) ? ownWorkload(name) : study.files?.[name];
  if (text === undefined) throw new TypeError(`the study does not have the text of ${name}`);
  return parseWorkload(text, {
    file: isWorkloadLetter(name) ? `workload${name}` : name,
    overrides: {
      recordcount: String(levels.records),
      operationcount: String(levels.operations),
      fieldcount: String(levels.fields),
      fieldlength: String(levels.length),
      ...(levels.distribution === UNSET ? {} : { requestdistribution: String(levels.distribution) }),
      ...overrides,
    },
  });
}

/** Whether runs of a workload change the number of records. */
export function growsTable({ mix }: Pick<RecordWorkload, 'mix'>): boolean {
  return mix.insert > 0;
}

function ownWorkload(letter: string): string {
  return readFileSync(
    fileURLToPath(import.meta.resolve(`@tidegauge/workload/workloads/workload${letter}`)),
    'utf8',
  );
}
