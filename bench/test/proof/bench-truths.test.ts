import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startDelayProxy } from '@tidegauge/bench/delay-proxy';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/truths.ts', import.meta.url));

function bench(...args: string[]) {
  return runProgramSync(process.execPath, [BENCH, '--quick', ...args], {
    accept: 'any',
    timeoutMs: 600_000,
  });
}

test('bench truths --quick makes each kind of comparison, and judges it', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'truths.json');
  const { code, stdout, stderr } = bench('--json', json);
  assert.equal(code, 0, stderr);
  const { setup, same, planted, busy, unmet } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual([setup.stores, setup.delayed, setup.pair], [['sqlite'], 'sqlite', ['sqlite', 'json']]);
  const metricsOf = (results: readonly { metric: string }[]): readonly string[] =>
    results.map(({ metric }) => metric).toSorted();
  const operations = ['read.mean', 'throughput', 'update.mean'];
  const [{ comparisons }] = same.experiments;
  assert.deepEqual(metricsOf(comparisons), [
    'read.mean',
    'read.median',
    'throughput',
    'update.mean',
    'update.median',
  ]);
  for (const { first, second, ratio, secondMean, verdict } of comparisons) {
    assert.deepEqual([first.driver, second.driver], ['raw', 'raw-again']);
    assert.ok(ratio.low < ratio.value && ratio.value < ratio.high && secondMean > 0);
    assert.match(verdict, /^(different|equivalent|undecided)$/);
  }
  const [{ found }] = planted.experiments;
  assert.deepEqual(metricsOf(found), ['read.mean', 'read.median']);
  for (const { percent, truth, ratio, isFound } of found) {
    assert.equal(percent, 10);
    assert.ok(truth > 1 && ratio.low < ratio.high);
    assert.equal(isFound, ratio.low <= truth && truth <= ratio.high);
  }
  assert.deepEqual(
    busy.experiments.map(({ isBusy }: { isBusy: boolean }) => isBusy),
    [false, true],
  );
  for (const { comparisons: stores } of busy.experiments)
    assert.deepEqual(metricsOf(stores), [...operations, ...operations].toSorted());
  assert.ok(Array.isArray(unmet));
  assert.match(stdout, /^ {2}sqlite, 1 at once, throughput +1 /m);
  assert.match(stdout, /^ {2}10 %, read\.median +\d/m);
  assert.match(stdout, /^ {2}read\.mean, driver app +\d/m);
  assert.match(
    stdout,
    /^busy: 2 loops of other work\. In this part, foreign processor time makes no run invalid$/m,
  );
});

test('a delay proxy adds its time once to each round trip', async (context) => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const proxy = await startDelayProxy(`127.0.0.1:${(server.address() as AddressInfo).port}`, 20);
  context.after(() => proxy.stop());
  const [host, port] = proxy.address.split(':');
  const socket = connect({ host: host!, port: Number(port), noDelay: true });
  context.after(() => socket.destroy());
  const times: number[] = [];
  for (let trip = 0; trip < 5; trip += 1) {
    const begun = performance.now();
    socket.write('ping');
    const [answer] = await once(socket, 'data');
    assert.equal(String(answer), 'ping');
    times.push(performance.now() - begun);
  }
  for (const time of times) assert.ok(time >= 20, `${times}`);
  assert.ok(Math.min(...times) < 40, `${times}: it waits once`);
});
