import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { allLevels } from '../levels.ts';
import type {
  Deployment,
  Driver,
  LoadDocument,
  NodeUsage,
  OpenSeries,
  RunDocument,
  RunRequest,
  SeriesOptions,
  SeriesPlan,
  Study,
} from '../model.ts';
import { energyOf } from './energy.ts';
import { type Measured, Monitor } from './monitor.ts';
import { NodeFailure } from './node-failure.ts';
import { type Performed, performTrial, spillOf } from './perform-trial.ts';
import { writeRunFile } from './run-file.ts';
import { SeriesTable } from './series-table.ts';
import { trialSeed, trialSettings } from './trial-workload.ts';
import { duringFault, judge } from './validity.ts';

/**
 * Opens a series: starts its driver programs and the API. Nothing is loaded yet.
 *
 * @throws {WorkloadError} for a property file with a mistake
 * @throws {Error} when a driver program or the API cannot be started
 */
export async function openSeries(
  deployment: Deployment,
  series: SeriesPlan,
  study: Study,
  options: SeriesOptions,
): Promise<OpenSeries> {
  const { deploymentPlan, seriesAttempt, signal } = options;
  const settings = trialSettings(deploymentPlan.hard, series, study);
  const tables = new Map<Driver, SeriesTable>();
  for (const driver of series.drivers) {
    tables.set(
      driver,
      new SeriesTable({ deployment, series, study, driver, settings, seriesAttempt, signal }),
    );
  }
  const opened = new Series(deployment, series, study, options, tables);
  try {
    for (const table of tables.values()) await table.open();
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

class Series implements OpenSeries {
  readonly #deployment: Deployment;
  readonly #series: SeriesPlan;
  readonly #study: Study;
  readonly #options: SeriesOptions;
  readonly #tables: ReadonlyMap<Driver, SeriesTable>;

  constructor(
    deployment: Deployment,
    series: SeriesPlan,
    study: Study,
    options: SeriesOptions,
    tables: ReadonlyMap<Driver, SeriesTable>,
  ) {
    this.#deployment = deployment;
    this.#series = series;
    this.#study = study;
    this.#options = options;
    this.#tables = tables;
  }

  async load(
    trial: number,
    drivers: readonly Driver[] = this.#series.drivers,
  ): Promise<readonly LoadDocument[]> {
    const documents: LoadDocument[] = [];
    for (const driver of drivers) {
      const document = await this.#table(driver).prepare(trial);
      if (document !== null) documents.push(document);
    }
    return documents;
  }

  async run(request: RunRequest): Promise<RunDocument> {
    const { driver, trial, csvPath } = request;
    const { signal } = this.#options;
    const table = this.#table(driver);
    const started = new Date().toISOString();
    const seed = trialSeed(this.#study, this.#series, trial);
    const monitor = new Monitor(this.#deployment, () => this.#clients());
    const nodeFailure = table.settings.killsNode ? new NodeFailure(this.#deployment, trial) : null;
    let performed: Performed;
    try {
      performed = await performTrial(table, { seed, csvPath, monitor, signal, nodeFailure });
    } finally {
      monitor.cancel();
      // A driver program that was killed leaves it.
      await rm(spillOf(csvPath), { force: true });
    }
    signal.throwIfAborted();
    table.used(performed.failure !== null);
    const csv = performed.csv ?? (await writeRunFile(csvPath, []));
    return this.#document(request, table, { ...performed, csv, seed, started: performed.started ?? started });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#tables.values()].map((table) => table.close()));
  }

  #document(
    { run, driver, trial, attempt, warmup }: RunRequest,
    table: SeriesTable,
    performed: Performed & { csv: RunDocument['csv']; seed: number; started: string },
  ): RunDocument {
    const { seed, started, done, seconds, measured, csv, client } = performed;
    const { deploymentPlan, seriesAttempt, deploymentAttempt } = this.#options;
    const { operations, rate } = table.settings;
    const factors = allLevels(this.#study, deploymentPlan.hard, this.#series.easy, { driver });
    const profile = this.#study.networks[String(factors.network)] ?? null;
    const checks = judge({
      ...performed,
      limits: factors.fault === 'kill-node' ? duringFault(this.#study.valid) : this.#study.valid,
      planned: operations,
      started: performed.startedOperations,
      rows: csv.rows,
      rate,
      profile,
    });
    const nodes: readonly NodeUsage[] = client === null ? measured.nodes : [...measured.nodes, client];
    return {
      format: 1,
      run,
      deployment: deploymentPlan.id,
      series: this.#series.id,
      block: deploymentPlan.block,
      trial,
      attempt,
      seriesAttempt,
      deploymentAttempt,
      warmup,
      driver,
      factors,
      seed,
      started,
      seconds,
      operations,
      done,
      valid: checks.every(({ ok }) => ok),
      checks,
      nodes,
      storedBytes: measured.storedBytes,
      energy: this.#energy(nodes, measured, done),
      ...(performed.fault === null ? {} : { fault: performed.fault }),
      csv,
    };
  }

  #energy(nodes: readonly NodeUsage[], { cores, seconds, joules }: Measured, done: number) {
    return energyOf({
      model: this.#study.energy,
      nodes,
      cores: (node) => cores.get(node) ?? availableParallelism(),
      // The counters are from the time of the monitor, which is a few milliseconds longer than the run.
      seconds,
      done,
      joules,
    });
  }

  #clients(): readonly number[] {
    return [...this.#tables.values()].map(({ pid }) => pid).filter((pid) => pid !== null);
  }

  #table(driver: Driver): SeriesTable {
    const table = this.#tables.get(driver);
    if (table === undefined) throw new TypeError(`the series ${this.#series.id} has no driver ${driver}`);
    return table;
  }
}
