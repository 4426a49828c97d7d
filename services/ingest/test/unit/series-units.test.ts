import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '@tidegauge/process';
import { DecodeError } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { openStore, type SeriesUnit, type Store, StoreError } from '@tidegauge/storage';
import { decodeMessage, httpMessage, type RawMessage } from '../../src/raw-message.ts';
import { Router } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';
import { SeriesUnits } from '../../src/series-units.ts';
import { testPipeline } from '../test-pipeline.ts';

const logger = createLogger('test', 'silent');
const START = 1_795_000_000;
const temporary = temporaryDirectory('units');

interface Faults {
  /** The error of `setUnits`. */
  units: StoreError | null;
  /** Whether all calls fail. */
  unavailable: boolean;
  /** Metrics whose readings are rejected. */
  rejected: string | null;
}

/** A pipeline over a real SQLite file with the faults of a test. It counts the units that it writes. */
async function setUp(context: TestContext, directory: string) {
  const real = await openStore(`sqlite:${join(directory, 's.db')}?synchronous=normal`);
  const faults: Faults = { units: null, unavailable: false, rejected: null };
  const written: SeriesUnit[][] = [];
  const demand = () => {
    if (faults.unavailable) throw new StoreError('UNAVAILABLE', 'away');
  };
  const readings: Store['readings'] = Object.assign(Object.create(real.readings), {
    write: async (batch: Parameters<Store['readings']['write']>[0]) => {
      demand();
      const rows = [...batch.keys()].filter((index) => batch[index]!.metric === faults.rejected);
      if (rows.length > 0) throw new StoreError('REJECTED', 'marked', { rows });
      return real.readings.write(batch);
    },
    setUnits: async (units: readonly SeriesUnit[]) => {
      demand();
      if (faults.units !== null && units.length > 0) throw faults.units;
      if (units.length > 0) written.push([...units]);
      await real.readings.setUnits(units);
    },
  });
  const store: Store = Object.create(real, { readings: { value: readings } });
  const { pipeline, router, quarantine, spool } = testPipeline(store, directory, 100);
  let acknowledged = 0;
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    pipeline.abort();
    await spool.close();
    quarantine.close();
    await real.close();
  };
  context.after(close);
  return {
    pipeline,
    router,
    faults,
    written,
    quarantine,
    close,
    get acknowledged() {
      return acknowledged;
    },
    /** Publishes a SenML pack with a metric of device `d` in a unit, at a second. */
    mqtt(second: number, metric: string, unit: string, value = second) {
      const pack = JSON.stringify([{ n: `d/${metric}`, u: unit, t: START + second, v: value }]);
      const payload = Buffer.from(pack);
      const message = { topic: 'sensors/gw/all', payload, qos: 1, retain: false, size: pack.length } as const;
      pipeline.accept(message, { settled: () => acknowledged++ });
    },
    async drained() {
      const deadline = performance.now() + 20_000;
      while (pipeline.accounts.inFlight > 0 || pipeline.accounts.spooled > 0) {
        assert.ok(performance.now() < deadline, 'nothing is in flight after 20 s');
        await sleep(5);
      }
    },
    async unitOf(metric: string) {
      return (await real.readings.units([{ device: 'gw/all/d', metric }]))[0];
    },
  };
}

/** A directory that outlives the pipeline of its test, which can still remove a segment of its spool at the end. */
function folder(): Promise<string> {
  return mkdtemp(join(temporary.path, 'test-'));
}

test('the unit of a series is written once, again when it changes, and a change is counted', async (context) => {
  const ingest = await setUp(context, await folder());
  for (let second = 0; second < 20; second++) {
    ingest.mqtt(second, 'a', 'Cel');
    ingest.mqtt(second, 'b', 'V');
    await ingest.drained();
  }
  assert.deepEqual([await ingest.unitOf('a'), await ingest.unitOf('b')], ['Cel', 'V']);
  assert.equal(ingest.written.flat().length, 2);
  assert.equal(ingest.router.units.changes, 0);
  ingest.mqtt(21, 'a', 'K');
  await ingest.drained();
  assert.deepEqual([await ingest.unitOf('a'), await ingest.unitOf('b')], ['K', 'V']);
  assert.equal(ingest.written.flat().length, 3);
  assert.equal(ingest.router.units.changes, 1);
});

test('a process that starts again does not write units that the store has', async (context) => {
  const directory = await folder();
  const first = await setUp(context, directory);
  first.mqtt(1, 'a', 'Cel');
  await first.drained();
  await first.close();
  const second = await setUp(context, directory);
  second.mqtt(2, 'a', 'Cel');
  await second.drained();
  assert.deepEqual(second.written, []);
  assert.equal(second.router.units.changes, 0);
});

