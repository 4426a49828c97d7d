import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DecodeError, type Reading } from '@tidegauge/readings';
import { openStore, type Store, StoreError } from '@tidegauge/storage';
import fc from 'fast-check';
import { decodeMessage, httpMessage } from '../../src/raw-message.ts';
import { Router } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';
import { closeAfter, testPipeline } from '../test-pipeline.ts';

const DEVICES = ['a', 'b', 'c', 'd', 'e'];
const EPOCH = 1_790_000_000;

interface Fault {
  unavailable: boolean;
  /** How long a write of these readings takes, milliseconds. */
  delay: (batch: readonly Reading[]) => number;
  refuse: (reading: Reading) => boolean;
}

/** A pipeline over a real SQLite file that reports three writers and has the faults of a test. */
async function setUp(context: TestContext, fault: Fault) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-order-'));
  const real = await openStore(`sqlite:${join(directory, 's.db')}?synchronous=normal`);
  const write: Store['readings']['write'] = async (batch, effort) => {
    await sleep(fault.delay(batch));
    if (fault.unavailable) throw new StoreError('UNAVAILABLE', 'away');
    const rows = [...batch.keys()].filter((index) => fault.refuse(batch[index]!));
    if (rows.length > 0) throw new StoreError('REJECTED', 'marked', { rows });
    return real.readings.write(batch, effort);
  };
  const readings = Object.assign(Object.create(real.readings), { write });
  const store: Store = Object.create(real, {
    capabilities: { value: { ...real.capabilities, writers: 3 } },
    readings: { value: readings },
  });
  const { pipeline, quarantine, spool } = testPipeline(store, directory, 20);
  closeAfter(context, { pipeline, quarantine, spool }, real, () => rm(directory, { recursive: true }));
  const settled = { mqtt: 0, taken: 0 };
  return {
    directory,
    spool,
    pipeline,
    quarantine,
    settled,
    /** Publishes readings, given as device, second and value; of a gateway when there are several. */
    mqtt(...given: readonly Sent[]) {
      const payload = Buffer.from(
        JSON.stringify(given.map(([device, t, v]) => ({ device, t: EPOCH + t, v }))),
      );
      settled.taken++;
      pipeline.accept(
        { topic: 'sensors/gw/m', payload, qos: 1, retain: false, size: payload.length },
        { settled: () => settled.mqtt++ },
      );
    },
    http(...given: readonly Sent[]) {
      const body = given.map(([device, t, v]) => ({ device: `gw/${device}`, metric: 'm', t: EPOCH + t, v }));
      const message = httpMessage(
        'application/json',
        new URLSearchParams(),
        Buffer.from(JSON.stringify(body)),
      );
      return pipeline.deliver(message);
    },
    async drained() {
      const deadline = Date.now() + 60_000;
      while (pipeline.accounts.inFlight + pipeline.accounts.spooled > 0) {
        assert.ok(Date.now() < deadline, JSON.stringify(pipeline.accounts.counts()));
        await sleep(10);
      }
    },
    /** What the store holds: values by device and second. */
    async stored() {
      const found = new Map<string, unknown>();
      for (const device of DEVICES) {
        for await (const { time, value } of real.readings.range({ device: `gw/${device}`, limit: 1000 }))
          found.set(`${device} ${time / 1e6 - EPOCH}`, value);
      }
      return found;
    },
  };
}

type Sent = readonly [device: string, second: number, value: number];
const calm = (): Fault => ({ unavailable: false, delay: () => 0, refuse: () => false });

