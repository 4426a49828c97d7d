import { shareOf } from '@tidegauge/loadtests/drivers/closed-model';
import { seeded } from '@tidegauge/workload';
import type { FaultRecord, NodeUsage, Pairing, RunDocument } from '../model.ts';
import { shuffled } from '../shuffled.ts';
import { CarryOver } from './carry-over.ts';
import type { RunResult } from './driver-messages.ts';
import type { DriverProcess } from './driver-process.ts';
import { runK6Trial } from './k6-trial.ts';
import type { Measured, Monitor } from './monitor.ts';
import type { NodeFailure } from './node-failure.ts';
import { RecoveryMeter } from './recovery.ts';
import { writeRunFile } from './run-file.ts';
import type { SeriesTable } from './series-table.ts';
import type { TrialSettings } from './trial-workload.ts';

/** A run that is slower, in operations per second, is ended: the rest of its operations count as dropped. */
const SLOWEST_RATE = 2;
const BASE_MS = 60_000;
/** How long operations that have started may take after the deadline. Drivers of stores have shorter limits. */
const GRACE_MS = 120_000;
/** How long the driver may take to read a few thousand operations from its file. */
const ROWS_MS = 30_000;
/**
 * Slices of a run. A run of 5 s has slices of 250 ms: long against the time that a driver needs to begin one, and short
 * against changes of the machine's speed.
 */
const SLICES = 20;

/** Codes of a disk that is full, or of a quota that is used up. */
const FULL = ['ENOSPC', 'EDQUOT'];

export interface Performed {
  /** ISO 8601. null: no operation was started. */
  readonly started: string | null;
  readonly seconds: number;
  readonly startedOperations: number;
  readonly done: number;
  readonly damaged: number | null;
  readonly damagedNote: string | null;
  /** How much longer operations took after the turns of one partner, relative; null: not known. */
  readonly carryOver: number | null;
  readonly carryOverNote: string | null;
  readonly failure: string | null;
  readonly measured: Measured;
  readonly client: NodeUsage | null;
  /** null: there is no complete file. */
  readonly csv: RunDocument['csv'] | null;
  /** null: nothing failed by plan, or the run ended before. */
  readonly fault: FaultRecord | null;
}

/** A run that takes turns with others: a table and the file for its operations. */
export interface RunOnTable {
  readonly table: SeriesTable;
  readonly csvPath: string;
}

export interface RoundOptions {
  readonly seed: number;
  readonly pairing: Pairing;
  readonly monitor: Monitor;
  readonly signal: AbortSignal;
  /** null: no node is killed. */
  readonly nodeFailure: NodeFailure | null;
}

/** The file for operations that do not fit into the memory of the driver. */
export function spillOf(csvPath: string): string {
  return `${csvPath}.spill`;
}

/**
 * Runs the operations of one trial on one or several tables in turns, writes them to files and checks the samples of
 * records. The order within each turn is random, so that the runs are compared in pairs: what changes the speed of the
 * machine changes all of them. A failure of a driver is part of the result, and ends the turns. Rejects after an abort,
 * and when the disk is full.
 *
 * @param runs all have the same threads, length and rate. A run of k6 is alone
 */
export async function performRound(
  runs: readonly RunOnTable[],
  options: RoundOptions,
): Promise<readonly Performed[]> {
  const { monitor, nodeFailure } = options;
  const lanes = runs.map((run) => new Lane(run, options));
  await monitor.start();
  for (const lane of lanes) await lane.begin();
  if (lanes.every(({ failure }) => failure === null)) await takeTurns(lanes, options);
  for (const lane of lanes) await lane.end();
  await monitor.stop();
  await nodeFailure?.settled();
  const performed: Performed[] = [];
  for (const [index, lane] of lanes.entries())
    performed.push(await lane.result(await monitor.measured(index), runs));
  return performed;
}

