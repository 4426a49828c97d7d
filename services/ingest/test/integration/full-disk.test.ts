import assert from 'node:assert/strict';
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mountSmallDisk, type SmallDisk } from '@tidegauge/lab/small-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { createLogger } from '@tidegauge/service';
import { Quarantine } from '../../src/quarantine.ts';
import type { QuarantineEntry } from '../../src/quarantine-rows.ts';
import { Spool } from '../../src/spool.ts';
import { settled, setUp, storedReadings } from './helpers.ts';

const MIB = 1024 * 1024;
const started = await startOrSkip('tmpfs', () => mountSmallDisk(8 * MIB));
const skip = 'skip' in started ? started.skip : false;
const disk = 'server' in started ? started.server : (undefined as unknown as SmallDisk);
test.after(() => disk?.remove());

/**
 * Fills the disk.
 *
 * @returns a function that frees it
 */
function fill(): () => void {
  const file = join(disk.path, 'ballast');
  const { bavail, bsize } = statfsSync(disk.path);
  writeFileSync(file, Buffer.alloc(bavail * bsize));
  return () => rmSync(file);
}

const item = (topic: string, size: number): QuarantineEntry => ({
  source: 'mqtt',
  part: null,
  topic,
  payload: Buffer.alloc(size, 0xff),
  format: 'auto',
  received: 1_795_000_000_000_001,
  reason: 'malformed',
  detail: 'no',
  position: null,
  readings: 1,
});

test('a quarantine on a full disk reports the error, and a retry loses and counts nothing', {
  skip,
}, () => {
  const quarantine = new Quarantine(join(disk.path, 'q.db'), 'i', 5 * MIB);
  for (let number = 0; number < 40; number++) quarantine.add([item(`before-${number}`, 50_000)]);
  const free = fill();
  for (let attempt = 0; attempt < 200; attempt++)
    assert.throws(() => quarantine.add([item('during', 50_000), item('large', MIB)]), /disk is full/);
  assert.equal(quarantine.total, 40);
  free();
  assert.equal(quarantine.add([item('during', 50_000)]), 0);
  assert.equal(quarantine.dropped, 0);
  assert.equal(quarantine.total, 41);
  const page = quarantine.list(1000, null, null);
  assert.equal(page.items.length, 41);
  assert.equal(page.items[0]!.topic, 'during');
  quarantine.close();
  for (const file of readdirSync(disk.path)) rmSync(join(disk.path, file));
});

test('a spool on a full disk refuses new messages with the cause, and keeps the stored ones', {
  skip,
}, async () => {
  const logged: unknown[] = [];
  const logger = {
    ...createLogger('test', 'silent'),
    error: (what: unknown) => logged.push(what),
    info() {},
  };
  const open = () => new Spool(join(disk.path, 'spool'), 1e9, logger as never);
  const entry = (received: number) => ({
    source: 'mqtt' as const,
    part: null,
    topic: 'sensors/a/b',
    format: 'auto',
    payload: Buffer.alloc(100_000, received),
    received,
  });
  const spool = open();
  assert.deepEqual([...spool.recover()], []);
  let kept = 0;
  while (await spool.append([entry(kept)])) kept++;
  assert.ok(kept > 50);
  assert.match(spool.trouble!, /ENOSPC/);
  for (let attempt = 0; attempt < 20; attempt++) assert.equal(await spool.append([entry(kept)]), false);
  assert.equal(logged.length, 1);
  const first = (await spool.oldest())!;
  await spool.remove(first);
  assert.equal(await spool.append([entry(kept)]), true);
  assert.equal(spool.trouble, null);
  await spool.close();
  const again = [...open().recover()].map(({ received }) => received);
  assert.deepEqual(
    again,
    Array.from({ length: again.length }, (_, index) => kept + 1 - again.length + index),
  );
  assert.equal(again.length * 100_000 + first.bytes > 8 * MIB - 200_000, true);
  rmSync(join(disk.path, 'spool'), { recursive: true });
});

test('ingest continues after its disk was full, and nothing is lost', {
  skip,
  timeout: 120_000,
}, async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start({ DATA_DIR: disk.path, SPOOL_MAX_BYTES: '0' });
  const client = await bench.client();
  const free = fill();
  for (let number = 0; number < 20; number++)
    await client.publishAsync('sensors/probe/temperature', `bad ${number}`.padEnd(10_000), { qos: 1 });
  await client.publishAsync('sensors/good/temperature', '20.5', { qos: 1 });
  const during = await ingest.until(({ readings }) => readings.stored === 1, 20_000);
  assert.equal(during.readings.inFlight, 20);
  const ready = await fetch(`${ingest.url}/readyz`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /the quarantine cannot be written: database or disk is full/);
  free();
  const after = await ingest.until(({ readings }) => readings.inFlight === 0, 60_000);
  assert.equal(after.readings.quarantined, 20);
  assert.ok((await settled(ingest)).balanced);
  assert.equal((await storedReadings(bench.store, ['good'])).length, 1);
});
