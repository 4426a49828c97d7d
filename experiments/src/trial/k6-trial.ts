import { rm } from 'node:fs/promises';
import { buildK6 } from '@tidegauge/lab/k6';
import { runK6 } from '@tidegauge/loadtests/drivers/run-k6';
import type { Plan } from '@tidegauge/loadtests/operations/plan';
import type { RunDocument } from '../model.ts';
import type { RunResult } from './driver-messages.ts';
import { readK6Rows } from './k6-rows.ts';
import { reapedSeconds } from './proc.ts';
import { Recorder } from './recorder.ts';
import { writeRunFile } from './run-file.ts';
import type { SeriesTable } from './series-table.ts';

/** How long k6 may take beyond the deadline, to start and to end. */
const GRACE_MS = 120_000;

export interface K6TrialOptions {
  readonly seed: number;
  readonly csvPath: string;
  readonly spill: string;
  /** k6 is stopped after this time. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/**
 * Runs the operations of a trial with k6, the same that the driver `app` does. k6 writes a sample of each metric to a
 * file during the run, about a dozen for each operation: this takes processor time that the other drivers do not need.
 * The memory of k6 is not measured.
 *
 * @throws {Error} when k6 fails
 */
export async function runK6Trial(
  table: SeriesTable,
  { seed, csvPath, spill, deadlineMs, signal }: K6TrialOptions,
): Promise<{ readonly run: RunResult; readonly write: () => Promise<RunDocument['csv']> }> {
  const { workload, threads, length, rate } = table.settings;
  if (workload.set !== 'records') throw new TypeError('k6 does operations on records only');
  const { operations } = length;
  if (operations === null) throw new TypeError('k6 does a count of operations');
  const samples = `${csvPath}.k6.csv`;
  const plan: Plan = {
    parts: [
      {
        profile: 'records',
        workload: { ...workload.records, table: table.table },
        model: { kind: 'closed', threads, operations, durationMs: deadlineMs, rate },
      },
    ],
    seed,
    api: table.api === null ? null : { url: table.api.url, token: table.api.token },
    broker: null,
    thresholds: {},
    rows: true,
  };
  const k6 = await buildK6();
  const started = new Date();
  const recorder = new Recorder(spill);
  const before = reapedSeconds();
  try {
    const late = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs + GRACE_MS)]);
    const authority = table.api?.authority === undefined ? {} : { authority: table.api.authority };
    await runK6(plan, { k6, script: 'records.ts', dashboardPort: null, samples, ...authority, signal: late });
    const cpuSeconds = reapedSeconds() - before;
    const rows = await readK6Rows(samples, recorder, started.getTime() * 1000);
    const run = {
      started: started.toISOString(),
      originMs: started.getTime(),
      ...recorder.totals(),
      startedOperations: rows.started,
      done: rows.done,
      cpuSeconds,
      memoryBytes: null,
    };
    return {
      run,
      write: () => writeRunFile(csvPath, recorder.lines()).finally(() => recorder.close()),
    };
  } catch (error) {
    recorder.close();
    throw error;
  } finally {
    await rm(samples, { force: true });
  }
}
