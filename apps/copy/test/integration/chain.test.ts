import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { copied, verified } from '../copies.ts';

const READINGS = 2000;

/** The servers of the lab that are available, each in its turn. Two run at the same time. */
test('a chain through all stores and back keeps every reading, unit and device', {
  timeout: 900_000,
}, async (context) => {
  const folder = temporaryDirectory('copy-chain');
  const [first, back] = [`sqlite:${folder.path}/first.db`, `sqlite:${folder.path}/back.db`];
  await fillStore(openStore(first), READINGS);
  let from = `json:${folder.path}/files`;
  await copied(first, from);
  let stopLast = async () => {};
  try {
    for (const [name, entry] of Object.entries(STORE_SERVERS)) {
      const started = await startOrSkip(name, () => entry.start(1));
      if ('skip' in started) {
        context.diagnostic(started.skip);
        continue;
      }
      const { server } = started;
      const stopBefore = stopLast;
      stopLast = () => server.stop();
      const url = await server.create('chain');
      const to = name === 'hbase' ? `${url}?presplit=3` : url;
      const { readings, units, devices, readingsPerSecond } = await copied(from, to);
      context.diagnostic(`${name}: ${readingsPerSecond} readings/s`);
      assert.deepEqual(
        [readings.written, readings.equal, readings.details, readings.refused, units.missing > 0],
        [READINGS, 0, 0, 0, true],
        `${name}: ${JSON.stringify({ readings, units, devices })}`,
      );
      assert.equal((await copied(from, to)).readings.written, 0, `${name}: a second copy writes nothing`);
      await stopBefore();
      from = to;
    }
    await copied(from, back);
    const found = await verified(first, back);
    assert.deepEqual([found.code, found.equal, found.source.readings], [0, true, READINGS]);
  } finally {
    await stopLast();
    folder.remove();
  }
});
