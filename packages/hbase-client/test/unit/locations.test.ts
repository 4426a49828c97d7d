import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deadline, settled } from '../../src/deadline.ts';
import { HBaseError } from '../../src/errors.ts';
import { Locations } from '../../src/locations.ts';
import { META_TABLE } from '../../src/region.ts';
import type { Registry } from '../../src/registry.ts';

const row = Buffer.from('r');
const never = new Promise<never>(() => {});

function isTimeout(error: unknown): boolean {
  return error instanceof HBaseError && error.code === 'TIMEOUT';
}

test('a call that waits for another call\u2019s look-up keeps its own deadline', async () => {
  const registry: Registry = { place: 'nowhere', metaServer: () => never, activeMaster: () => never };
  const locations = new Locations(registry, async function* () {
    yield await never;
  });
  let isLater = false;
  void locations.locate('t', row, 'at', Deadline.after(1000));
  const later = locations.locate(META_TABLE, row, 'at', Deadline.after(1000)).catch(() => {
    isLater = true;
  });
  for (const table of ['t', META_TABLE]) {
    await assert.rejects(locations.locate(table, row, 'at', Deadline.after(50)), isTimeout, table);
  }
  assert.equal(isLater, false);
  await later;
});

test('a table without rows in hbase:meta is not found', async () => {
  const registry: Registry = { place: 'nowhere', metaServer: () => never, activeMaster: () => never };
  const locations = new Locations(registry, async function* () {
    yield* [];
  });
  const missing = locations.locate('t', row, 'at', Deadline.after(1000));
  await assert.rejects(missing, (error) => error instanceof HBaseError && error.code === 'TABLE_NOT_FOUND');
});

test('settled waits no longer than the deadline, and also ends at a rejection', async () => {
  assert.equal(await settled(never, Deadline.after(10)), false);
  assert.equal(await settled(Promise.reject(new Error('no')), Deadline.after(60_000)), true);
});
