import { writeFileSync } from 'node:fs';
import { machine } from './machine.ts';
import type { Plan } from './plan.ts';
import type { Summary } from './summary.ts';
import { csvText, ycsbText } from './ycsb-text.ts';

export interface ReportFiles {
  readonly json: string | null;
  readonly csv: string | null;
}

/** Prints the figures as YCSB does, then whether they hold, and writes the files asked for. */
export function report(plan: Plan, summary: Summary, files: ReportFiles): void {
  const scheduled = isScheduled(plan);
  process.stdout.write(ycsbText(summary, scheduled));
  for (const reason of summary.invalid) process.stdout.write(`INVALID: ${reason}\n`);
  for (const failure of summary.failures) process.stdout.write(`FAILED: ${failure}\n`);
  if (files.csv !== null) writeFileSync(files.csv, csvText(summary, scheduled));
  if (files.json !== null)
    writeFileSync(files.json, `${JSON.stringify(documentOf(plan, summary), null, 2)}\n`);
}

/** Whether operations had a time to begin at, other than the end of the one before. */
export function isScheduled({ parts }: Plan): boolean {
  return parts.some(({ model }) => model.kind === 'open' || model.rate !== null);
}

function documentOf({ seed, parts, thresholds }: Plan, summary: Summary): object {
  return {
    valid: summary.invalid.length === 0,
    machine: machine(),
    seed,
    parts,
    thresholds,
    summary,
  };
}
