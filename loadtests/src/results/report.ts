import { writeFileSync } from 'node:fs';
import { maskUrl } from '@tidegauge/text';
import type { Plan } from '../operations/plan.ts';
import { machine, provenance } from './machine.ts';
import type { Summary } from './summary.ts';
import { csvText, ycsbText } from './ycsb-text.ts';

export interface ReportFiles {
  /** The store or the API under test, as given on the command line. */
  readonly store?: string | null;
  readonly api?: string | null;
  readonly json: string | null;
  readonly csv: string | null;
}

/** Prints the figures in the format of YCSB and whether the run is valid, and writes the requested files. */
export function report(plan: Plan, summary: Summary, files: ReportFiles): void {
  const scheduled = isScheduled(plan);
  process.stdout.write(ycsbText(summary, scheduled));
  for (const reason of summary.invalid) process.stdout.write(`INVALID: ${reason}\n`);
  for (const failure of summary.failures) process.stdout.write(`FAILED: ${failure}\n`);
  if (files.csv !== null) writeFileSync(files.csv, csvText(summary, scheduled));
  if (files.json !== null)
    writeFileSync(files.json, `${JSON.stringify(documentOf(plan, summary, files), null, 2)}\n`);
}

/** Whether operations had a scheduled start. Otherwise an operation starts when the previous one ends. */
export function isScheduled({ parts }: Plan): boolean {
  return parts.some(({ model }) => model.kind === 'open' || model.rate !== null);
}

function documentOf({ seed, parts, thresholds }: Plan, summary: Summary, files: ReportFiles): object {
  const { store = null, api = null } = files;
  return {
    ...provenance(),
    // The store of an API that was already running is not available here.
    store: store === null || api !== null ? null : maskUrl(store),
    api: api === null ? null : maskUrl(api),
    valid: summary.invalid.length === 0,
    machine: machine(),
    seed,
    parts,
    thresholds,
    summary,
  };
}
