import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type {
  Combination,
  Deployment,
  Driver,
  OpenRoundFunction,
  Pairing,
  Place,
  Plan,
  RunDocument,
  RunRequest,
  Study,
} from '@tidegauge/experiments/model';
import { RUN_COLUMNS } from '@tidegauge/experiments/model';
import { RecordDriver } from '@tidegauge/loadtests/drivers/record-driver';
import { rawTarget } from '@tidegauge/loadtests/drivers/record-target';
import { loadRaw } from '@tidegauge/loadtests/loading/load-records';
import { openStore, type Store } from '@tidegauge/storage';
import { parseWorkload } from '@tidegauge/workload';

const WORKLOAD = parseWorkload(
  'recordcount=20\nreadproportion=0.5\nupdateproportion=0.5\nfieldcount=2\nfieldlength=10',
  { file: 'small' },
);
const OPERATIONS = 10;

export interface SmallOptions {
  readonly deployments?: number;
  readonly series?: number;
  readonly trials?: number;
  readonly warmup?: number;
  readonly drivers?: readonly Driver[];
  readonly requeue?: number;
  readonly pairing?: Pairing;
}

/** A plan whose deployments are SQLite files. Deployments are `d1`, `d2`, …, and their series `d1s1`, `d1s2`, … */
export function smallPlan(options: SmallOptions = {}): Plan {
  const {
    deployments = 2,
    series = 2,
    trials = 3,
    warmup = 0,
    drivers = ['raw', 'app'],
    requeue = 1,
    pairing = 'none',
  } = options;
  const study: Study = {
    name: 'small',
    title: 'A small study',
    question: null,
    seed: 1,
    quick: false,
    hard: { store: Array.from({ length: deployments }, (_, index) => `sqlite${index + 1}`) },
    easy: { threads: Array.from({ length: series }, (_, index) => index + 1), driver: drivers },
    fixed: {},
    repeat: { deployments: 1, trials, warmup, pairing, paired: [] },
    state: {},
    exclude: [],
    valid: {
      dropped: 0,
      errors: 0,
      damaged: 0,
      target: null,
      throttled: null,
      clockStepMs: null,
      oomKills: null,
      swapBytes: null,
      foreignCpu: null,
      network: null,
      carryOver: null,
    },
    requeue,
    energy: null,
    networks: {},
    analyse: { metrics: ['throughput'], per: [], groups: ['store'], alpha: 0.05, margin: 0.05 },
    figures: [],
    published: [],
  };
  const hash = createHash('sha256').update(JSON.stringify(study)).digest('hex');
  const numbers = (most: number): readonly number[] => Array.from({ length: most }, (_, index) => index + 1);
  return {
    format: 2,
    study,
    hash,
    deployments: numbers(deployments).map((number) => ({
      id: `d${number}`,
      block: 1,
      hard: { store: `sqlite${number}` },
      series: numbers(series).map((each) => ({
        id: `d${number}s${each}`,
        easy: { threads: each },
        drivers,
        state: 'reuse',
        trials,
        warmup,
      })),
    })),
  };
}

/** Places SQLite files in a temporary directory. `up` has the deployments that run. */
export class SmallPlace implements Place {
  readonly name = 'lab';
  readonly up = new Set<string>();
  readonly deployed: string[] = [];
  /** Called before a deployment starts; may throw. */
  readonly before: (hard: Combination) => void;
  versions: Readonly<Record<string, string>> = { sqlite: '3' };

  constructor(before: (hard: Combination) => void = () => {}) {
    this.before = before;
  }

  refuses(): null {
    return null;
  }

  async describe(): Promise<Readonly<Record<string, string>>> {
    return { servers: 'files' };
  }

  async deploy(hard: Combination, _study: Study, signal: AbortSignal): Promise<Deployment> {
    signal.throwIfAborted();
    this.before(hard);
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-small-study-'));
    this.up.add(folder);
    this.deployed.push(String(hard.store));
    return {
      versions: this.versions,
      storeUrl: async (database) => `sqlite:${join(folder, `${database}.db`)}`,
      api: async () => ({ url: 'http://127.0.0.1:9', token: null }),
      command: (program, args) => ({ command: process.execPath, args: [program, ...args] }),
      nodes: () => [],
      storedBytes: async () => null,
      roundTripMs: async () => null,
      snapshots: null,
      stop: async () => {
        this.up.delete(folder);
        rmSync(folder, { recursive: true });
      },
    };
  }

  async stop(): Promise<void> {}
}

/** What a test does with a run: make it invalid, fail, or end the process. */
export type OnRun = (request: RunRequest) => boolean | Promise<boolean>;

/** Does real operations on SQLite, for all drivers directly on the store. `onRun` decides whether a run is valid. */
export function smallRound(onRun: OnRun = () => true): OpenRoundFunction {
  return async (members, study) => {
    const stores = new Map<string, Store>();
    for (const { deployment, series } of members) {
      for (const driver of series.drivers) {
        const name = `${series.id}-${driver}`;
        stores.set(name, await openStore((await deployment.storeUrl(name, series.easy))!));
      }
    }
    const memberOf = (id: string) => members.find(({ series }) => series.id === id)!;
    const run = async (request: RunRequest): Promise<RunDocument> => {
      const valid = await onRun(request);
      const { driver, trial, attempt, warmup, csvPath } = request;
      const { deploymentPlan, series, seriesAttempt, deploymentAttempt } = memberOf(request.series);
      const seed = trial;
      const started = new Date().toISOString();
      const target = rawTarget(stores.get(`${series.id}-${driver}`)!, 'small');
      const block = await new RecordDriver(target, WORKLOAD, { seed, threads: 1 }).run(OPERATIONS);
      const rows = [...block.latencies].flatMap(([operation, latencies]) =>
        latencies.map((ms) => `0,${operation.toUpperCase()},${Math.round(ms * 1000)},OK,0,0,1`),
      );
      const csv = gzipSync(`${RUN_COLUMNS.join(',')}\n${rows.join('\n')}\n`);
      writeFileSync(csvPath, csv, { flag: 'wx' });
      return {
        format: 2,
        run: request.run,
        deployment: deploymentPlan.id,
        series: series.id,
        block: deploymentPlan.block,
        trial,
        attempt,
        seriesAttempt,
        deploymentAttempt,
        warmup,
        driver,
        factors: { ...deploymentPlan.hard, ...series.easy, ...study.fixed, driver },
        seed,
        started,
        seconds: block.seconds,
        operations: OPERATIONS,
        done: block.done,
        valid,
        checks: [{ rule: 'errors', measured: valid ? 0 : 1, limit: 0, unit: 'operations', ok: valid }],
        nodes: [],
        storedBytes: null,
        energy: null,
        csv: { rows: rows.length, sha256: createHash('sha256').update(csv).digest('hex') },
      };
    };
    return {
      async load(runs) {
        if (runs.some(({ trial }) => trial > 1)) return [];
        return Promise.all(
          runs.map(async ({ series, driver, trial }) => {
            await loadRaw(stores.get(`${series}-${driver}`)!, 'small', WORKLOAD, 1);
            const { seriesAttempt } = memberOf(series);
            const load = { records: 20, seconds: 0.1, how: 'loaded' } as const;
            return { format: 1 as const, series, seriesAttempt, trial, driver, ...load };
          }),
        );
      },
      async run(requests) {
        const documents: RunDocument[] = [];
        for (const request of requests) documents.push(await run(request));
        return documents;
      },
      async close() {
        for (const store of stores.values()) await store.close();
      },
    };
  };
}
