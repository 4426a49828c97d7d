import assert from 'node:assert/strict';
import { until } from '../src/until.ts';
import type { Deployment } from './deployment.ts';
import type { Sensor } from './sensor.ts';

/** Publishes `count` messages, the first of a deployment, and asserts that each is stored once and can be read. */
export async function assertRoundTrip(sensor: Sensor, deployment: Deployment, count: number): Promise<void> {
  await sensor.publish(count);
  assert.equal(sensor.acknowledged.size, count);
  const { readings, gaps, balanced } = await until('the ledger to have them', async () => {
    const ledger = await deployment.ledger();
    return ledger.readings.stored === count && ledger;
  });
  assert.ok(balanced);
  assert.deepEqual([readings.received, readings.quarantined, gaps.missing], [count, 0, 0]);
  assert.equal((await sensor.stored(deployment)).size, count);
}