/** Does all operations: in one turn if a run is alone, else in turns of random order. */
async function takeTurns(lanes: readonly Lane[], { seed, pairing, monitor }: RoundOptions): Promise<void> {
  const { settings } = lanes[0]!;
  const { length } = settings;
  const random = seeded(seed);
  const indexes = [...lanes.keys()];
  const isByOperation = lanes.length > 1 && pairing === 'operation';
  const { turns, partOf } = isByOperation ? byOperation(settings) : bySlice(settings, lanes.length);
  let before: number | null = null;
  const end = performance.now() + (length.seconds ?? Infinity) * 1000 * lanes.length;
  for (let turn = 0; turn < turns; turn += 1) {
    if (isByOperation && performance.now() > end) return;
    for (const index of shuffled(indexes, random)) {
      const lane = lanes[index]!;
      await lane.turn(...partOf(turn), before);
      before = index;
      if (lane.failure !== null) return;
      // Turns of one operation are shorter than the steps of the counters.
      if (!isByOperation) await monitor.lap(index);
    }
  }
}

/** How a run is divided into turns. */
interface Division {
  /** Infinity: until the end of the run. */
  readonly turns: number;
  /** The operations, or the milliseconds, of a turn. Turns count from 0. */
  partOf(turn: number): readonly [operations: number | null, ms: number | null];
}

function byOperation({ length }: TrialSettings): Division {
  return { turns: length.operations ?? Infinity, partOf: () => [1, null] };
}

function bySlice({ length, threads }: TrialSettings, lanes: number): Division {
  const { operations, seconds } = length;
  const slices = Math.max(1, Math.min(SLICES, Math.floor((operations ?? Infinity) / threads)));
  const turns = lanes === 1 ? 1 : slices;
  if (operations === null) {
    const ms = (seconds * 1000) / turns;
    return { turns, partOf: () => [null, ms] };
  }
  return { turns, partOf: (turn) => [shareOf(operations, turns, turn), null] };
}

/** One run in a round. */
class Lane {
  readonly #run: RunOnTable;
  readonly #options: RoundOptions;
  readonly #deadlineMs: number;
  readonly #carryOver = new CarryOver();
  #busyMs = 0;
  #k6: Awaited<ReturnType<typeof runK6Trial>> | null = null;
  #result: RunResult | null = null;
  failure: string | null = null;

  constructor(run: RunOnTable, options: RoundOptions) {
    if (!run.table.isReady) {
      throw new TypeError(`the table ${run.table.table} is not loaded: call load before run`);
    }
    this.#run = run;
    this.#options = options;
    const { length, rate } = run.table.settings;
    const slowest = Math.min(SLOWEST_RATE, rate ?? SLOWEST_RATE);
    this.#deadlineMs = BASE_MS + (length.seconds ?? length.operations / slowest) * 1000;
  }

  get settings(): TrialSettings {
    return this.#run.table.settings;
  }

