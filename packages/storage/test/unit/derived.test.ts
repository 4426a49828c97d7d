import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { unknownDevice } from '@tidegauge/readings';
import { collect, reading, series, T0 } from '../../conformance/data.ts';
import { complete, NATIVE_CALLS, nativeCallsOf } from '../../src/derived/complete.ts';
import { DerivedMarks } from '../../src/derived/marks.ts';
import { parseUrl } from '../../src/index.ts';
import type { Mark } from '../../src/rollups/backend-rollups.ts';
import { SqliteBackend } from '../../src/sqlite/backend.ts';
import { readConfig } from '../../src/sqlite/config.ts';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const HOUR_0 = T0 - (T0 % HOUR);

/** An open SQLite database, and the same with everything derived that can be. */
async function opened(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-derived-'));
  const engine = new SqliteBackend(readConfig(parseUrl(`sqlite:${folder}/derived.db`)));
  const store = complete(engine, NATIVE_CALLS);
  await store.open();
  context.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await store.migrate();
  return { engine, store };
}

function mark(fields: Partial<Mark> = {}): Mark {
  return { device: 'a', metric: 'm', hour: HOUR_0, due: HOUR_0 + 62 * MINUTE, erased: false, ...fields };
}

test('callers get nothing of what derived parts keep, and do not delete it', async (context) => {
  const { engine, store } = await opened(context);
  await store.readings.write(series('a', 10, 'm'));
  await store.readings.setUnits([{ device: 'a', metric: 'm', unit: 'V' }]);
  await store.devices.put({ ...unknownDevice('silent'), city: 'Husum' });
  assert.equal(await store.lease('work', 'me', 60_000), true);
  await store.rollups!.putMarks([mark()]);
  assert.ok((await collect(engine.readings.devices())).length > 4, 'the engine has reserved devices');
  assert.deepEqual(await collect(store.readings.devices()), ['a']);
  assert.deepEqual(await store.readings.metrics('a', 10), ['m']);
  const { groups } = await store.readings.groups({ by: 'device', limit: 10 });
  assert.deepEqual(
    groups.map(({ key }) => key),
    ['a'],
  );
  assert.equal(await store.readings.expire(T0 + 60 * HOUR), 10);
  await store.readings.delete({ device: 'a' });
  assert.deepEqual(await store.readings.units([{ device: 'a', metric: 'm' }]), ['V']);
  assert.equal((await store.devices.get('silent'))?.city, 'Husum');
  assert.equal(await store.lease('work', 'other', 60_000), false);
  assert.equal((await store.rollups!.countMarks()).marks, 1);
});

test('each native call of an engine can be derived alone', async (context) => {
  const { engine } = await opened(context);
  assert.deepEqual(
    nativeCallsOf(engine),
    NATIVE_CALLS.filter((call) => call !== 'aggregate' && call !== 'rangeOfDevices'),
  );
  const part = complete(engine, ['latest', 'units']);
  await part.readings.write(series('a', 3, 'm'));
  await part.readings.setUnits([{ device: 'a', metric: 'm', unit: 'V' }]);
  const native = complete(engine);
  assert.deepEqual(await part.readings.latest(['a'], 10), await native.readings.latest(['a'], 10));
  assert.deepEqual(await native.readings.units([{ device: 'a', metric: 'm' }]), [null]);
  assert.equal(part.rollups, engine.rollups);
});

test('of marks of one hour, the latest due counts, and any of them can be erased', async (context) => {
  const { store } = await opened(context);
  const rollups = store.rollups!;
  const [early, late] = [mark({ erased: true }), mark({ due: HOUR_0 + 70 * MINUTE })];
  await rollups.putMarks([late]);
  await rollups.putMarks([early]);
  const joined = { ...late, erased: true };
  assert.deepEqual(await rollups.marksOf({ device: 'a', metric: 'm' }, HOUR_0, HOUR_0 + 1), [joined]);
  assert.deepEqual(await rollups.marksOf({ device: 'a', metric: 'm' }, HOUR_0 + 1, HOUR_0 + HOUR), []);
  assert.deepEqual(await rollups.dueMarks(early.due - 1, 10), []);
  assert.deepEqual(await rollups.dueMarks(late.due, 10), [joined]);
  assert.deepEqual(await rollups.countMarks(), { marks: 1, hour: HOUR_0, due: early.due });
  await rollups.removeMarks([early]);
  assert.deepEqual(await rollups.dueMarks(late.due, 10), [late], 'a later change stays');
  assert.deepEqual(await rollups.marksOf({ device: 'a', metric: 'm' }, HOUR_0, HOUR_0 + HOUR), [late]);
  await rollups.removeMarks([late]);
  assert.deepEqual(await rollups.countMarks(), { marks: 0, hour: null, due: null });
  assert.deepEqual(await rollups.marksOf({ device: 'a', metric: 'm' }, HOUR_0, HOUR_0 + HOUR), []);
});

test('marks of several processes with the same due do not replace each other', async (context) => {
  const { engine } = await opened(context);
  const processes = [1, 2, 3].map(() => new DerivedMarks(engine.readings, 5000));
  const given = processes.map((_, process) =>
    // Long names, so that a call makes several entries of the queue.
    Array.from({ length: 300 }, (_, index) => mark({ device: `${'d'.repeat(150)}-${process}-${index}` })),
  );
  await Promise.all(processes.map((marks, process) => marks.put(given[process]!)));
  const [first] = processes;
  assert.equal((await first!.count()).marks, 900);
  const due = await first!.due(mark().due, 1000);
  assert.equal(due.length, 900);
  await first!.remove(due.slice(0, 450));
  assert.equal((await processes[2]!.count()).marks, 450);
});

test('the mark of the last hour of all times has a place in the queue', async (context) => {
  const { store } = await opened(context);
  const time = Number.MAX_SAFE_INTEGER;
  const hour = time - (time % HOUR);
  await store.rollups!.putMarks([mark({ hour, due: hour + 62 * MINUTE })]);
  assert.equal((await store.rollups!.countMarks()).marks, 1);
  const [found] = await store.rollups!.marksOf({ device: 'a', metric: 'm' }, hour, hour + HOUR);
  assert.equal(found?.hour, hour);
});

test('a claim that its process did not confirm ends by itself', async (context) => {
  const { engine, store } = await opened(context);
  const claim = (ms: number) =>
    reading({
      ...{ device: 'lease work', metric: 'gone', time: 0, received: 0 },
      value: JSON.stringify({ expires: Date.now() + ms, isHeld: false }),
    });
  await engine.readings.write([claim(60_000)]);
  assert.equal(await store.lease('work', 'me', 60_000), false);
  await engine.readings.write([claim(-1)]);
  assert.equal(await store.lease('work', 'me', 60_000), true);
  assert.equal(await store.lease('work', 'gone', 60_000), false);
});
