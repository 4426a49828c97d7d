import type { DeviceOperationType } from '@tidegauge/loadtests/operations/plan';
import { QUERIES } from '@tidegauge/loadtests/operations/read-load';
import { STORES } from '@tidegauge/loadtests/targets/store-places';
import { bytes, duration, integer, type Kind, oneOf } from '@tidegauge/service/program';
import { parseUrl, STORE_SCHEMES } from '@tidegauge/storage';
import { didYouMean } from '@tidegauge/text';
import { REQUEST_DISTRIBUTIONS } from '@tidegauge/workload';
import { DRIVERS } from '../drivers.ts';
import type { Level } from '../model.ts';

/** `hard`: each level needs a new deployment. `easy`: levels change within a deployment. */
export type Section = 'hard' | 'easy';

/** Something that an experiment varies or keeps fixed. */
export interface Factor {
  readonly name: string;
  readonly section: Section;
  /** Completes "must be …". */
  readonly takes: string;
  /** The level when the file has none. `url.…` has `default` and `store` has no default. */
  readonly default: Level | null;
  readonly help: string;
  /**
   * The level in the form that plans have, such as `512MiB` for `0.5GiB`.
   * @throws {Error} with the reason
   */
  readonly parse: (level: Level) => Level;
}

/** The level that leaves an option as the store or the workload has it. */
export const UNSET = 'default';
/** The level without a limit or a profile. */
export const NONE = 'none';

/** The level of `operations` with which each thread does one operation, all at once. */
export const ONE_EACH = 'one-each';
const RUN_SECONDS = duration(1, 3600);

/** The seconds of a level of `operations` that is a duration, such as 5s. null: it is a count, or `ONE_EACH`. */
export function secondsOf(operations: Level): number | null {
  return typeof operations === 'string' && /[a-z]$/.test(operations) && operations !== ONE_EACH
    ? RUN_SECONDS.parse(operations)
    : null;
}

const MAX_COUNT = 2 ** 31 - 1;
const MEBIBYTE = 2 ** 20;
const WORKLOAD_LETTER = /^[a-gi]$/i;

/** Workloads of one operation on the register of devices. */
export const DEVICE_WORKLOADS: Readonly<Record<string, DeviceOperationType>> = {
  'select-one': 'selectOne',
  'select-some': 'selectSome',
  'update-some': 'updateSome',
};
const WORKLOAD_NAMES: readonly string[] = [...Object.keys(DEVICE_WORKLOADS), ...QUERIES];

const OPERATIONS = integer(1, 1_000_000_000);
const MEMORY = bytes(16 * MEBIBYTE, 2 ** 40);

const FACTOR_LIST: readonly Factor[] = [
  {
    name: 'store',
    section: 'hard',
    takes: `one of ${STORES.join(', ')}, or a STORE URL`,
    default: null,
    help: 'The store. A STORE URL is a store that runs already.',
    parse: parseStore,
  },
  whole('nodes', 'hard', 1, 64, 1, 'Nodes of the store.'),
  whole('rf', 'hard', 1, 9, 1, 'Replication factor: copies of each record.'),
  {
    name: 'memory',
    section: 'hard',
    takes: `none, or ${MEMORY.takes}`,
    default: NONE,
    help: 'Memory limit of each node, such as 1GiB. none: no limit.',
    parse: (level) => (level === NONE ? NONE : showSize(MEMORY.parse(String(level)))),
  },
  {
    name: 'network',
    section: 'hard',
    takes: 'none, or the name of a profile in networks',
    default: NONE,
    help: 'Profile of the network between clients and store, from `networks`. none: the network as it is.',
    parse: (level) => (typeof level === 'string' ? level : fail('it is not a name')),
  },
  {
    name: 'workload',
    section: 'easy',
    takes: `a letter from a to g, or i, one of ${WORKLOAD_NAMES.join(', ')}, or a YCSB property file beside the experiment file`,
    default: 'a',
    help: 'A YCSB workload by its letter (a to g, or i), an operation on devices (select-one, select-some, update-some), a query over readings (q1 to q10), or a property file beside the experiment file.',
    parse: parseWorkloadName,
  },
  {
    ...choice('driver', DRIVERS, 'How operations reach the store.'),
    help: 'raw: directly. raw-again: the same on another table, to compare raw with itself. app: through the API. k6: through the API, from k6. Also raw-connect, app-connect and published: see Operations on devices. The default is raw and app.',
    // The levels are `raw` and `app`: see readStudy.
    default: null,
  },
  whole('threads', 'easy', 1, 10_000, 1, 'Operations at the same time.'),
  whole('target', 'easy', 0, 1_000_000, 0, 'Operations started per second, over all threads. 0: no target.'),
  whole(
    'records',
    'easy',
    1,
    MAX_COUNT,
    10_000,
    'Records in the table, devices in the register, or readings of all days, when a run starts.',
  ),
  {
    name: 'operations',
    section: 'easy',
    takes: `${ONE_EACH}, ${OPERATIONS.takes}, or ${RUN_SECONDS.takes}`,
    default: 10_000,
    help: 'Operations of one run, or its duration, such as 5s. one-each: one operation of each thread, all started at once.',
    parse: (level) =>
      level === ONE_EACH || secondsOf(level) !== null ? level : OPERATIONS.parse(String(level)),
  },
  whole(
    'volume',
    'easy',
    1,
    100,
    100,
    'Percent of the readings that are loaded, the first ones by time. For queries.',
  ),
  whole('fields', 'easy', 1, 1000, 10, 'Fields of each record.'),
  whole('length', 'easy', 1, 1_048_576, 100, 'Length of each field, in bytes.'),
  {
    name: 'consistency',
    section: 'easy',
    takes: 'default, or a consistency level of the store',
    default: UNSET,
    help: 'Consistency level of reads and writes, such as ONE or QUORUM. default: that of the store.',
    parse: (level) => String(level),
  },
  {
    ...choice('fault', [NONE, 'kill-node'], 'What fails during a run.'),
    help: 'What fails during a run. kill-node: at half of the operations, one node of the store is killed for ten seconds.',
    default: NONE,
  },
  {
    ...choice('distribution', [UNSET, ...REQUEST_DISTRIBUTIONS], 'How keys are chosen.'),
    help: 'How operations choose their keys, such as zipfian. default: as in the workload.',
    default: UNSET,
  },
];

