import { YEARS } from '@tidegauge/loadtests/operations/fleet';
import { type QueryName, ReadLoad } from '@tidegauge/loadtests/operations/read-load';
import { allLevels, runLength, type StudyWorkload, schemeOf, sharesTables, workloadOf } from './levels.ts';
import type {
  Combination,
  DeploymentPlan,
  Driver,
  LoadDocument,
  Plan,
  RunDocument,
  SeriesPlan,
  Study,
} from './model.ts';
import { warmUpRuns } from './plan.ts';

/** What earlier results measured. */
export interface History {
  readonly runs: readonly Pick<RunDocument, 'factors' | 'seconds' | 'operations'>[];
  /** Loads of tables, with the levels of all factors of their series. */
  readonly loads?: readonly (Pick<LoadDocument, 'records' | 'seconds' | 'how'> & {
    readonly factors: Combination;
  })[];
}

/** The expected time and disk of a plan. */
export interface Estimate {
  readonly seconds: number;
  /** Bytes of the archive, and of the largest store while it is deployed. */
  readonly bytes: number;
  readonly archiveBytes: number;
  readonly storeBytes: number;
  /** By the id of the deployment. */
  readonly deployments: ReadonlyMap<string, number>;
  /** Share of the runs whose time is from earlier results of the same levels, 0 to 1. */
  readonly measured: number;
}

/** Rates without earlier results, measured on two slow cores: orders of magnitude. */
interface Rates {
  /** Start and stop of a deployment. */
  readonly startSeconds: number;
  readonly secondsPerNode: number;
  /** Reads per second of one thread, directly. */
  readonly reads: number;
  /** Durable writes per second of one thread, directly. */
  readonly writes: number;
  readonly loadedPerSecond: number;
}

const RATES: Readonly<Record<string, Rates>> = {
  sqlite: { startSeconds: 2, secondsPerNode: 0, reads: 10_000, writes: 300, loadedPerSecond: 20_000 },
  json: { startSeconds: 2, secondsPerNode: 0, reads: 10_000, writes: 300, loadedPerSecond: 20_000 },
  postgres: { startSeconds: 5, secondsPerNode: 3, reads: 1000, writes: 400, loadedPerSecond: 20_000 },
  mariadb: { startSeconds: 10, secondsPerNode: 5, reads: 1000, writes: 400, loadedPerSecond: 15_000 },
  mongodb: { startSeconds: 10, secondsPerNode: 5, reads: 700, writes: 400, loadedPerSecond: 10_000 },
};
const OTHER: Rates = {
  startSeconds: 15,
  secondsPerNode: 4,
  reads: 500,
  writes: 400,
  loadedPerSecond: 1500,
};

/** Seconds that a driver adds to each operation. */
const DRIVER_SECONDS: Readonly<Record<Driver, number>> = {
  raw: 0,
  'raw-again': 0,
  app: 0.001,
  k6: 0.0015,
  'raw-connect': 0.02,
  'app-connect': 0.002,
  published: 0.05,
};
/** Seconds that each device adds to an operation on all devices of a year. */
const DEVICE_READ_SECONDS = 10e-6;
const DEVICE_WRITE_SECONDS = 50e-6;
/** Bytes of a device in the register. */
const DEVICE_BYTES = 150;
/** Bytes of a reading, as a multiple of which a store keeps keys and indexes too. */
const READING_BYTES = 60;
/** Seconds that each loaded reading adds to a query: over all devices, and from tables of totals or of one device. */
const SCANNED_SECONDS = 2e-6;
const FOUND_SECONDS = 0.05e-6;
const SCANNING: readonly QueryName[] = ['q5', 'q6', 'q7', 'q8', 'q9'];
/** Stores whose totals answer queries by day and by metric. */
const WITH_TOTALS: readonly string[] = ['cassandra', 'hbase'];
const FROM_TOTALS: readonly QueryName[] = ['q7', 'q8', 'q9'];
/** Threads beyond this number do not raise the rate of two cores. */
const USEFUL_THREADS = 4;
/** Starting, checking and archiving a run. Measured: 0.2 s on a quiet machine, 0.8 s on boards of a busy one. */
const SECONDS_PER_RUN = 0.5;
/** Starting the drivers of a series, and its API. */
const SECONDS_PER_SERIES = 4;
/** Compressed bytes of an operation in the archive. */
const BYTES_PER_OPERATION = 9;
/** A read-modify-write has three rows. */
const ROWS_PER_READ_MODIFY_WRITE = 3;
const BYTES_PER_RUN = 8192;
/** A store's bytes as a multiple of its fields: keys, indexes, logs and versions. */
const STORE_FACTOR = 2.5;

