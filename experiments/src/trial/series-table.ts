import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { buildK6 } from '@tidegauge/lab/k6';
import { usesApi } from '../drivers.ts';
import { sharesTables } from '../levels.ts';
import type { ApiEndpoint, Deployment, Driver, LoadDocument, SeriesPlan, Study } from '../model.ts';
import { DriverProcess } from './driver-process.ts';
import { loadOf, type TrialSettings } from './trial-workload.ts';

/** A load that is slower, in records per second, counts as failed. */
const SLOWEST_LOAD = 20;
const OPEN_MS = 60_000;
const BASE_MS = 120_000;
/** Loaded tables that wait for another series, of a deployment. Each has a driver program, of 60 MiB or so. */
const MOST_WAITING = 16;

/** The driver programs of loaded tables that a series has left, by `#key`, the one that was left last at the end. */
const waiting = new WeakMap<Deployment, Map<string, DriverProcess>>();

export interface TableOptions {
  readonly deployment: Deployment;
  readonly series: SeriesPlan;
  readonly study: Study;
  readonly driver: Driver;
  readonly settings: TrialSettings;
  readonly seriesAttempt: number;
  readonly signal: AbortSignal;
}

/**
 * The table of one driver in a series, and its driver program. Its database has the name of the driver: a snapshot of it
 * can then be restored for another series, and a store with one database for all drivers has separate tables. A table of
 * records that is used as it is left (`reuse`) is that of all series of a deployment with the same records: otherwise, loads
 * take a third of the time of a study.
 */
export class SeriesTable {
  readonly driver: Driver;
  /** The name of the database. */
  readonly name: string;
  /** The name of the table in it. */
  readonly table: string;
  readonly settings: TrialSettings;
  readonly #options: TableOptions;
  #store: string | null = null;
  #api: ApiEndpoint | null = null;
  #process: DriverProcess | null = null;
  #isReady = false;
  #isDamaged = false;
  /** Whether other series of the deployment use the table as this one leaves it. */
  readonly #isShared: boolean;

  constructor(options: TableOptions) {
    this.#options = options;
    this.driver = options.driver;
    this.settings = options.settings;
    this.name = nameOf(options);
    this.#isShared = sharesTables(options.series, options.settings.workload);
    this.table = this.#isShared ? `${this.name}_${digestOf(this.#load()).slice(0, 8)}` : this.name;
  }

  /** Whether the table is loaded, and all writes to it have passed through the driver program that runs now. */
  get isReady(): boolean {
    return this.#isReady && this.#process?.running === true;
  }

  get api(): ApiEndpoint | null {
    return this.#api;
  }

  get pid(): number | null {
    return this.#process?.running ? this.#process.pid : null;
  }

  /** The path for a temporary file of the driver program. @param here a path that it has if it runs on this machine */
  spillFor(here: string): string {
    const { scratch } = this.#options.deployment;
    return scratch === undefined ? here : join(scratch, basename(here));
  }