/** All factors by name, except `url.<option>`. */
export const FACTORS: ReadonlyMap<string, Factor> = new Map(
  FACTOR_LIST.map((factor) => [factor.name, factor]),
);

const URL_PREFIX = 'url.';

/** The name of the option of a factor `url.<option>`, or null for another factor. */
export function urlOption(name: string): string | null {
  return name.startsWith(URL_PREFIX) ? name.slice(URL_PREFIX.length) : null;
}

/** Options of STORE URLs that other factors set. */
const SET_BY_FACTORS: ReadonlyMap<string, string> = new Map([['rf', 'rf']]);

/**
 * The factor with this name.
 * @throws {Error} with a suggestion
 */
export function factorNamed(name: string): Factor {
  const option = urlOption(name);
  if (option === null) {
    const factor = FACTORS.get(name);
    if (factor !== undefined) return factor;
    throw new Error(`unknown factor${didYouMean(name, [...FACTORS.keys(), 'url.compression'])}`);
  }
  if (!/^[A-Za-z][A-Za-z0-9]{0,40}$/.test(option)) {
    throw new Error('it names no option of a STORE URL, such as url.compression');
  }
  const instead = SET_BY_FACTORS.get(option);
  if (instead !== undefined) throw new Error(`use the factor ${instead}`);
  return {
    name,
    section: 'hard',
    takes: `default, or a value of the option ${option} of the STORE URL`,
    default: UNSET,
    help: 'An option of the STORE URL, such as url.compression. default: as the store has it.',
    parse: (level) => (typeof level === 'boolean' ? String(level) : level),
  };
}

/** Shows a size with the largest unit that keeps it whole: `512MiB`. */
export function showSize(size: number): string {
  const units = [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const;
  const [unit, each] = units.find(([, each]) => size >= each && size % each === 0) ?? ['', 1];
  return `${size / each}${unit}`;
}

/** Whether a level of the factor `workload` is the letter of a YCSB workload. */
export function isWorkloadLetter(level: string): boolean {
  return WORKLOAD_LETTER.test(level);
}

/** Whether a level of the factor `workload` is the name of a property file. */
export function isWorkloadFile(level: string): boolean {
  return !isWorkloadLetter(level) && !WORKLOAD_NAMES.includes(level);
}

/** Whether a level of the factor `store` is a STORE URL. Otherwise it is the name of a store. */
export function isStoreUrl(level: string): boolean {
  return level.includes(':');
}

function whole(
  name: string,
  section: Section,
  min: number,
  max: number,
  preset: number,
  help: string,
): Factor {
  return ofKind({ name, section, kind: integer(min, max), default: preset, help });
}

function choice(name: string, levels: readonly string[], help: string): Factor {
  return ofKind({ name, section: 'easy', kind: oneOf(levels), default: null, help });
}

function ofKind({
  kind,
  ...factor
}: Omit<Factor, 'takes' | 'parse'> & { readonly kind: Kind<Level> }): Factor {
  return { ...factor, takes: kind.takes, parse: (level) => kind.parse(String(level)) };
}

function parseStore(level: Level): Level {
  if (typeof level !== 'string') return fail('it is not a name');
  if (!isStoreUrl(level)) {
    return STORES.includes(level) ? level : fail(`there is no store ${level}${didYouMean(level, STORES)}`);
  }
  const { scheme, password } = parseUrl(level);
  if (scheme === 'null') return fail('the null store keeps no records');
  if (!STORE_SCHEMES.includes(scheme)) {
    return fail(`there is no store ${scheme}:${didYouMean(scheme, STORE_SCHEMES)}`);
  }
  // Levels are part of the results, which are published.
  return password === null || /^\$\{[A-Z][A-Z0-9_]*\}$/.test(password)
    ? level
    : fail(
        'it has a password, which would be in the results: write a variable, such as ' +
          'postgres://user:$' +
          '{PASSWORD}@host/database, and set it in the environment',
      );
}

function parseWorkloadName(level: Level): Level {
  if (typeof level !== 'string' || level === '') return fail('it is not a name');
  if (isWorkloadLetter(level)) return level.toLowerCase();
  if (level.includes('.') || level.includes('/') || WORKLOAD_NAMES.includes(level)) return level;
  const near = didYouMean(level, WORKLOAD_NAMES) || ': a property file has a dot in its name';
  return fail(`there is no workload ${level}${near}`);
}

function fail(problem: string): never {
  throw new Error(problem);
}