test('a message is not acknowledged before its units are stored', async (context) => {
  const ingest = await setUp(context, await folder());
  ingest.faults.units = new StoreError('UNAVAILABLE', 'away');
  // HTTP does not use the spool, so the request waits.
  const body = Buffer.from(JSON.stringify([{ n: 'gw/all/d/a', u: 'Cel', v: 1 }]));
  let isSettled = false;
  const delivery = ingest.pipeline.deliver(
    httpMessage('application/senml+json', new URLSearchParams(), body),
  );
  delivery.then(() => {
    isSettled = true;
  });
  await sleep(300);
  assert.equal(isSettled, false);
  ingest.faults.units = null;
  await delivery;
  assert.equal(await ingest.unitOf('a'), 'Cel');
});

test('a message in the spool brings its units to the store, also after a restart', async (context) => {
  const directory = await folder();
  const first = await setUp(context, directory);
  first.faults.unavailable = true;
  first.mqtt(1, 'a', 'Cel');
  const deadline = performance.now() + 20_000;
  while (first.acknowledged === 0 && performance.now() < deadline) await sleep(10);
  assert.equal(first.acknowledged, 1, 'it was acknowledged from the spool');
  await first.close();
  const second = await setUp(context, directory);
  await second.drained();
  assert.equal(await second.unitOf('a'), 'Cel');
});

test('units that the store refuses hold up no reading', async (context) => {
  const ingest = await setUp(context, await folder());
  ingest.faults.units = new StoreError('REJECTED', 'no units here');
  for (let second = 0; second < 3; second++) ingest.mqtt(second, 'a', 'Cel');
  await ingest.drained();
  assert.equal(ingest.pipeline.accounts.stored, 3);
  assert.equal(ingest.acknowledged, 3);
  assert.equal(await ingest.unitOf('a'), null);
});

test('a reading that is rejected leaves no unit, and its replay does not replace a newer one', async (context) => {
  const ingest = await setUp(context, await folder());
  ingest.faults.rejected = 'a';
  ingest.mqtt(1, 'a', 'K');
  await ingest.drained();
  assert.deepEqual(ingest.written, []);
  ingest.faults.rejected = null;
  ingest.mqtt(2, 'a', 'Cel');
  await ingest.drained();
  const { entry } = ingest.quarantine.get(1)!;
  const decoded = decodeMessage(ingest.router, entry, entry.received);
  assert.ok(!(decoded instanceof DecodeError));
  assert.deepEqual(decoded.units, [{ device: 'gw/all/d', metric: 'a', unit: 'K' }]);
  assert.equal((await ingest.pipeline.replay(entry, decoded)).stored, 1);
  assert.equal(await ingest.unitOf('a'), 'Cel');
  assert.equal(ingest.router.units.changes, 0);
});

test('a payload that is refused passes no unit on, and the last unit of a series counts', () => {
  const router = new Router(defaultRoutes('durable'));
  const message = (pack: unknown): RawMessage => ({
    source: 'mqtt',
    topic: 'sensors/gw/all',
    payload: Buffer.from(JSON.stringify(pack)),
    format: 'auto',
    part: null,
  });
  const refused = decodeMessage(router, message([{ n: 'a', u: 'V', v: 1 }, { n: 'b' }]), START * 1e6, true);
  assert.ok(refused instanceof DecodeError);
  const plain = decodeMessage(router, message({ a: 1 }), START * 1e6, true);
  assert.ok(!(plain instanceof DecodeError));
  assert.deepEqual(plain.units, []);
});

test('the memory for known units is bounded, and a unit that was dropped is looked up again', async () => {
  const units = new SeriesUnits();
  let looked = 0;
  const readings = {
    units: async (series: readonly unknown[]) => {
      looked += series.length;
      return series.map(() => 'V');
    },
    setUnits: async (given: readonly unknown[]) => assert.deepEqual(given, []),
  } as unknown as Store['readings'];
  const count = 100_000;
  for (let start = 0; start < count; start += 5000) {
    for (let index = start; index < start + 5000; index++)
      units.note(`device-${index} metric`, `device-${index}`, 'metric', 'V');
    await units.store({ readings }, units.take(), true, logger);
  }
  assert.equal(looked, count);
  for (let index = 0; index < count; index++)
    units.note(`device-${index} metric`, `device-${index}`, 'metric', 'V');
  const dropped = units.take().length;
  assert.ok(dropped > count / 4 && dropped < count, `${dropped}`);
  units.note('d m', 'd', 'm', 'x'.repeat(65));
  units.note('d m', 'd', 'm', 'line\nbreak');
  assert.deepEqual(units.take(), [], 'a text that is no unit is left out');
});
