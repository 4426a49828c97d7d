import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { MeasuredOperation } from '@tidegauge/loadtests/drivers/record-driver';
import type { Outcome } from '@tidegauge/loadtests/operations/outcome';
import type { Recorder } from './recorder.ts';

const METRIC = 'op_row';

export interface K6Rows {
  /** Operations that are not a part of another one, and those of them that succeeded. */
  readonly started: number;
  readonly done: number;
}

/**
 * Passes the operations in a file of k6's CSV output to a recorder. k6 gives each sample the time at which it was made,
 * which is the end of the operation. Other metrics are skipped.
 *
 * @param zero the time that counts as the start of the recorder, in microseconds of the wall clock
 * @throws {Error} when the file is not that of k6
 */
export async function readK6Rows(path: string, recorder: Recorder, zero: number): Promise<K6Rows> {
  let columns: ReadonlyMap<string, number> | null = null;
  let started = 0;
  let done = 0;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (columns === null) {
      columns = columnsOf(line);
      continue;
    }
    if (!line.startsWith(`${METRIC},`)) continue;
    // No value of these rows has a comma in it.
    const cells = line.split(',');
    const tags = new Map(
      cells[columns.get('extra_tags')!]!.split('&').map((tag) => tag.split('=') as [string, string]),
    );
    const latency = Number(cells[columns.get('metric_value')!]);
    const end = recorder.origin + (Number(cells[columns.get('timestamp')!]) - zero) / 1000;
    const isPart = tags.get('part') === '1';
    const outcome = tags.get('status') as Outcome;
    recorder.ended(
      tags.get('operation') as MeasuredOperation,
      outcome,
      end - latency,
      end,
      Number(tags.get('thread')),
      isPart,
    );
    if (isPart) continue;
    started += 1;
    if (outcome === 'OK') done += 1;
  }
  return { started, done };
}

/** The places of the columns, by name. */
function columnsOf(header: string): ReadonlyMap<string, number> {
  const columns = new Map(header.split(',').map((name, index) => [name, index]));
  for (const name of ['metric_name', 'timestamp', 'metric_value', 'extra_tags']) {
    if (!columns.has(name)) throw new Error(`k6's CSV output has no column ${name}`);
  }
  return columns;
}