/** Estimates time and disk from earlier runs of the same levels, and else from typical rates. */
export function estimate(plan: Plan, history: History = { runs: [] }): Estimate {
  const { study } = plan;
  const known = new Known(history);
  const deployments = new Map<string, number>();
  let archiveBytes = 0;
  let storeBytes = 0;
  let planned = 0;
  let measured = 0;
  for (const deployment of plan.deployments) {
    const { startSeconds, secondsPerNode } = ratesOf(study, deployment);
    const { nodes } = allLevels(study, deployment.hard);
    let seconds = startSeconds + secondsPerNode * Number(nodes);
    let largest = 0;
    let shared = 0;
    const loaded = new Set<string>();
    for (const [index, series] of deployment.series.entries()) {
      const runs = series.trials - 1 + warmUpRuns(study, series, index === 0);
      const cost = costOf(study, deployment, series, runs, known, loaded);
      seconds += cost.seconds;
      archiveBytes += cost.archiveBytes;
      if (cost.isKept) shared += cost.storeBytes;
      else largest = Math.max(largest, cost.storeBytes);
      planned += series.drivers.length;
      measured += cost.measured;
    }
    storeBytes = Math.max(storeBytes, shared + largest);
    deployments.set(deployment.id, seconds);
  }
  return {
    seconds: [...deployments.values()].reduce((sum, seconds) => sum + seconds, 0),
    bytes: Math.ceil(archiveBytes + storeBytes),
    archiveBytes: Math.ceil(archiveBytes),
    storeBytes: Math.ceil(storeBytes),
    deployments,
    measured: planned === 0 ? 0 : measured / planned,
  };
}

/** Factors of which each level has a table. */
const OF_TABLE = new Set(['records', 'fields', 'length', 'consistency', 'fault']);

interface Cost {
  readonly seconds: number;
  readonly archiveBytes: number;
  /** Those of the tables that it loads. */
  readonly storeBytes: number;
  /** Whether these tables stay for other series. */
  readonly isKept: boolean;
  /** Drivers whose time is from earlier results. */
  readonly measured: number;
}

/**
 * @param runs of each driver, with repeated warm-up
 * @param shared data that all series of the deployment share, and that are loaded; what the series loads is added
 */
function costOf(
  study: Study,
  deployment: DeploymentPlan,
  series: SeriesPlan,
  runs: number,
  known: Known,
  shared: Set<string>,
): Cost {
  const levels = allLevels(study, deployment.hard, series.easy);
  const workload = workloadOf(study, levels);
  const { mix } = workload;
  const rates = ratesOf(study, deployment);
  const { drivers, state } = series;
  const length = runLength(levels);
  const records = recordsOf(levels, workload);
  const loaders = loadersOf(series, workload, levels, shared);
  const loads = state === 'reuse' ? 1 : runs;
  let seconds = SECONDS_PER_SERIES;
  let measured = 0;
  let operations = 0;
  for (const driver of drivers) {
    const factors = { ...levels, driver };
    const rate = known.rateOf(factors) ?? typicalRate(levels, workload, driver, rates);
    if (known.rateOf(factors) !== null || length.seconds !== null) measured += 1;
    const perRun = length.operations ?? rate * length.seconds;
    operations = Math.max(operations, perRun);
    seconds += runs * (perRun / rate + SECONDS_PER_RUN);
    if (!loaders.includes(driver)) continue;
    const loaded = known.loadRateOf(factors) ?? rates.loadedPerSecond;
    seconds += (loads * records) / loaded;
  }
  const rows = 1 + (ROWS_PER_READ_MODIFY_WRITE - 1) * (mix.readModifyWrite ?? 0);
  const inserted = (mix.insert ?? 0) * operations * (state === 'reuse' ? runs : 1);
  const record = bytesOfRecord(levels, workload);
  const tables = workload.set === 'queries' ? 1 : loaders.length;
  const copies = Number(levels.rf) * (state === 'restore' ? 2 : 1);
  return {
    seconds,
    archiveBytes: drivers.length * runs * (operations * rows * BYTES_PER_OPERATION + BYTES_PER_RUN),
    storeBytes: tables * (records + inserted) * record * copies * STORE_FACTOR,
    isKept: sharesTables(series, workload),
    measured,
  };
}

