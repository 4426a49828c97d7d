import http, { type Params, type Response } from 'k6/http';
import { Trend } from 'k6/metrics';
import { isIntact, operations, type RecordOperation } from '../../packages/workload/src/index.ts';
import { type Outcome, outcomeOf } from '../src/operations/outcome.ts';
import { recordBody, recordFields, recordsHttp } from '../src/operations/records-http.ts';
import { done, Meter } from './meter.ts';
import { optionsOf, Pace, partOf, plan, thread } from './scenario.ts';

export { handleSummary } from './summary.ts';

/**
 * YCSB's CoreWorkload over HTTP: one operation per iteration. Each virtual user is a thread of YCSB. This script needs no
 * module of k6, and is the reference for `records.ts`.
 */
export const options = optionsOf(plan);

const { workload, model } = partOf('records');
const { dataIntegrity } = workload;
const urls = recordsHttp(plan.api!.url, workload.table);
const meters = {
  read: new Meter('read'),
  update: new Meter('update'),
  insert: new Meter('insert'),
  scan: new Meter('scan'),
  readModifyWrite: new Meter('read_modify_write'),
  verify: new Meter('verify'),
};
type Measured = keyof typeof meters;
/** Latencies from the intended start, with the operation in the tags. The archive of an experiment has all of them. */
const rows = plan.rows === true ? new Trend('op_row', true) : null;

const authorization: Record<string, string> =
  plan.api!.token === null ? {} : { Authorization: `Bearer ${plan.api!.token}` };
// A body that is not checked is dropped, because each byte costs processor time in k6's interpreter.
const reading: Params = { headers: authorization, responseType: dataIntegrity ? 'text' : 'none' };
const writing: Params = {
  headers: { ...authorization, 'Content-Type': 'application/json' },
  responseType: 'none',
};

// Made in the init context, so that it is not part of the measured time.
const stream = operations(workload, {
  seed: plan.seed,
  thread: Math.max(0, thread),
  threads: model.threads,
});
let pace: Pace | null = null;

export function records(): void {
  pace ??= new Pace(model);
  const due = pace.next();
  if (due === null) return;
  if (run(stream.next(), due)) done.add(1);
}

function run(operation: RecordOperation, due: number): boolean {
  const { key } = operation;
  switch (operation.type) {
    case 'read':
      return read(key, operation.fields, due, false);
    case 'update':
      return measure('update', due, () =>
        http.patch(urls.record(key), recordBody(operation.values), writing),
      );
    case 'insert':
      return measure('insert', due, () => http.put(urls.record(key), recordBody(operation.values), writing));
    case 'scan':
      return measure('scan', due, () => http.get(urls.scan(key, operation.count, operation.fields), reading));
    case 'readModifyWrite': {
      // As in YCSB, the read and the update are also measured separately. The total is from the start of the read to
      // the end of the update.
      const begun = pace!.now();
      const found = read(key, operation.fields, due, true);
      const updated = measure(
        'update',
        begun,
        () => http.patch(urls.record(key), recordBody(operation.values), writing),
        true,
      );
      const whole = found && updated;
      const end = pace!.now();
      meters.readModifyWrite.ended(whole ? 'OK' : 'ERROR', due, begun, end);
      row('readModifyWrite', whole ? 'OK' : 'ERROR', due, end, false);
      return whole;
    }
  }
}

function read(key: string, fields: readonly string[] | null, due: number, isPart: boolean): boolean {
  let body: Response['body'] = null;
  const ok = measure(
    'read',
    due,
    () => {
      const answer = http.get(urls.fields(key, fields), reading);
      body = answer.body;
      return answer;
    },
    isPart,
  );
  if (!dataIntegrity || !ok) return ok;
  const intact = isIntact(workload, key, fields, recordFields(String(body)));
  meters.verify.count(intact ? 'OK' : 'UNEXPECTED_STATE');
  return intact;
}

function measure(operation: Measured, due: number, request: () => Response, isPart = false): boolean {
  const begun = pace!.now();
  const { status, error_code } = request();
  const outcome: Outcome = outcomeOf(status, error_code);
  const end = pace!.now();
  meters[operation].ended(outcome, due, begun, end);
  // An update that is a part has no intended start.
  row(operation, outcome, isPart && operation === 'update' ? begun : due, end, isPart);
  return outcome === 'OK';
}

function row(operation: Measured, outcome: Outcome, due: number, end: number, isPart: boolean): void {
  rows?.add(end - due, {
    operation,
    status: outcome,
    thread: String(thread),
    part: isPart ? '1' : '0',
  });
}
