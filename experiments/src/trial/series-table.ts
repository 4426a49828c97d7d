import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { buildK6 } from '@tidegauge/lab/k6';
import { usesApi } from '../drivers.ts';
import type { ApiEndpoint, Deployment, Driver, LoadDocument, SeriesPlan, Study } from '../model.ts';
import { DriverProcess } from './driver-process.ts';
import { loadOf, type TrialSettings } from './trial-workload.ts';

/** A load that is slower, in records per second, counts as failed. */
const SLOWEST_LOAD = 20;
const OPEN_MS = 60_000;
const BASE_MS = 120_000;

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
 * The table of one driver in a series, and its driver program. Its name is that of the driver: a snapshot of its
 * database can then be restored for another series, and a store with one database for all drivers has separate tables.
 */
export class SeriesTable {
  readonly driver: Driver;
  readonly name: string;
  readonly settings: TrialSettings;
  readonly #options: TableOptions;
  #store: string | null = null;
  #api: ApiEndpoint | null = null;
  #process: DriverProcess | null = null;
  #isReady = false;

  constructor(options: TableOptions) {
    this.#options = options;
    this.driver = options.driver;
    this.settings = options.settings;
    this.name = nameOf(options);
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
    this.#process = new DriverProcess(deployment);
    const { name: table, settings, driver } = this;
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
      await snapshots.restore(key, this.name, this.name);
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
      await snapshots.save(key, this.name, this.name);
    }
    return document('loaded', seconds);
  }

  /** The table was written to by a run, or its driver has failed. */
  used(failed: boolean): void {
    if (failed || this.#options.series.state !== 'reuse') this.#isReady = false;
  }

  /** Drops the table and ends the driver program. Never rejects. */
  async close(): Promise<void> {
    const program = this.#process;
    if (program === null) return;
    if (program.running && !this.#options.signal.aborted) {
      await program.request({ command: 'drop' }, BASE_MS).catch(() => {});
    }
    await program.stop().catch(() => {});
  }

  /** Everything that the loaded data depend on. */
  #snapshotKey(): string {
    const { deployment, study } = this.#options;
    const load = {
      versions: deployment.versions,
      store: this.#store,
      table: this.name,
      seed: study.seed,
      ...loadOf(this.settings.workload).facts,
    };
    return createHash('sha256').update(JSON.stringify(load)).digest('hex');
  }
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
