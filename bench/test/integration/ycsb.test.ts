import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { compileWithYcsb } from '@tidegauge/lab/ycsb';
import { runYcsb, type YcsbPhase } from '@tidegauge/loadtests/drivers/run-ycsb';
import { freePort, runProgram } from '@tidegauge/process';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import type { ServiceProcess } from '@tidegauge/test-support/service-process';
import { NODE, ROOT } from '../../../scripts/setup.js';

const BINDING = fileURLToPath(new URL('../../../loadtests/ycsb/', import.meta.url));
const WORKLOADS = fileURLToPath(new URL('../../../packages/workload/workloads/', import.meta.url));
const RECORDS = 300;
const OPERATIONS = 400;
const started = await startOrSkip('ycsb', () => compileWithYcsb(BINDING));

describe('YCSB’s own client', 'skip' in started ? { skip: started.skip } : {}, () => {
  let directory = '';
  let api: ServiceProcess;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidegauge-ycsb-'));
    api = await startApiProcess({ STORE: `sqlite:${join(directory, 'test.db')}` });
  });
  after(async () => {
    await api?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const argsFor = (workload: string, more: Readonly<Record<string, string | number>> = {}): string[] => {
    const properties = {
      'tidegauge.url': api.url,
      table: `table_${workload}`,
      recordcount: RECORDS,
      operationcount: OPERATIONS,
      ...more,
    };
    const pairs = Object.entries(properties).flatMap(([name, value]) => ['-p', `${name}=${value}`]);
    return ['-P', `${WORKLOADS}workload${workload}`, ...pairs, '-threads', '2'];
  };
  const client = (phase: YcsbPhase, workload: string, more: Readonly<Record<string, string>> = {}) =>
    runYcsb({ phase, args: argsFor(workload, more) });
  const counted = (result: Awaited<ReturnType<typeof runYcsb>>): Record<string, number> => {
    assert.equal(result.exitCode, 0, result.log);
    assert.ok(result.throughput > 0);
    const counts: Record<string, number> = {};
    for (const [name, { count, returns }] of Object.entries(result.operations)) {
      if (name === 'CLEANUP' || name === 'READ-MODIFY-WRITE') continue;
      assert.deepEqual(returns, { OK: count }, name);
      counts[name] = count;
    }
    return counts;
  };
  const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);

  test('loads and runs workloads A and F, and every read returns the written values', async () => {
    for (const workload of ['a', 'f']) {
      const whole = { dataintegrity: 'true' };
      assert.deepEqual(counted(await client('load', workload, whole)), { INSERT: RECORDS });
      const result = await client('run', workload, whole);
      const counts = counted(result);
      assert.equal(counts.VERIFY, counts.READ);
      if (workload === 'a') assert.equal(counts.READ! + counts.UPDATE!, OPERATIONS);
      else {
        assert.equal(counts.READ, OPERATIONS);
        assert.equal(result.operations['READ-MODIFY-WRITE']!.count, counts.UPDATE);
      }
    }
  });

  test('scans and inserts as in workload E, also with single fields', async () => {
    await client('load', 'e');
    const counts = counted(await client('run', 'e', { readallfields: 'false' }));
    assert.deepEqual(Object.keys(counts).sort(), ['INSERT', 'SCAN']);
    assert.equal(sum(counts), OPERATIONS);
  });

  const program = (args: readonly string[]) =>
    runProgram(NODE, ['bench/ycsb.ts', ...args], { cwd: ROOT, accept: 'any' });

  test('--repeat runs the operations several times, and the report has the figures of each run', async () => {
    await client('load', 'c');
    const [html, json] = [join(directory, 'ycsb.html'), join(directory, 'ycsb.json')];
    const args = argsFor('c', { operationcount: 50 });
    const ended = await program(['run', ...args, '--repeat', '2', '--report', html, '--json', json]);
    assert.equal(ended.code, 0, ended.stderr);
    const runs = JSON.parse(await readFile(json, 'utf8')) as { operations: { READ: { count: number } } }[];
    assert.deepEqual(
      runs.map(({ operations }) => operations.READ.count),
      [50, 50],
    );
    assert.match(await readFile(html, 'utf8'), /operations\.READ\.figures\.AverageLatency\(us\)/);
  });

  test('--repeat runs a workload that inserts records, each time after those of the last run', async () => {
    await client('load', 'd');
    const json = join(directory, 'inserts.json');
    const ended = await program(['run', ...argsFor('d'), '--repeat', '2', '--json', json]);
    assert.equal(ended.code, 0, ended.stderr);
    const runs = JSON.parse(await readFile(json, 'utf8')) as {
      operations: { INSERT: { count: number; returns: object } };
    }[];
    assert.equal(runs.length, 2);
    for (const { INSERT } of runs.map(({ operations }) => operations)) {
      assert.ok(INSERT.count > 0);
      assert.deepEqual(INSERT.returns, { OK: INSERT.count });
    }
  });

  test('failed operations are reported and counted, and the program ends with 1', async () => {
    const ended = await program(['run', ...argsFor('c', { table: 'nowhere', operationcount: 20 })]);
    assert.equal(ended.code, 1);
    assert.match(ended.stdout, /^\[READ\], Return=BAD_REQUEST, 20$/m);
    assert.match(ended.stderr, /^tidegauge: .*table nowhere does not exist/m);
  });

  test('a run that does nothing ends the program with 1, and a wrong phase with 2', async () => {
    const closed = `http://127.0.0.1:${await freePort()}`;
    const ended = await program(['load', ...argsFor('c', { 'tidegauge.url': closed })]);
    assert.equal(ended.code, 1);
    assert.ok(ended.stderr.includes(`tidegauge: PUT ${closed}/v1/records/table_c: `), ended.stderr);
    const wrong = await program(['walk']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^unknown command walk; the commands are load, run$/m);
  });
});
