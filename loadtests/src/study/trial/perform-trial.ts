import type { FaultRecord, NodeUsage, RunDocument } from '../model.ts';
import type { RunResult } from './driver-messages.ts';
import type { DriverProcess } from './driver-process.ts';
import { runK6Trial } from './k6-trial.ts';
import type { Measured, Monitor } from './monitor.ts';
import type { NodeFailure } from './node-failure.ts';
import { RecoveryMeter } from './recovery.ts';
import { writeRunFile } from './run-file.ts';
import type { SeriesTable } from './series-table.ts';

/** A run that is slower, in operations per second, is ended: the rest of its operations count as dropped. */
const SLOWEST_RATE = 2;
const BASE_MS = 60_000;
/** How long operations that have started may take after the deadline. Drivers of stores have shorter limits. */
const GRACE_MS = 120_000;
/** How long the driver may take to read a few thousand operations from its file. */
const ROWS_MS = 30_000;

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
  readonly failure: string | null;
  readonly measured: Measured;
  readonly client: NodeUsage | null;
  /** null: there is no complete file. */
  readonly csv: RunDocument['csv'] | null;
  /** null: nothing failed by plan, or the run ended before. */
  readonly fault: FaultRecord | null;
}

export interface PerformOptions {
  readonly seed: number;
  readonly csvPath: string;
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
 * Runs the operations of one trial, writes them to a file and checks the sample of records. A failure of the driver is
 * part of the result. Rejects after an abort, and when the disk is full.
 */
export async function performTrial(
  table: SeriesTable,
  { seed, csvPath, monitor, signal, nodeFailure }: PerformOptions,
): Promise<Performed> {
  if (!table.isReady) throw new TypeError(`the table ${table.name} is not loaded: call load before run`);
  const { operations, rate } = table.settings;
  const deadlineMs = BASE_MS + (operations / Math.min(SLOWEST_RATE, rate ?? SLOWEST_RATE)) * 1000;
  let run: RunResult | null = null;
  let write: () => Promise<NonNullable<Performed['csv']>>;
  let failure: string | null = null;
  const failed = (error: unknown): void => {
    if (signal.aborted) throw signal.reason;
    // No further run can work.
    if (FULL.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    failure ??= (error as Error).message;
  };
  await monitor.start();
  try {
    const spill = spillOf(csvPath);
    if (table.driver === 'k6') {
      const trial = await runK6Trial(table, { seed, csvPath, spill, deadlineMs, signal });
      run = trial.run;
      write = trial.write;
    } else {
      run = await table.program.request(
        {
          ...{ command: 'run', seed, deadlineMs, spill: table.spillFor(spill) },
          ...(nodeFailure === null ? {} : { noticeAt: Math.ceil(operations / 2) }),
        },
        deadlineMs + GRACE_MS,
        signal,
        () => nodeFailure?.begin(),
      );
      write = () => writeRunFile(csvPath, metered(rowsOf(table.program, signal), meter));
    }
  } catch (error) {
    failed(error);
  }
  await monitor.stop();
  await nodeFailure?.settled();
  const times = run === null ? null : (nodeFailure?.times(run.originMs) ?? null);
  const meter = times === null ? null : new RecoveryMeter(times.killed);
  let checked: number | null = null;
  let stale: number | null = null;
  let lost: number | null = null;
  let csv: Performed['csv'] = null;
  let damaged: number | null = null;
  let damagedNote: string | null = null;
  if (run !== null) {
    try {
      csv = await write!();
      const replay = table.driver === 'k6' ? { replay: seed } : {};
      const sample = await table.program.request({ command: 'verify', ...replay }, GRACE_MS, signal);
      damaged = run.damaged + sample.damaged;
      ({ checked, stale, damaged: lost } = sample);
      damagedNote = `${sample.checked} records were checked after the run`;
      if (sample.stale > 0) damagedNote += `, ${sample.stale} of them were stale`;
      if (sample.example !== null) damagedNote += `; ${sample.example}`;
    } catch (error) {
      failed(error);
    }
  }
  const measured = await monitor.measured();
  return {
    started: run?.started ?? null,
    seconds: run?.seconds ?? 0,
    startedOperations: run?.startedOperations ?? 0,
    done: run?.done ?? 0,
    damaged,
    damagedNote: damagedNote ?? 'no record was checked',
    failure,
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
