import assert from 'node:assert/strict';
import { appendFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { now, type Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { openStore, type Store, StoreError } from '@tidegauge/storage';
import { httpMessage } from '../../src/raw-message.ts';
import { SensorClocksFile } from '../../src/sensor-clocks-file.ts';
import { testPipeline } from '../test-pipeline.ts';

const DEVICE = 'attic/station';

const logger = createLogger('test', 'silent');

/** An ingest over a SQLite file. `killed` starts it again with its files, without closing what the process wrote. */
async function setUp(context: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-clocks-'));
  const real = await openStore(`sqlite:${join(directory, 's.db')}?synchronous=normal`);
  const fault = { unavailable: false };
  const write: Store['readings']['write'] = async (batch, effort) => {
    if (fault.unavailable) throw new StoreError('UNAVAILABLE', 'away');
    return real.readings.write(batch, effort);
  };
  const readings = Object.assign(Object.create(real.readings), { write });
  const store: Store = Object.create(real, { readings: { value: readings } });
  const path = join(directory, 'i.clocks');
  const start = () => {
    const clocks = new SensorClocksFile(path, logger);
    return { clocks, ...testPipeline(store, directory, 100, undefined, { clocks: clocks.clocks }) };
  };
  let ingest = start();
  const stop = async () => {
    ingest.pipeline.abort();
    await ingest.spool.close();
    ingest.quarantine.close();
  };
  context.after(async () => {
    await stop();
    ingest.clocks.close();
    await real.close();
    await rm(directory, { recursive: true });
  });
  return {
    fault,
    path,
    async killed() {
      await stop();
      ingest = start();
    },
    async mqtt(payload: object, dup = false, topic = `sensors/${DEVICE}`) {
      const bytes = Buffer.from(JSON.stringify(payload));
      await new Promise<void>((settled) => {
        const message = { topic, payload: bytes, qos: 1, retain: false, dup, size: bytes.length } as const;
        ingest.pipeline.accept(message, { settled: () => settled() });
      });
    },
    http(payload: object) {
      const query = new URLSearchParams({ device: DEVICE });
      return ingest.pipeline.deliver(
        httpMessage('application/json', query, Buffer.from(JSON.stringify(payload))),
      );
    },
    counts: () => ingest.pipeline.accounts.counts(),
    async drained() {
      await ingest.pipeline.idle();
      while (ingest.pipeline.accounts.spooled > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async stored() {
      const found: Reading[] = [];
      for await (const reading of real.readings.range({ device: DEVICE, limit: 10_000 })) found.push(reading);
      return found;
    },
  };
}

describe('readings of a sensor without a clock', { concurrency: true }, () => {
  test('are stored once for each start, also when ingest was killed', async (context) => {
    const { mqtt, http, killed, counts, stored } = await setUp(context);
    const began = now();
    const boot = (value: number) => ({ time: 12345, temperature: value, door: 'open' });
    await mqtt(boot(1));
    await mqtt({ ...boot(1), time: 12355 });
    await mqtt(boot(1), true);
    await mqtt(boot(1));
    assert.deepEqual([counts().stored, counts().duplicate], [4, 4]);
    await mqtt(boot(2));
    assert.deepEqual([counts().stored, counts().duplicate], [6, 4]);
    await killed();
    await mqtt(boot(1), true);
    await mqtt(boot(2));
    await mqtt({ ...boot(1), time: 12355 });
    assert.deepEqual([counts().stored, counts().duplicate], [0, 6]);
    await mqtt(boot(3));
    assert.deepEqual(await http({ time: 12345, temperature: 4 }), {
      ...{ received: 1, stored: 1, duplicate: 0, quarantined: 0 },
    });
    assert.equal((await http({ time: 12345, temperature: 4 })).duplicate, 1);
    const all = await stored();
    const temperatures = all.filter(({ metric }) => metric === 'temperature');
    assert.deepEqual(temperatures.map(({ value }) => value).toSorted(), [1, 1, 2, 3, 4]);
    for (const { time, received, quality } of all) {
      assert.ok(time >= began - 10_000_000 && time <= received);
      assert.equal(quality, 'unsynced');
    }
  });

  test('keep their times in the spool', async (context) => {
    const { mqtt, killed, fault, counts, stored, drained } = await setUp(context);
    const boot = (value: number) => ({ time: 12345, temperature: value, boot: `b${value}`, seq: 1 });
    await mqtt(boot(0));
    fault.unavailable = true;
    for (const value of [1, 2, 3]) await mqtt(boot(value));
    await mqtt({ ...boot(3), time: 12355, seq: 2 });
    await mqtt(boot(2), true);
    assert.equal(counts().spooled, 5);
    await killed();
    assert.equal(counts().spooled, 5);
    await mqtt(boot(1), true);
    fault.unavailable = false;
    await drained();
    await mqtt({ ...boot(3), time: 12355, seq: 2 }, true);
    const values = (await stored()).map(({ value }) => value);
    assert.deepEqual(values.toSorted(), [0, 1, 2, 3, 3]);
  });
});

describe('the file of the clocks of sensors', () => {
  const reading = (time: number, received: number, value: number): Reading => {
    const device = 'attic';
    return { device, metric: 'a', time, value, received, boot: null, seq: null, quality: 'unsynced' };
  };

  async function inDirectory(context: TestContext): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'tidegauge-clocks-'));
    context.after(() => rm(directory, { recursive: true }));
    return join(directory, 'i.clocks');
  }

  function send(file: SensorClocksFile, second: number, value = second): number {
    const given = reading((5000 + second) * 1e6, 1_795_262_400_000_000 + second * 1e6, value);
    return file.clocks.timed([given], Buffer.from(`${value}`), false)[0]!.time;
  }

  test('is bounded, and is complete after it was written again', async (context) => {
    const path = await inDirectory(context);
    const file = new SensorClocksFile(path, logger);
    let most = 0;
    for (let second = 0; second < 8000; second++) {
      send(file, second);
      if (second % 100 === 0) most = Math.max(most, statSync(path).size);
    }
    assert.ok(most > 1e6 && most < 1.5e6, `${most}`);
    const copy = new SensorClocksFile(path, logger);
    assert.deepEqual([...copy.clocks.states()], [...file.clocks.states()]);
    file.close();
    copy.close();
  });

  test('is used up to the first damaged byte', async (context) => {
    const path = await inDirectory(context);
    const file = new SensorClocksFile(path, logger);
    send(file, 0);
    const { size } = statSync(path);
    send(file, 1);
    truncateSync(path, size + 20);
    appendFileSync(path, 'x'.repeat(100));
    const next = new SensorClocksFile(path, logger);
    assert.equal(
      next.clocks.again([reading(5000e6, 1_795_262_400_000_000, 0)])[0]!.time,
      1_795_262_400_000_000,
    );
    send(next, 2);
    const last = new SensorClocksFile(path, logger);
    assert.deepEqual([...last.clocks.states()], [...next.clocks.states()]);
    for (const each of [file, next, last]) each.close();
    writeFileSync(path, 'another format');
    new SensorClocksFile(path, logger).close();
  });

  for (const [problem, suffix] of [
    ['written', '.new'],
    ['read', ''],
  ] as const) {
    test(`is tried again when it cannot be ${problem}`, async (context) => {
      const path = await inDirectory(context);
      await mkdir(`${path}${suffix}`);
      const file = new SensorClocksFile(path, logger);
      assert.equal(send(file, 0), 1_795_262_400_000_000);
      await rmdir(`${path}${suffix}`);
      context.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER);
      send(file, 1);
      context.mock.restoreAll();
      const next = new SensorClocksFile(path, logger);
      assert.deepEqual([...next.clocks.states()], [...file.clocks.states()]);
      for (const each of [file, next]) each.close();
    });
  }
});