/** Drivers that load a table: all, or those that need data that no earlier series of the deployment has left to them. */
function loadersOf(
  series: SeriesPlan,
  workload: StudyWorkload,
  levels: Combination,
  shared: Set<string>,
): readonly Driver[] {
  const isNew = (name: string): boolean => {
    const isThere = shared.has(name);
    shared.add(name);
    return !isThere;
  };
  const { drivers } = series;
  if (workload.set === 'queries')
    return isNew(`${workload.size} ${workload.volume}`) ? drivers.slice(0, 1) : [];
  if (!sharesTables(series, workload)) return drivers;
  const isOfTable = ([name]: [string, unknown]): boolean => OF_TABLE.has(name) || name.startsWith('url.');
  const table = JSON.stringify(Object.entries(levels).filter(isOfTable));
  return drivers.filter((driver) => isNew(`${driver} ${table}`));
}

function recordsOf({ records }: Combination, workload: StudyWorkload): number {
  if (workload.set !== 'queries') return Number(records);
  return new ReadLoad(workload.size, workload.volume).readings;
}

function bytesOfRecord({ fields, length }: Combination, { set }: StudyWorkload): number {
  if (set === 'records') return Number(fields) * Number(length);
  return set === 'devices' ? DEVICE_BYTES : READING_BYTES;
}

function typicalRate(
  { store, threads, target, records }: Combination,
  workload: StudyWorkload,
  driver: Driver,
  { reads, writes }: Rates,
): number {
  if (workload.set === 'queries') {
    const { query, size, volume } = workload;
    const isFound =
      !SCANNING.includes(query) || (WITH_TOTALS.includes(schemeOf(store!)) && FROM_TOTALS.includes(query));
    const each = (isFound ? FOUND_SECONDS : SCANNED_SECONDS) * ((size * volume) / 100);
    return Math.min(Number(threads), USEFUL_THREADS) / (1 / reads + each + DRIVER_SECONDS[driver]);
  }
  const { mix } = workload;
  const { read = 0, scan = 0, update = 0, insert = 0, readModifyWrite = 0 } = mix;
  const { selectOne = 0, selectSome = 0, updateSome = 0 } = mix;
  const readShare = read + scan + readModifyWrite + selectOne + selectSome;
  const writeShare = update + insert + readModifyWrite + updateSome;
  const devices = Number(records) / YEARS;
  const some = devices * (selectSome * DEVICE_READ_SECONDS + updateSome * DEVICE_WRITE_SECONDS);
  const seconds = readShare / reads + writeShare / writes + some + DRIVER_SECONDS[driver];
  const possible = Math.min(Number(threads), USEFUL_THREADS) / seconds;
  return Number(target) > 0 ? Math.min(possible, Number(target)) : possible;
}

function ratesOf(study: Study, { hard }: DeploymentPlan): Rates {
  return RATES[schemeOf(allLevels(study, hard).store!)] ?? OTHER;
}

/** Rates of earlier results, by the levels of all factors except counts: a quick run predicts a full one. */
class Known {
  readonly #runs = new Map<string, { seconds: number; count: number }>();
  readonly #loads = new Map<string, { seconds: number; count: number }>();

  constructor({ runs, loads = [] }: History) {
    for (const { factors, seconds, operations } of runs) add(this.#runs, factors, seconds, operations);
    for (const { factors, seconds, records } of loads) add(this.#loads, factors, seconds, records);
  }

  /** Operations per second. */
  rateOf(factors: Combination): number | null {
    return rate(this.#runs.get(keyOf(factors)));
  }

  /** Records per second. */
  loadRateOf(factors: Combination): number | null {
    return rate(this.#loads.get(keyOf(factors)));
  }
}

function add(
  sums: Map<string, { seconds: number; count: number }>,
  factors: Combination,
  seconds: number,
  count: number,
): void {
  const sum = sums.get(keyOf(factors)) ?? { seconds: 0, count: 0 };
  sums.set(keyOf(factors), { seconds: sum.seconds + seconds, count: sum.count + count });
}

function rate(sum: { seconds: number; count: number } | undefined): number | null {
  return sum === undefined || sum.seconds <= 0 || sum.count <= 0 ? null : sum.count / sum.seconds;
}

function keyOf({ records: _records, operations: _operations, ...factors }: Combination): string {
  return JSON.stringify(Object.entries(factors).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