// Most of their time is retries of the store.
describe('order', { concurrency: true }, () => {
  test('a correction by its own device is kept, although a gateway sent the older value in a slower lane', async (context) => {
    const fault = calm();
    // A batch with readings of `a` takes long.
    fault.delay = (batch) => (batch.some(({ device }) => device === 'gw/a') ? 100 : 0);
    const { mqtt, drained, stored, settled } = await setUp(context, fault);
    mqtt(...DEVICES.map((device) => [device, 1, 1] as const));
    for (const device of DEVICES.slice(1)) mqtt([device, 1, 2]);
    await drained();
    const values = [...(await stored()).values()];
    assert.deepEqual(values, [1, 2, 2, 2, 2]);
    assert.equal(settled.mqtt, settled.taken);
  });

  test('messages of several writers are stored, although the spool cannot take them', async (context) => {
    const fault = { ...calm(), unavailable: true };
    const { mqtt, drained, settled, directory, spool } = await setUp(context, fault);
    await rm(join(directory, 'spool'), { recursive: true });
    mqtt(['a', 1, 1]);
    while (spool.trouble === null) await sleep(10);
    mqtt(...DEVICES.map((device) => [device, 2, 2] as const));
    await sleep(300);
    fault.unavailable = false;
    await drained();
    assert.equal(settled.mqtt, settled.taken);
  });

  test('a message of several devices is settled once, when all its readings are settled, with the counts of all of them', async (context) => {
    const fault = calm();
    fault.delay = (batch) => (batch.some(({ device }) => device === 'gw/a') ? 100 : 0);
    fault.refuse = ({ device }) => device === 'gw/b' || device === 'gw/c';
    const { http, mqtt, settled, quarantine, pipeline, drained } = await setUp(context, fault);
    const all = DEVICES.map((device) => [device, 1, 1] as const);
    mqtt(...all);
    await sleep(30);
    assert.equal(settled.mqtt, 0);
    await drained();
    assert.equal(settled.mqtt, 1);
    const { errors, ...counts } = await http(...all);
    assert.deepEqual(counts, { received: 5, stored: 0, duplicate: 3, quarantined: 2 });
    assert.equal(errors?.[0]?.reason, 'rejected');
    assert.deepEqual(pipeline.accounts.counts(), {
      received: 10,
      stored: 3,
      duplicate: 3,
      filtered: 0,
      quarantined: 4,
      spooled: 0,
      inFlight: 0,
    });
    const refused = quarantine.list(10, null, null).items.map(({ position }) => position);
    assert.deepEqual([...new Set(refused)].toSorted(), ['reading 2 of 5', 'reading 3 of 5']);
  });

  test('a replay from quarantine stores rejected readings, and does not replace newer ones', async (context) => {
    const fault = calm();
    fault.refuse = ({ value }) => value === 1;
    const { mqtt, drained, stored, quarantine, pipeline } = await setUp(context, fault);
    mqtt(['a', 1, 1], ['a', 2, 1], ['a', 3, 5]);
    await drained();
    mqtt(['a', 1, 2], ['a', 3, 6]);
    await drained();
    fault.refuse = () => false;
    const { entry } = quarantine.get(1)!;
    assert.deepEqual(entry.part, { of: 3, places: [0, 1] });
    const selected = decodeMessage(new Router(defaultRoutes('durable')), entry, entry.received);
    assert.ok(!(selected instanceof DecodeError));
    const outcome = await pipeline.replay(entry, selected);
    assert.deepEqual(outcome, { received: 2, stored: 1, duplicate: 1, quarantined: 0 });
    const found = await stored();
    assert.deepEqual([found.get('a 1'), found.get('a 2'), found.get('a 3')], [2, 1, 6]);
  });

  test('while the store is unavailable, a reading received by HTTP does not replace its newer correction', async (context) => {
    const fault = calm();
    const { mqtt, http, drained, stored, pipeline } = await setUp(context, fault);
    fault.unavailable = true;
    mqtt(['b', 1, 0]);
    const posted = http(['a', 1, 1], ['b', 2, 1]);
    while (pipeline.accounts.spooled === 0) await sleep(10);
    mqtt(['a', 1, 2], ['b', 9, 2]);
    mqtt(['a', 0, 3], ['b', 2, 3]);
    mqtt(['c', 1, 4]);
    await sleep(300);
    fault.unavailable = false;
    assert.deepEqual(await posted, { received: 2, stored: 2, duplicate: 0, quarantined: 0 });
    await drained();
    const found = await stored();
    assert.deepEqual([found.get('a 1'), found.get('b 2')], [2, 3]);
  });

  for (const [what, behind] of [
    ['reading', 0],
    ['correction', 1],
  ] as const)
    test(`a correction in the batch of its reading is kept when only the ${what} must wait for the spool`, async (context) => {
      const fault = calm();
      const { mqtt, drained, stored, pipeline } = await setUp(context, fault);
      fault.unavailable = true;
      // A replay stores 20 readings, and then these five slowly.
      for (let second = 1; second <= 5; second++)
        for (const device of DEVICES) mqtt([device, second, second === 5 ? 7 : 0]);
      while (pipeline.accounts.spooled < 25) await sleep(10);
      fault.delay = (batch) => (batch.some(({ value }) => value === 7 || value === 1) ? 500 : 0);
      fault.unavailable = false;
      while (pipeline.accounts.spooled > 5) await sleep(5);
      for (const device of DEVICES) {
        // Devices of its lane that wait for the spool.
        const others = DEVICES.filter((other) => other !== device).map((other): Sent => [other, 0, 3]);
        for (const [place, value] of [1, 2].entries())
          mqtt([device, 100, value], ...(place === behind ? others : []));
      }
      await drained();
      const found = await stored();
      assert.deepEqual(
        DEVICES.map((device) => found.get(`${device} 100`)),
        DEVICES.map(() => 2),
      );
    });

  test('for any source and order of readings, the last one of each identity is kept', async (context) => {
    const sent = fc.tuple(
      fc.constantFrom(...DEVICES),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 1e9 }),
    );
    const body = fc.uniqueArray(sent, {
      minLength: 1,
      maxLength: 8,
      selector: ([device, second]) => `${device} ${second}`,
    });
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ way: fc.constant('mqtt' as const), body }) },
      { weight: 2, arbitrary: fc.record({ way: fc.constant('http' as const), body }) },
      { weight: 2, arbitrary: fc.record({ way: fc.constant('pause' as const), body }) },
    );
    let spooled = 0;
    const steps = fc.array(step, { minLength: 150, maxLength: 200 });
    const outage = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 80, max: 140 }));
    const property = fc.asyncProperty(
      steps,
      outage,
      fc.infiniteStream(fc.nat(5)),
      async (all, [from, to], waits) => {
        const fault = calm();
        fault.delay = () => waits.next().value!;
        const { mqtt, http, drained, stored, settled, pipeline } = await setUp(context, fault);
        const expected = new Map<string, number>();
        const answers: Promise<unknown>[] = [];
        for (const [index, { way, body }] of all.entries()) {
          if (index === from) fault.unavailable = true;
          if (index === to) {
            // Readings go to the spool when the store has been unavailable for a second.
            for (let wait = 0; pipeline.accounts.spooledEver === 0 && wait < 200; wait++) await sleep(10);
            fault.unavailable = false;
          }
          if (way === 'pause') await sleep(waits.next().value!);
          else {
            for (const [device, second, value] of body) expected.set(`${device} ${second}`, value);
            if (way === 'mqtt') mqtt(...body);
            else answers.push(http(...body));
          }
        }
        await drained();
        await Promise.all(answers);
        assert.equal(settled.mqtt, settled.taken);
        spooled += pipeline.accounts.spooledEver;
        const found = await stored();
        for (const [identity, value] of expected) assert.equal(found.get(identity), value, identity);
        assert.equal(found.size, expected.size);
      },
    );
    // Each run waits until its readings are spooled, so the runs share that time.
    const runs = [1, 2, 3].map(() => fc.assert(property, { numRuns: 1, endOnFailure: true }));
    await Promise.all(runs);
    assert.ok(spooled > 0);
  });
});
