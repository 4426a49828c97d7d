import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { allLevels } from '../levels.ts';
import type {
  Check,
  LoadDocument,
  NodeUsage,
  OpenRound,
  RoundMember,
  RunDocument,
  RunRequest,
  Study,
} from '../model.ts';
import { energyOf } from './energy.ts';
import { type Measured, Monitor } from './monitor.ts';
import { NodeFailure } from './node-failure.ts';
import { type Performed, performRound, spillOf } from './perform-round.ts';
import { writeRunFile } from './run-file.ts';
import { endWaiting, hasWaiting, SeriesTable } from './series-table.ts';
import { trialSeed, trialSettings } from './trial-workload.ts';
import { duringFault, judge } from './validity.ts';

/**
 * Opens the series of a round: starts their driver programs and APIs. Nothing is loaded yet.
 *
 * @throws {WorkloadError} for a property file with a mistake
 * @throws {Error} when a driver program or an API cannot be started
 */
export async function openRound(
  members: readonly RoundMember[],
  study: Study,
  signal: AbortSignal,
): Promise<OpenRound> {
  const lanes = new Map<string, Lane>();
  for (const member of members) {
    const { deployment, deploymentPlan, series, seriesAttempt } = member;
    const settings = trialSettings(deploymentPlan.hard, series, study);
    for (const driver of series.drivers) {
      const table = new SeriesTable({ deployment, series, study, driver, settings, seriesAttempt, signal });
      lanes.set(keyOf({ series: series.id, driver }), { member, table });
    }
  }
  const opened = new Round(lanes, study, signal);
  try {
    for (const { table } of lanes.values()) await table.open();
    return opened;
  } catch (error) {
    await opened.close(true);
    throw error;
  }
}

/** A driver of a series. */
interface Lane {
  readonly member: RoundMember;
  readonly table: SeriesTable;
}

class Round implements OpenRound {
  readonly #lanes: ReadonlyMap<string, Lane>;
  readonly #study: Study;
  readonly #signal: AbortSignal;

  constructor(lanes: ReadonlyMap<string, Lane>, study: Study, signal: AbortSignal) {
    this.#lanes = lanes;
    this.#study = study;
    this.#signal = signal;
  }

  async load(runs: Parameters<OpenRound['load']>[0]): Promise<readonly LoadDocument[]> {
    const documents: LoadDocument[] = [];
    for (const run of runs) {
      const document = await this.#lane(run).table.prepare(run.trial);
      if (document !== null) documents.push(document);
    }
    return documents;
  }

  async run(requests: readonly RunRequest[]): Promise<readonly RunDocument[]> {
    const signal = this.#signal;
    const study = this.#study;
    const runs = requests.map((request) => ({ request, ...this.#lane(request) }));
    const [{ member, table, request }] = runs as [(typeof runs)[number]];
    const started = new Date().toISOString();
    const seed = trialSeed(study, member.series, request.trial);
    const nodeFailure = table.settings.killsNode ? new NodeFailure(member.deployment, request.trial) : null;
    const monitor = new Monitor(
      runs.map((run) => run.member.deployment),
      () => this.#clients(),
    );
    const tables = runs.map((run) => ({ table: run.table, csvPath: run.request.csvPath }));
    let performed: readonly Performed[];
    try {
      const { pairing } = study.repeat;
      performed = await performRound(tables, { seed, pairing, monitor, signal, nodeFailure });
    } finally {
      monitor.cancel();
      // A driver program that was killed leaves it.
      for (const { csvPath } of tables) await rm(spillOf(csvPath), { force: true });
    }
    signal.throwIfAborted();
    const documents: RunDocument[] = [];
    for (const [index, run] of runs.entries()) {
      const result = performed[index]!;
      run.table.used(result.failure !== null, (result.damaged ?? 0) > 0);
      const csv = result.csv ?? (await writeRunFile(run.request.csvPath, []));
      documents.push(this.#document(run, { ...result, csv, seed, started: result.started ?? started }));
    }
    return withPartners(documents);
  }

  async close(isLast: boolean): Promise<void> {
    await Promise.all([...this.#lanes.values()].map(({ table }) => table.close(isLast)));
    if (!isLast) return;
    const deployments = new Set([...this.#lanes.values()].map(({ member }) => member.deployment));
    for (const deployment of deployments) await endWaiting(deployment, !this.#signal.aborted);
  }

  #document(
    { request, member, table }: Lane & { readonly request: RunRequest },
    performed: Performed & { csv: RunDocument['csv']; seed: number; started: string },
  ): RunDocument {
    const { run, driver, trial, attempt, warmup } = request;
    const { seed, started, done, seconds, measured, csv, client } = performed;
    const { deploymentPlan, series, seriesAttempt, deploymentAttempt } = member;
    const { length, rate } = table.settings;
    const operations = length.operations ?? performed.startedOperations;
    const factors = allLevels(this.#study, deploymentPlan.hard, series.easy, { driver });
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
      format: 2,
      run,
      deployment: deploymentPlan.id,
      series: series.id,
      ...(series.round === undefined ? {} : { round: series.round }),
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
      // Those of other tables are not of these records.
      storedBytes: hasWaiting(member.deployment) ? null : measured.storedBytes,
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
    return [...this.#lanes.values()].map(({ table }) => table.pid).filter((pid) => pid !== null);
  }

  #lane(run: Pick<RunRequest, 'series' | 'driver'>): Lane {
    const lane = this.#lanes.get(keyOf(run));
    if (lane === undefined) throw new TypeError(`the round has no driver ${run.driver} of ${run.series}`);
    return lane;
  }
}

function keyOf({ series, driver }: Pick<RunRequest, 'series' | 'driver'>): string {
  return `${series} ${driver}`;
}

/** Runs that took turns are compared in pairs, so they are valid together. */
function withPartners(documents: readonly RunDocument[]): readonly RunDocument[] {
  if (documents.length === 1) return documents;
  return documents.map((document) => {
    const invalid = documents.filter((other) => other !== document && !other.valid);
    const check: Check = {
      rule: 'partners',
      measured: invalid.length,
      limit: 0,
      unit: 'invalid runs',
      ok: invalid.length === 0,
      ...(invalid.length === 0 ? {} : { note: `not valid: ${invalid.map(({ run }) => run).join(', ')}` }),
    };
    return { ...document, valid: document.valid && check.ok, checks: [...document.checks, check] };
  });
}
