import { Records } from 'k6/x/tidegauge/records';
import { recordsHttp } from '../src/operations/records-http.ts';
import { optionsOf, Pace, partOf, plan, shareOf, thread } from './scenario.ts';

export { handleSummary } from './summary.ts';

/**
 * YCSB's CoreWorkload over HTTP. Each virtual user is a thread of YCSB. Our module of k6 chooses the operations, sends the
 * requests and measures them. `records-js.ts` is the same in JavaScript: a test compares them.
 */
export const options = optionsOf(plan, { loop: true });

const { workload, model } = partOf('records');
const operations = new Records({
  workload,
  seed: plan.seed,
  thread: Math.max(0, thread),
  threads: model.threads,
  url: recordsHttp(plan.api!.url, workload.table).table,
  token: plan.api!.token ?? '',
  rows: plan.rows === true,
});
let pace: Pace | null = null;

export function records(): void {
  if (model.kind === 'closed') {
    const { durationMs, rate } = model;
    operations.run({ operations: shareOf(model, thread), durationMs, rate });
    return;
  }
  pace ??= new Pace(model);
  const due = pace.next()!;
  operations.one(pace.now() - due);
}
