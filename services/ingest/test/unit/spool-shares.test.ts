import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { openStore, type Store, StoreError } from '@tidegauge/storage';
import { defaultRoutes } from '../../src/routes-file.ts';
import { Share } from '../../src/share.ts';
import { Spool } from '../../src/spool.ts';
import { SpooledDevices } from '../../src/spooled-devices.ts';
import { closeAfter, testPipeline } from '../test-pipeline.ts';

const WAIT = { timeoutMs: 30_000, pollMs: 20 };
const EPOCH = 1_790_000_000;
const SPOOL_BYTES = 40_000;

test('a client that fills its share of the spool leaves room for others, and has it again later', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-shares-'));
  const real = await openStore(`sqlite:${join(directory, 's.db')}?synchronous=normal`);
  let isAway = true;
  const write = async (batch: readonly Reading[]) => {
    if (isAway) throw new StoreError('UNAVAILABLE', 'away');
    return real.readings.write(batch);
  };
  const readings = Object.assign(Object.create(real.readings), { write });
  const store: Store = Object.create(real, { readings: { value: readings } });
  const spool = new Spool(join(directory, 'spool'), SPOOL_BYTES, createLogger('test', 'silent'));
  const { pipeline, quarantine } = testPipeline(store, directory, 20, defaultRoutes('durable'), { spool });
  closeAfter(context, { pipeline, quarantine, spool }, real, () => rm(directory, { recursive: true }));
  const settled = { greedy: 0, honest: 0 };
  const send = (device: 'greedy' | 'honest', from: number, to: number) => {
    const share = new Share(() => {});
    for (let n = from; n < to; n++) {
      const payload = Buffer.from(`{"t":${EPOCH + n},"v":${n}}`);
      pipeline.accept(
        { topic: `sensors/${device}/m`, payload, qos: 1, retain: false, size: payload.length },
        { client: `user ${device}`, share, settled: () => void settled[device]++ },
      );
    }
  };

  send('greedy', 0, 1000);
  await waitUntil('its share', () => spool.bytes > SPOOL_BYTES / 2, WAIT);
  send('honest', 0, 50);
  await waitUntil('the honest client', () => settled.honest === 50, WAIT);
  assert.ok(settled.greedy < 700 && pipeline.accounts.inFlight >= 300, `${settled.greedy} are settled`);
  assert.ok(spool.bytes < SPOOL_BYTES);

  isAway = false;
  await waitUntil('the replay', () => pipeline.accounts.inFlight + pipeline.accounts.spooled === 0, WAIT);
  assert.deepEqual(settled, { greedy: 1000, honest: 50 });
  assert.equal(pipeline.accounts.counts().stored, 1050);
  isAway = true;
  send('greedy', 1000, 1300);
  await waitUntil('the next outage', () => settled.greedy === 1300, WAIT);
});

test('a client with more spooled devices than there is memory for holds back its own readings only', () => {
  const spooled = new SpooledDevices();
  const at = (device: string, time: number): Reading[] => [
    { device, metric: 'm', time, value: 1, received: time, boot: null, seq: null, quality: 'ok' },
  ];
  spooled.remember(at('honest/a', 5));
  for (let n = 0; n < 100_000; n++) spooled.remember(at(`greedy/${n}`, 5));
  spooled.remember(at('honest/b', 5));
  const waits = (device: string, time: number) => spooled.mustWait(at(device, time));
  assert.deepEqual(
    [waits('greedy/0', 6), waits('greedy/99999', 6), waits('greedy/new', 6)],
    [false, true, true],
  );
  for (const device of ['honest/a', 'honest/b'])
    assert.deepEqual([waits(device, 5), waits(device, 6)], [true, false]);
  assert.equal(waits('honest/new', 1), false);
  spooled.clear();
  assert.equal(waits('greedy/99999', 1), false);
});