  async begin(): Promise<void> {
    const { table, csvPath } = this.#run;
    const { seed, signal, nodeFailure } = this.#options;
    if (table.driver === 'k6') return;
    const noticeAt =
      nodeFailure === null ? {} : { noticeAt: Math.ceil(this.settings.length.operations! / 2) };
    const spill = table.spillFor(spillOf(csvPath));
    await this.#trying(async () => {
      await table.program.request({ command: 'begin', seed, spill, ...noticeAt }, GRACE_MS, signal);
    });
  }

  /**
   * @param ms how long operations may be started; null: until the deadline of the run
   * @param before whose turn was before; null: it is the first one
   */
  async turn(operations: number | null, ms: number | null, before: number | null): Promise<void> {
    const { table, csvPath } = this.#run;
    const { seed, signal, nodeFailure } = this.#options;
    const left = Math.max(0, this.#deadlineMs - this.#busyMs);
    const begun = performance.now();
    await this.#trying(async () => {
      if (table.driver === 'k6') {
        const spill = spillOf(csvPath);
        this.#k6 = await runK6Trial(table, { seed, csvPath, spill, deadlineMs: left, signal });
        return;
      }
      const done = await table.program.request(
        { command: 'turn', operations, ms: ms ?? left },
        left + GRACE_MS,
        signal,
        () => nodeFailure?.begin(),
      );
      if (before !== null && done.started > 0) this.#carryOver.add(before, done.ms / done.started);
    });
    this.#busyMs += performance.now() - begun;
  }

  async end(): Promise<void> {
    if (this.failure !== null) return;
    const { table } = this.#run;
    await this.#trying(async () => {
      this.#result =
        this.#k6?.run ?? (await table.program.request({ command: 'end' }, GRACE_MS, this.#options.signal));
    });
  }

  /** Writes the operations and checks the sample of records. @param partners all runs of the round */
  async result(measured: Measured, partners: readonly RunOnTable[]): Promise<Performed> {
    const run = this.#result;
    const { table, csvPath } = this.#run;
    const { seed, signal, nodeFailure } = this.#options;
    const times = run === null ? null : (nodeFailure?.times(run.originMs) ?? null);
    const meter = times === null ? null : new RecoveryMeter(times.killed);
    let checked: number | null = null;
    let stale: number | null = null;
    let lost: number | null = null;
    let csv: Performed['csv'] = null;
    let damaged: number | null = null;
    let damagedNote: string | null = null;
    if (run !== null) {
      await this.#trying(async () => {
        csv =
          this.#k6 === null
            ? await writeRunFile(csvPath, metered(rowsOf(table.program, signal), meter))
            : await this.#k6.write();
        const replay = table.driver === 'k6' ? { replay: seed } : {};
        const sample = await table.program.request({ command: 'verify', ...replay }, GRACE_MS, signal);
        damaged = run.damaged + sample.damaged;
        ({ checked, stale, damaged: lost } = sample);
        damagedNote = `${sample.checked} records were checked after the run`;
        if (sample.stale > 0) damagedNote += `, ${sample.stale} of them were stale`;
        if (sample.example !== null) damagedNote += `; ${sample.example}`;
      });
    }
    return {
      started: run?.started ?? null,
      seconds: run?.seconds ?? 0,
      startedOperations: run?.startedOperations ?? 0,
      done: run?.done ?? 0,
      damaged,
      damagedNote: damagedNote ?? 'no record was checked',
      ...this.#carried(partners),
      failure: this.failure,
      // The processor time of a driver that died is not known, and would count as that of other processes.
      measured: run === null ? { ...measured, foreignCpu: null } : measured,
      client: run === null ? null : clientOf(run),
      csv,
      fault:
        times === null || csv === null
          ? null
          : {
              node: nodeFailure!.node,
              killedSeconds: times.killed,
              restartedSeconds: times.restarted,
              ...meter!.result(),
              checked,
              stale,
              lost,
            },
    };
  }

  #carried(partners: readonly RunOnTable[]): Pick<Performed, 'carryOver' | 'carryOverNote'> {
    const found = this.#carryOver.largest();
    if (found === null) return { carryOver: null, carryOverNote: 'there are too few turns' };
    const { name } = partners[found.after]!.table;
    return { carryOver: found.share, carryOverNote: found.share === 0 ? null : `after the turns of ${name}` };
  }

  /** Does a step. Its failure is that of the run. */
  async #trying(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      const { signal } = this.#options;
      if (signal.aborted) throw signal.reason;
      // No further run can work.
      if (FULL.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      this.failure ??= (error as Error).message;
    }
  }
}

/** Passes rows on, and shows them to a meter. */
async function* metered(rows: AsyncIterable<string>, meter: RecoveryMeter | null): AsyncGenerator<string> {
  for await (const text of rows) {
    meter?.add(text);
    yield text;
  }
}

/** The operations of the last run. The driver can be on another machine, so they are not in a file of this one. */
async function* rowsOf(program: DriverProcess, signal: AbortSignal): AsyncGenerator<string> {
  for (;;) {
    const { text } = await program.request({ command: 'rows' }, ROWS_MS, signal);
    if (text === null) return;
    yield text;
  }
}

function clientOf({ cpuSeconds, memoryBytes }: RunResult): NodeUsage {
  return {
    node: 'client',
    role: 'client',
    cpuSeconds,
    memoryBytes,
    readBytes: null,
    writtenBytes: null,
    receivedBytes: null,
    sentBytes: null,
    source: 'proc',
  };
}
