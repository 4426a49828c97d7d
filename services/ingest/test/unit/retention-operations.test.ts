import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { now, type Reading } from '@tidegauge/readings';
import { createLogger, createServiceApp, listen, Metrics } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import { retentionOperations } from '../../src/retention/retention-operations.ts';
import { parseKeep } from '../../src/retention/rules.ts';
import { RulesFile } from '../../src/retention/rules-file.ts';

const HOUR = 3600e6;

function readingAt(time: number): Reading {
  return {
    device: 'site-3/a',
    metric: 'm',
    time,
    value: 1,
    received: time,
    boot: null,
    seq: null,
    quality: 'ok',
  };
}

async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-retention-operations-'));
  const file = join(folder, 'retention.yml');
  const logger = createLogger('test', 'silent');
  const store = await openStore(`sqlite:${join(folder, 'store.db')}`);
  const rules = new RulesFile({ file, isRequired: false, last: parseKeep('raw:1y'), store, logger });
  const parts = { rules, store, retention: { last: null }, limits: { maxBytes: 0, minFreeBytes: 0 } };
  const app = createServiceApp({
    operations: retentionOperations({ ...parts, everyMs: 3_600_000 }, 'ingest-1'),
    logger,
    metrics: new Metrics(),
    checks: {},
    listen: '127.0.0.1',
  });
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(async () => {
    await server.close(0);
    rules.close();
    await store.close();
    rmSync(folder, { recursive: true });
  });
  const call = async (method: string, path: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}${path}`, { method, ...sent });
    // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape
    return { status: response.status, body: (await response.json()) as any };
  };
  return { file, store, rules, call };
}

test('rules are written to the file, used at once, and written as they are read', async (t) => {
  const { file, rules, call } = await start(t);
  let changes = 0;
  rules.onChange(() => changes++);
  const wanted = [{ devices: 'site-3', metrics: ['m', 'n'], keep: 'raw:7d,1m:1y' }, { keep: 'raw:36h' }];
  const { status, body } = await call('PUT', '/retention', { rules: wanted, before: [] });
  assert.equal(status, 200);
  // A week is the largest unit that keeps seven days whole.
  const used = [{ ...wanted[0], keep: 'raw:1w,1m:1y' }, wanted[1]];
  assert.deepEqual([body.rules, body.others, changes], [used, 'raw:1y', 1]);
  assert.equal(rules.isUsed, true);
  assert.match(readFileSync(file, 'utf8'), /^- \{"devices":"site-3",.*\n- \{"keep":"raw:36h"\}\n$/);
  // Another process with the same file has made the change.
  assert.equal((await call('PUT', '/retention', { rules: used, before: [] })).status, 200);
  assert.equal((await call('PUT', '/retention', { rules: [], before: [] })).status, 409);
  writeFileSync(file, '- { keep: raw:2d } # by a person\n');
  assert.equal((await call('PUT', '/retention', { rules: [], before: used })).status, 409);
  const last = await call('PUT', '/retention', { rules: [], before: [{ keep: 'raw:2d' }] });
  assert.deepEqual([last.status, last.body.rules], [200, []]);
  assert.equal(readFileSync(file, 'utf8'), '[]\n');
});

test('a mistake changes nothing', async (t) => {
  const { file, rules, call } = await start(t);
  for (const [body, status] of [
    [{}, 400],
    [{ rules: [{ keep: 'soon' }] }, 422],
    [{ rules: [{ keep: 'raw:1d' }, { devices: 'a', keep: 'raw:2d' }] }, 422],
    [{ rules: [{ keep: 'raw:1d', devices: '..' }] }, 422],
    [{ rules: ['raw:1d'] }, 422],
  ] as const)
    assert.equal((await call('PUT', '/retention', body)).status, status, JSON.stringify(body));
  assert.throws(() => readFileSync(file), /ENOENT/);
  assert.equal(rules.rules.rules.length, 1);
});

test('a dry run counts what rules would delete, and deletes nothing', async (t) => {
  const { store, call } = await start(t);
  const time = now();
  await store.readings.write([1, 3, 5].map((hours) => readingAt(time - hours * HOUR)));
  const { body } = await call('POST', '/retention/preview', {
    rules: [{ devices: 'site-3', keep: 'raw:2h' }],
  });
  assert.equal(body.isComplete, true);
  assert.deepEqual(
    body.rules.map(({ rule, readings, series }: Record<string, unknown>) => [rule, readings, series]),
    [
      ['site-3', 2, 1],
      ['all other series', 0, 0],
    ],
  );
  const again = await call('POST', '/retention/preview', { rules: [] });
  assert.equal(again.body.rules[0].readings, 0);
  assert.equal((await call('POST', '/retention/preview', { rules: [{ keep: 'soon' }] })).status, 422);
});
