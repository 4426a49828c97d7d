import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '@tidegauge/storage';
import { type PublishedDevice, readSimReport } from '../../src/ledger/sim-report.ts';
import { type MissingReadings, verifyRun } from '../../src/ledger/verify-run.ts';

async function setUp(context: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-verify-'));
  const store = await openStore(`sqlite:${join(directory, 's.db')}`);
  context.after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  return {
    report: join(directory, 'report.json'),
    /** Stores numbers of device a, boot b. The metric and the time follow from the number. */
    async write(numbers: readonly number[], metrics = ['m'], timeOf = (seq: number) => seq) {
      const readings = numbers.map((seq) => ({
        device: 'a',
        metric: metrics[seq % metrics.length]!,
        time: 1_790_000_000_000_000 + timeOf(seq),
        value: seq,
        received: 1_790_000_000_000_000,
        boot: 'b',
        seq,
        quality: 'ok' as const,
      }));
      await store.readings.write(readings);
    },
    async verify(devices: readonly PublishedDevice[]) {
      const missing: MissingReadings[] = [];
      const each = async function* () {
        yield* devices;
      };
      const result = await verifyRun(
        each(),
        store,
        (found) => missing.push(found),
        new AbortController().signal,
      );
      return { ...result, list: missing };
    },
  };
}

const boot = { boot: 'b', first: 0, last: 9, readings: 10, acknowledged: [[0, 9] as const], repeated: [] };

test('missing readings are named with boot, number and metric', async (context) => {
  const bench = await setUp(context);
  await bench.write([0, 1, 2, 4, 7, 8, 9], ['m', 'n', 'o']);
  const found = await bench.verify([
    {
      device: 'a',
      metrics: ['m', 'n', 'o'],
      boots: [boot, { ...boot, boot: 'c', last: 0, acknowledged: [[0, 0]] }],
    },
  ]);
  assert.deepEqual(found.list, [
    { device: 'a', boot: 'b', first: 3, last: 3, metrics: ['m'] },
    { device: 'a', boot: 'b', first: 5, last: 6, metrics: ['o', 'm'] },
    { device: 'a', boot: 'c', first: 0, last: 0, metrics: ['m'] },
  ]);
  const { acknowledged, stored, missing, duplicate } = found;
  assert.deepEqual([acknowledged, stored, missing, duplicate], [11, 7, 4, 0]);
});

test('a number that is stored twice is found, and one that was not acknowledged may be stored or not', async (context) => {
  const bench = await setUp(context);
  await bench.write([0, 1, 2, 5]);
  await bench.write([1], ['m'], () => 1000);
  const published = { ...boot, acknowledged: [[0, 2] as const, [7, 7] as const] };
  const found = await bench.verify([{ device: 'a', metrics: ['m'], boots: [published] }]);
  const { stored, missing, duplicate, unacknowledged } = found;
  assert.deepEqual(
    { stored, missing, duplicate, unacknowledged },
    { stored: 3, missing: 1, duplicate: 1, unacknowledged: 1 },
  );
});

test('a reading that was replaced by one of the same time is not missing', async (context) => {
  const bench = await setUp(context);
  const timeOf = (seq: number) => (seq === 4 ? 3 : seq);
  await bench.write([0, 1, 2, 3], ['m'], timeOf);
  await bench.write([4, 5], ['m'], timeOf);
  const published = { ...boot, last: 5, acknowledged: [[0, 5] as const], repeated: [[4, 4] as const] };
  const { missing, replaced } = await bench.verify([{ device: 'a', metrics: ['m'], boots: [published] }]);
  assert.deepEqual({ missing, replaced }, { missing: 0, replaced: 1 });
});

test('a report is read device by device', async (context) => {
  const { report } = await setUp(context);
  const devices = [
    { device: 'a', metrics: ['m'], boots: [boot] },
    { device: 'b', metrics: ['m', 'n'], boots: [] },
  ];
  writeFileSync(
    report,
    JSON.stringify({ options: {}, seconds: 1, totals: {}, devices, failures: [] }, null, 2),
  );
  assert.deepEqual(await collect(readSimReport(report)), devices);
});

for (const [what, content, message] of [
  ['no JSON', 'hello', /byte 0: it is not a JSON object/],
  ['no devices', '{"options":{}}', /it has no devices/],
  [
    'a run that failed',
    '{"devices":[],"failures":["the broker refused"]}',
    /the run failed: the broker refused/,
  ],
  [
    'payloads without numbers',
    '{"devices":[{"device":"a","metrics":["m"],"boots":null}]}',
    /devices\[0\]\.boots is null/,
  ],
  [
    'a report of an earlier version',
    '{"devices":[{"device":"a","metrics":["m"],"boots":[{"boot":"b","first":0,"last":1,"readings":2}]}]}',
    /earlier version/,
  ],
  [
    'ranges that overlap',
    '{"devices":[{"device":"a","metrics":["m"],"boots":[{"boot":"b","first":0,"last":9,"readings":9,"acknowledged":[[0,5],[4,9]]}]}]}',
    /boots\[0\]\.acknowledged is not a list of ascending ranges/,
  ],
] as const) {
  test(`${what}: the file is refused with its name and the place`, async (context) => {
    const { report } = await setUp(context);
    writeFileSync(report, content);
    await assert.rejects(collect(readSimReport(report)), (error: Error) => {
      assert.match(error.message, message);
      assert.ok(error.message.includes(report));
      return true;
    });
  });
}

test('a file that does not exist is reported', async () => {
  await assert.rejects(collect(readSimReport('/nowhere/report.json')), /there is no such file/);
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
