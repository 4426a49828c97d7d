import type { Outcome } from '../src/operations/outcome.ts';
import { QUERY_COUNT, Queries } from '../src/operations/query-operations.ts';
import { send } from './http-operation.ts';
import { done, Meter } from './meter.ts';
import { optionsOf, Pace, partOf, plan, thread } from './scenario.ts';

export { handleSummary } from './summary.ts';

/** Ten reads of growing complexity over devices and readings. */
export const options = optionsOf(plan);

const part = partOf('queries');
const meters = Array.from({ length: QUERY_COUNT }, (_, index) => new Meter(`query_${index + 1}`));
const stream = new Queries(part, plan.seed, thread);
let pace: Pace | null = null;

export function queries(): void {
  pace ??= new Pace(part.model);
  const due = pace.next();
  if (due === null) return;
  const [number, query] = stream.next();
  let worst: Outcome = 'OK';
  const begun = pace.now();
  query((path) => {
    const { outcome, body } = send('GET', path, null, true);
    if (outcome === 'OK') return body;
    worst = outcome;
    return null;
  });
  meters[number - 1]!.ended(worst, due, begun, pace.now());
  if ((worst as Outcome) === 'OK') done.add(1);
}
