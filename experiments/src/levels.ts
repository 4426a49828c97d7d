import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DeviceOperationType } from '@tidegauge/loadtests/operations/plan';
import { QUERIES, type QueryName } from '@tidegauge/loadtests/operations/read-load';
import { parseUrl } from '@tidegauge/storage';
import { parseWorkload, type RecordWorkload } from '@tidegauge/workload';
import {
  DEVICE_WORKLOADS,
  isStoreUrl,
  isWorkloadLetter,
  NONE,
  ONE_EACH,
  secondsOf,
  UNSET,
} from './file/factors.ts';
import type { Combination, Driver, Level, SeriesPlan, Study } from './model.ts';
import type { OperationType } from './operation-names.ts';

/** The levels of all factors: those that are fixed, and those of a combination. */
export function allLevels(
  study: Pick<Study, 'fixed'>,
  ...combinations: readonly (Combination | { readonly driver: Driver })[]
): Combination {
  return Object.assign({}, study.fixed, ...combinations);
}

/** Whether a node is killed in the runs of a series. */
export function hasFault(study: Pick<Study, 'fixed'>, easy: Combination): boolean {
  const { fault = NONE } = allLevels(study, easy);
  return fault !== NONE;
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

/** What the trials of a series do. Plain data: it goes to the driver program. */
export type StudyWorkload = RecordsWorkload | DevicesWorkload | QueriesWorkload;

interface Mixed {
  /** Shares of the operations; they add up to 1. */
  readonly mix: Readonly<Partial<Record<OperationType, number>>>;
}

/** Operations of YCSB on a table of records. */
export interface RecordsWorkload extends Mixed {
  readonly set: 'records';
  readonly records: RecordWorkload;
}

/** One operation on the register of devices. */
export interface DevicesWorkload extends Mixed {
  readonly set: 'devices';
  readonly operation: DeviceOperationType;
  /** Devices in the register. */
  readonly devices: number;
}

/** One query over the readings of all devices. */
export interface QueriesWorkload extends Mixed {
  readonly set: 'queries';
  readonly query: QueryName;
  /** Readings of 100 % of the volume. */
  readonly size: number;
  /** Percent of the readings that are loaded. */
  readonly volume: number;
}

/** Whether other series of a deployment use the tables of a series as it leaves them. */
export function sharesTables({ state }: Pick<SeriesPlan, 'state'>, { set }: StudyWorkload): boolean {
  return state === 'reuse' && set === 'records';
}

/** The end of a run: after so many operations of all threads together, or after a time. */
export type RunLength =
  | { readonly operations: number; readonly seconds: null }
  | { readonly operations: null; readonly seconds: number };

/** The length of one run. */
export function runLength({ operations, threads }: Combination): RunLength {
  const seconds = secondsOf(operations!);
  if (seconds !== null) return { operations: null, seconds };
  return { operations: Number(operations === ONE_EACH ? threads : operations), seconds: null };
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
): StudyWorkload {
  const operation = DEVICE_WORKLOADS[String(levels.workload)];
  if (operation !== undefined) {
    return { set: 'devices', mix: { [operation]: 1 }, operation, devices: Number(levels.records) };
  }
  const query = QUERIES.find((name) => name === levels.workload);
  if (query !== undefined) {
    return {
      set: 'queries',
      mix: { query: 1 },
      query,
      size: Number(levels.records),
      volume: Number(levels.volume),
    };
  }
  const records = recordWorkloadOf(study, levels, overrides);
  return { set: 'records', mix: records.mix, records };
}

/** Whether runs of a workload change the number of records. */
export function growsTable({ mix }: Pick<StudyWorkload, 'mix'>): boolean {
  return (mix.insert ?? 0) > 0;
}

function recordWorkloadOf(
  study: Pick<Study, 'files'>,
  levels: Combination,
  overrides: Readonly<Record<string, string>>,
): RecordWorkload {
  const name = String(levels.workload);
  const text = isWorkloadLetter(name) ? ownWorkload(name) : study.files?.[name];
  if (text === undefined) throw new TypeError(`the study does not have the text of ${name}`);
  return parseWorkload(text, {
    file: isWorkloadLetter(name) ? `workload${name}` : name,
    overrides: {
      recordcount: String(levels.records),
      // YCSB has space for so many inserts. A run with a duration has as many as there are records, at most.
      operationcount: String(runLength(levels).operations ?? levels.records),
      fieldcount: String(levels.fields),
      fieldlength: String(levels.length),
      ...(levels.distribution === UNSET ? {} : { requestdistribution: String(levels.distribution) }),
      ...overrides,
    },
  });
}

function ownWorkload(letter: string): string {
  return readFileSync(
    fileURLToPath(import.meta.resolve(`@tidegauge/workload/workloads/workload${letter}`)),
    'utf8',
  );
}