  /** The driver program. */
  get program(): DriverProcess {
    if (this.#process === null) throw new TypeError('the table is not open');
    return this.#process;
  }

  /** Starts the API, if the driver uses it, and the driver program. */
  async open(): Promise<void> {
    const { deployment, series, study, signal } = this.#options;
    // The first build takes minutes, which must not be part of a run.
    if (this.driver === 'k6') await buildK6();
    this.#store = await deployment.storeUrl(this.name, series.easy);
    const isThroughApi = usesApi(this.driver);
    if (!isThroughApi && this.#store === null)
      throw new Error(`the driver ${this.driver} needs a STORE URL, and this place has none: use app or k6`);
    if (isThroughApi) this.#api = await deployment.api(this.#store);
    signal.throwIfAborted();
    if (this.#process?.running) return;
    this.#isReady = false;
    const { table, settings, driver } = this;
    const left = this.#takeWaiting();
    if (left !== null) {
      this.#process = left;
      await left.request({ command: 'use', settings }, OPEN_MS, signal);
      this.#isReady = true;
      return;
    }
    deployment.tableMade?.(table);
    this.#process = new DriverProcess(deployment);
    await this.#process.request(
      {
        command: 'open',
        driver,
        settings,
        table,
        seed: study.seed,
        store: this.#store,
        api: this.#nearApi(),
      },
      OPEN_MS,
      signal,
    );
  }

  /** How the driver program reaches the API. */
  #nearApi(): { readonly url: string; readonly token: string | null } | null {
    if (this.#api === null) return null;
    const { url, near = url, token } = this.#api;
    return { url: near, token };
  }

  /** Prepares the table for a trial. null: it is used as it is. */
  async prepare(trial: number): Promise<LoadDocument | null> {
    const { deployment, series, seriesAttempt, signal } = this.#options;
    if (series.state === 'reuse' && this.isReady) return null;
    await this.open();
    const snapshots = series.state === 'restore' ? deployment.snapshots : null;
    const key = this.#snapshotKey();
    const { records } = loadOf(this.settings.workload);
    const timeout = BASE_MS + (records / SLOWEST_LOAD) * 1000;
    const document = (how: LoadDocument['how'], seconds: number): LoadDocument => {
      this.#isReady = true;
      return {
        format: 1,
        series: series.id,
        seriesAttempt,
        trial,
        driver: this.driver,
        records,
        seconds,
        how,
      };
    };
    if (snapshots !== null && (await snapshots.has(key))) {
      await this.program.request({ command: 'disconnect' }, BASE_MS, signal);
      const begun = performance.now();
      await snapshots.restore(key, this.name, this.table);
      const seconds = (performance.now() - begun) / 1000;
      await this.program.request({ command: 'restored' }, BASE_MS, signal);
      return document('restored', seconds);
    }
    const { seconds } = await this.program.request({ command: 'load' }, timeout, signal);
    if (seconds === null) {
      this.#isReady = true;
      return null;
    }
    if (snapshots !== null) {
      await this.program.request({ command: 'disconnect' }, BASE_MS, signal);
      await snapshots.save(key, this.name, this.table);
    }
    return document('loaded', seconds);
  }

  /** The table was written to by a run, or its driver has failed. `isDamaged`: the run found wrong values. */
  used(failed: boolean, isDamaged: boolean): void {
    if (failed || this.#options.series.state !== 'reuse') this.#isReady = false;
    this.#isDamaged ||= isDamaged;
  }

  /**
   * Drops the table and ends the driver program, or leaves both to another series. Never rejects.
   *
   * @param isLast no other series follows
   */
  async close(isLast: boolean): Promise<void> {
    const { deployment, signal } = this.#options;
    const program = this.#process;
    if (program === null) return;
    if (isLast || !this.#isShared || !this.isReady || this.#isDamaged) return end(program, !signal.aborted);
    try {
      await program.request({ command: 'disconnect' }, BASE_MS, signal);
    } catch {
      return end(program, false);
    }
    const all = waiting.get(deployment) ?? new Map<string, DriverProcess>();
    waiting.set(deployment, all);
    all.set(this.#key(), program);
    const [oldest] = all.keys();
    if (all.size > MOST_WAITING) await end(this.#take(oldest!)!, true);
  }

  /** The driver program of a table with the data of this one, which another series has left. */
  #takeWaiting(): DriverProcess | null {
    const program = this.#isShared ? this.#take(this.#key()) : null;
    return program?.running ? program : null;
  }

  #take(key: string): DriverProcess | null {
    const all = waiting.get(this.#options.deployment);
    const program = all?.get(key) ?? null;
    all?.delete(key);
    return program;
  }

  /** What a driver program keeps from series to series. */
  #key(): string {
    const { driver, table, settings } = this;
    return JSON.stringify([driver, table, settings.killsNode, this.#store, this.#nearApi()]);
  }

  /** Everything that the loaded data depend on, except the store. */
  #load(): object {
    return { seed: this.#options.study.seed, ...loadOf(this.settings.workload).facts };
  }

  #snapshotKey(): string {
    const { versions } = this.#options.deployment;
    return digestOf({ versions, store: this.#store, table: this.table, ...this.#load() });
  }
}

/** Whether a deployment has tables that wait for another series. */
export function hasWaiting(deployment: Deployment): boolean {
  return (waiting.get(deployment)?.size ?? 0) > 0;
}

/** Ends the tables of a deployment that wait for another series. */
export async function endWaiting(deployment: Deployment, drops: boolean): Promise<void> {
  const all = waiting.get(deployment);
  waiting.delete(deployment);
  await Promise.all([...(all?.values() ?? [])].map((program) => end(program, drops)));
}

async function end(program: DriverProcess, drops: boolean): Promise<void> {
  if (program.running && drops) await program.request({ command: 'drop' }, BASE_MS).catch(() => {});
  await program.stop().catch(() => {});
}

function digestOf(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/**
 * Registers and readings stay until the deployment stops, so each size has its own database. Queries change nothing, so
 * all drivers read the same readings.
 */
function nameOf({ driver, series, study, settings: { workload } }: TableOptions): string {
  if (workload.set === 'queries') return `study_readings_${workload.size}_${workload.volume}`;
  const suffix = workload.set === 'devices' ? `_${workload.devices}` : '';
  // Series that take turns on one deployment have their tables at the same time.
  const levels = series.round === undefined ? [] : study.repeat.paired.map((name) => series.easy[name]);
  const own = levels.filter((level) => level !== undefined).map((level) => `_${plainName(String(level))}`);
  return `study_${driver.replace('-', '_')}${suffix}${own.join('')}`;
}

function plainName(level: string): string {
  return level.toLowerCase().replace(/[^a-z0-9]+/g, '');
}
