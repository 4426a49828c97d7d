import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startProcess, temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { hasFiles, killUntilItEnds } from '@tidegauge/test-support/kill-until-it-ends';
import { fillStore, sampleReadings } from '@tidegauge/test-support/sample-readings';
import { copied, copy, MAIN, verified } from '../copies.ts';

const folder = temporaryDirectory('copy');
after(() => folder.remove());
let last = 0;
function fresh(scheme = 'sqlite'): string {
  last += 1;
  return `${scheme}:${folder.path}/${last}`;
}

const reading = (fields: Partial<Reading>): Reading => ({
  device: 'd',
  metric: 'm',
  time: 1_767_225_600_000_000,
  value: 1,
  received: 1_767_225_600_000_000,
  boot: null,
  seq: null,
  quality: 'ok',
  ...fields,
});

async function write(url: string, ...readings: readonly Partial<Reading>[]): Promise<void> {
  const store = await openStore(url);
  await store.readings.write(readings.map(reading));
  await store.close();
}

test('copies readings, units and devices exactly, and again only what has changed', async () => {
  const [from, between, to] = [fresh(), fresh('json'), fresh()];
  await fillStore(openStore(from), 3000);
  const first = await copied(from, between);
  assert.equal(first.complete, true);
  assert.equal(first.readings.written, 3000);
  await copied(between, to);
  const found = await verified(from, to);
  assert.equal(found.code, 0);
  assert.equal(found.equal, true);
  assert.equal(found.source.readings, 3000);
  const { registered, units } = sampleReadings(3000);
  assert.deepEqual([found.devices.total, found.units.total], [registered.length, units.length]);
  const [source, target] = [await openStore(from), await openStore(to)];
  assert.deepEqual(await target.devices.list({ limit: 100 }), await source.devices.list({ limit: 100 }));
  await assert.rejects(source.records.read('copyprogress', 'x', null), /does not exist/);

  // A late reading, a correction, a new device, a changed one, and a new unit.
  await source.readings.write([
    reading({ device: 'sensor-1', time: 5, value: 'late' }),
    { ...reading({ device: 'sensor-1', metric: 'humidity', time: 0 }), value: 77, received: 2 ** 52 },
    reading({ device: 'new' }),
  ]);
  await source.readings.setUnits([{ device: 'new', metric: 'm', unit: 'V' }]);
  await source.devices.put({ ...registered[0]!, city: 'Bern' });
  await source.close();
  await target.close();
  const second = await copied(from, to, '--merge');
  assert.equal(second.readings.written, 3);
  assert.deepEqual([second.units.missing, second.devices.different], [1, 1]);
});

test('continues without a second question, and does not write what is there', async () => {
  const [from, to] = [fresh(), fresh()];
  await fillStore(openStore(from), 500);
  await copied(from, to);
  await write(from, { time: 9 });
  const again = await copied(from, to);
  assert.deepEqual([again.readings.written, again.readings.equal], [1, 500]);
});

test('refuses a target with other data, unless --merge keeps it', async () => {
  const [from, to] = [fresh(), fresh()];
  await write(from, { value: 1 }, { time: 1, value: 'old', received: 10 }, { time: 2, value: 0 });
  await write(to, { device: 'own' }, { time: 1, value: 'newer', received: 11 }, { time: 2, value: -0 });
  const refused = await copy('--from', from, '--to', to);
  assert.equal(refused.code, 2);
  assert.match(
    refused.stderr,
    /^sqlite:\S+ is not empty, and no copy from \S+ was started there: .*--merge.*\n$/,
  );
  const merged = await copied(from, to, '--merge');
  const { written, kept, details, extra } = merged.readings;
  assert.deepEqual({ written, kept, details, extra }, { written: 1, kept: 1, details: 1, extra: 0 });
  assert.equal((await verified(from, to)).code, 1, 'the target has another value');
  const store = await openStore(to);
  assert.deepEqual(
    (await store.readings.latest(['own', 'd'])).map(({ device, value }) => `${device} ${value}`),
    ['d 1', 'own 1'],
  );
  await store.close();
});

