import { DeviceOperations } from '../src/operations/device-operations.ts';
import { send } from './http-operation.ts';
import { done, Meter } from './meter.ts';
import { optionsOf, Pace, partOf, plan, thread } from './scenario.ts';

export { handleSummary } from './summary.ts';

/** Operations on the device register over HTTP. */
export const options = optionsOf(plan);

const part = partOf('devices');
const meters = {
  selectOne: new Meter('select_one'),
  selectSome: new Meter('select_some'),
  updateSome: new Meter('update_some'),
};
const stream = new DeviceOperations(part, plan.seed, thread);
let pace: Pace | null = null;

export function devices(): void {
  pace ??= new Pace(part.model);
  const due = pace.next();
  if (due === null) return;
  const { type, method, path, body } = stream.next();
  const begun = pace.now();
  const { outcome } = send(method, path, body);
  meters[type].ended(outcome, due, begun, pace.now());
  if (outcome === 'OK') done.add(1);
}