test('verify lists the days that differ, and does not write', async () => {
  const [from, to] = [fresh(), fresh()];
  await write(from, { value: 1 }, { time: 1 }, { device: 'gone' });
  await write(to, { value: 2 }, { time: 2 }, { device: 'more' });
  const { code, stdout } = await copy('verify', '--from', from, '--to', to);
  assert.equal(code, 1);
  assert.match(stdout, /^source: 3 readings, digest [0-9a-f]{64}\ntarget: 3 readings, digest [0-9a-f]{64}\n/);
  const lines = stdout.split('\n').slice(2).sort();
  assert.deepEqual(lines.filter(Boolean), [
    'd 1970-01-01: 1 missing, 1 in the target only',
    'd 2026-01-01: 1 different',
    'gone 2026-01-01: 1 missing',
    'more 2026-01-01: 1 in the target only',
    'the stores differ',
  ]);
  const again = await verified(from, to);
  assert.deepEqual(again.readings, { equal: 0, missing: 2, different: 1, details: 0, extra: 2 });
});

test('refuses one store on both sides, a file that does not exist, and unknown words', async () => {
  const [from, to] = [fresh(), fresh()];
  await write(from, {});
  for (const [args, reason] of [
    [['--from', from, '--to', `${from}?sync=full`], /^--from and --to are the same store\n$/],
    [['--from', fresh(), '--to', to], /^sqlite:\S+: there is no \S+: correct the path\n$/],
    [['verify', '--from', from, '--to', fresh()], /there is no/],
    [['verify', '--from', from, '--to', to, '--follow', '5s'], /--follow repeats a copy/],
    [['check', '--from', from, '--to', to], /verify/],
    [['--from', from, '--to', 'null:'], /null/],
    [['--from', from], /--to/],
  ] as const) {
    const { code, stderr } = await copy(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, reason);
  }
});

test('reads both stores from the environment, which hides their passwords', async (t) => {
  const [from, to] = [fresh(), fresh()];
  await write(from, {});
  Object.assign(process.env, { FROM: from, TO: to });
  t.after(() => {
    for (const name of ['FROM', 'TO']) delete process.env[name];
  });
  const { code, stderr } = await copy();
  assert.equal(code, 0, stderr);
});

test('continues after kill -9 at any moment, with equal digests', { timeout: 300_000 }, async () => {
  const [from, to] = [fresh(), fresh('json')];
  await fillStore(openStore(from), 10_000);
  const { kills } = await killUntilItEnds([MAIN, '--from', from, '--to', to], () =>
    hasFiles(join(to.slice('json:'.length), 'readings')),
  );
  assert.ok(kills > 0, 'the copy was interrupted');
  const found = await verified(from, to);
  assert.deepEqual([found.code, found.equal, found.source.readings], [0, true, 10_000]);
});

test('copies while the source is written; the next copy has the rest', { timeout: 300_000 }, async () => {
  const [from, to] = [fresh(), fresh()];
  await fillStore(openStore(from), 5000);
  const store = await openStore(from);
  const first = startProcess({ command: process.execPath, args: [MAIN, '--from', from, '--to', to] });
  let written = 0;
  for (; first.running; written += 1) {
    const time = 1_790_000_000_000_000 + written;
    await store.readings.write([
      reading({ device: `sensor-${written % 40}`, time, received: time, value: written }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal((await first.exited).code, 0, first.log());
  await store.close();
  assert.ok(written > 10);
  const second = await copied(from, to);
  assert.ok(second.readings.written > 0, 'some arrived too late for the first copy');
  const found = await verified(from, to);
  assert.deepEqual([found.code, found.equal, found.source.readings], [0, true, 5000 + written]);
});

test('--follow copies new readings until it is stopped', { timeout: 60_000 }, async () => {
  const [from, to] = [fresh(), fresh()];
  await write(from, {});
  const results: string[] = [];
  const following = startProcess({
    command: process.execPath,
    args: [MAIN, '--from', from, '--to', to, '--follow', '1s', '--json'],
    onOutput: (text, stream) => {
      if (stream === 'stdout') results.push(text);
    },
  });
  while (results.length < 1) await new Promise((resolve) => setTimeout(resolve, 50));
  await write(from, { time: 7 });
  while (!results.some((text, index) => index > 0 && /"written":1\b/.test(text)))
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal((await following.stop()).code, 0);
  assert.equal((await verified(from, to)).equal, true);
});
