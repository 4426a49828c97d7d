import assert from 'node:assert/strict';
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../setup.js';
import { parseRecords, summarize, type TestRecord } from '../../test-run/records.ts';
import { repeatsOf, withFlaky } from '../../test-run/repeats.ts';
import { runJob } from '../../test-run/run-job.ts';
import { jobsOf, SUITES } from '../../test-run/suites.ts';
import { fileTimes, processorTime, timesTable } from '../../test-run/times.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-run-'));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const run = (...files: readonly string[]) =>
  runJob({ suite: 'unit', name: 'job', files }, { names: null, leftOverMs: 500 });

test('a job reports each test of its files with outcome and reason', async () => {
  const first = file(
    'first.test.mjs',
    `import { describe, test } from 'node:test';
     test('passes', () => {});
     test('is skipped', { skip: 'no server' }, () => {});
     describe('group', () => {
       test('fails', () => { throw new Error('this is wrong'); });
     });`,
  );
  const second = file('second.test.mjs', `import { test } from 'node:test'; test('passes too', () => {});`);
  const { records, problems } = await run(first, second);
  assert.deepEqual(problems, []);
  const found = records.map((record) => [record.file, record.name, record.outcome]);
  assert.deepEqual(found.toSorted(), [
    [first, 'fails', 'failed'],
    [first, 'is skipped', 'skipped'],
    [first, 'passes', 'passed'],
    [second, 'passes too', 'passed'],
  ]);
  assert.equal(records.find(({ outcome }) => outcome === 'skipped')!.reason, 'no server');
  assert.match(records.find(({ outcome }) => outcome === 'failed')!.reason!, /this is wrong/);
});

test('a skipped suite and a suite whose hook fails are reported', async () => {
  const path = file(
    'suites.test.mjs',
    `import { before, describe, test } from 'node:test';
     describe('skipped suite', { skip: 'no server' }, () => { test('in it', () => {}); });
     describe('broken suite', () => {
       before(() => { throw new Error('broken hook'); });
       test('after the hook', () => {});
     });`,
  );
  const { records } = await run(path);
  const of = (outcome: string) => records.filter((record) => record.outcome === outcome);
  assert.ok(of('skipped').some(({ reason }) => reason === 'no server'));
  assert.ok(of('failed').some(({ reason }) => reason?.includes('broken hook')));
});

test('a file that cannot be loaded fails its job, and so does a process that ends early', async () => {
  const broken = file('broken.test.mjs', `import { missing } from './nowhere.mjs'; missing();`);
  const ended = file(
    'ended.test.mjs',
    `import { test } from 'node:test'; test('ends all', () => process.exit(3));`,
  );
  for (const path of [broken, ended]) {
    const { records, problems } = await run(path);
    const failed = records.filter(({ outcome }) => outcome === 'failed').length + problems.length;
    assert.ok(failed > 0, path);
  }
});

test('an error that nobody caught ends the job at once, and is printed', async () => {
  const thrown = `setTimeout(() => { throw new Error('too late'); })`;
  const rejected = `void Promise.reject(new Error('too late'))`;
  for (const [index, mistake] of [thrown, rejected].entries()) {
    const path = file(
      `late-${index}.test.mjs`,
      `import { test } from 'node:test';
       test('waits for an hour', async () => { ${mistake}; await new Promise((resolve) => setTimeout(resolve, 3_600_000)); });`,
    );
    const { problems, output } = await run(path);
    assert.deepEqual(problems, ['job: exit code 1, and no failed test']);
    assert.match(output, new RegExp(`nobody caught Error: too late\\n.*${path}`));
  }
});

test('a test that does not end is named, and ends its job', async () => {
  const path = file(
    'hangs.test.mjs',
    `import { test } from 'node:test';
     test('hangs', () => { setInterval(() => {}, 1000); return new Promise(() => {}); });
     test('does not end either', () => new Promise(() => {}));`,
  );
  const job = { suite: 'unit', name: 'job', files: [path] };
  const { records, problems } = await runJob(job, { names: null, testTimeoutMs: 100 });
  assert.deepEqual(problems, []);
  assert.equal(records[0]!.name, 'hangs');
  assert.match(records[0]!.reason!, /timed out after 100ms/);
});

test('no hook follows the promises of a test', async () => {
  const path = file(
    'promises.test.mjs',
    `import { executionAsyncId } from 'node:async_hooks';
     import { test } from 'node:test';
     // A promise has an identifier only while a hook is active.
     test('awaits', async () => { await null; if (executionAsyncId() !== 0) throw new Error('it has one'); });`,
  );
  const { records } = await run(path);
  assert.deepEqual(
    records.map(({ outcome }) => outcome),
    ['passed'],
  );
});

test('a process that a job leaves is ended, and fails the job', async () => {
  const path = file(
    'leaves.test.mjs',
    `import { spawn } from 'node:child_process';
     import { test } from 'node:test';
     test('leaves a process', () => {
       spawn('sleep', ['300'], { detached: true, stdio: 'ignore' }).unref();
     });`,
  );
  const { problems } = await run(path);
  assert.equal(problems.length, 1);
  const [, pid] = /^job left processes: (\d+) \(sleep 300\)$/.exec(problems[0]!) ?? [];
  assert.ok(pid, problems[0]!);
  for (const deadline = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    try {
      process.kill(Number(pid), 0);
    } catch {
      break;
    }
    assert.ok(Date.now() < deadline, `process ${pid} still runs`);
  }
});

test('what a job leaves in the temporary directory is removed', async () => {
  const path = file(
    'temporary.test.mjs',
    `import { spawnSync } from 'node:child_process';
     import { mkdtempSync } from 'node:fs';
     import { tmpdir } from 'node:os';
     import { test } from 'node:test';
     test('leaves two directories: ' + mkdtempSync(tmpdir() + '/left-') + ' ' + spawnSync('mktemp', ['-d']).stdout, () => {});`,
  );
  const { records } = await run(path);
  const left = records[0]!.name.match(/\/\S+/g)!;
  assert.equal(left.length, 2);
  for (const directory of left) assert.equal(existsSync(directory), false, directory);
});

test('a secret in the output or the arguments of a process fails the job', async () => {
  const processes = new URL('../../../packages/process/src/index.ts', import.meta.url);
  const path = file(
    'secret.test.mjs',
    `import { test } from 'node:test';
     import { startProcess } from ${JSON.stringify(String(processes))};
     const start = (script, ...args) =>
       startProcess({
         command: process.execPath,
         args: ['-e', script, ...args],
         env: { API_TOKEN: 'a-token-for-this-test' },
       }).exited;
     test('prints its token', () => start('console.error(process.env.API_TOKEN)'));
     test('has its token as an argument', () => start('', 'token=a-token-for-this-test'));
     test('does neither', () => start('console.log(1)'));`,
  );
  const { records, problems } = await run(path);
  assert.deepEqual(
    records.map(({ outcome }) => outcome),
    ['passed', 'passed', 'passed'],
  );
  assert.equal(problems.length, 2, problems.join('\n'));
  assert.match(problems[0]!, /the secret of API_TOKEN is in stderr$/);
  assert.match(problems[1]!, /the secret of API_TOKEN is in its arguments$/);
  assert.doesNotMatch(problems.join(), /a-token-for-this-test/);
});

test('every test file belongs to a suite, and to one job', () => {
  const all = Object.keys(SUITES);
  const named = jobsOf(all, [], ROOT).flatMap((job) => job.files);
  // A job in Python names the folder of its package.
  const files = named.filter((file) => file.endsWith('.ts'));
  assert.deepEqual(
    named.filter((file) => !files.includes(file)),
    ['sensors-sim', 'clients/python', 'experiments/analysis'],
  );
  assert.equal(new Set(files).size, files.length);
  const exclude = ['**/node_modules/**'];
  assert.deepEqual(files.toSorted(), globSync('*/**/*.test.ts', { cwd: ROOT, exclude }).toSorted());
  const servers = jobsOf(['servers'], [], ROOT).flatMap((job) => job.files);
  assert.ok(servers.includes('packages/storage/test/conformance/postgres.test.ts'));
  assert.ok(!servers.includes('packages/storage/test/conformance/sqlite.test.ts'));
});

test('files of the live page share processes, and one that is chosen has its own', () => {
  const pages = jobsOf(['servers'], ['integration/page'], ROOT);
  assert.ok(pages.length > 1);
  for (const { name, files } of pages) assert.ok(name.startsWith('live page ') && files.length > 1, name);
  const file = 'services/api/test/integration/page-history.test.ts';
  const alone = { suite: 'servers', name: file, files: [file] };
  assert.deepEqual(jobsOf(['servers'], ['page-history'], ROOT), [alone]);
});

test('patterns choose files by glob or by a part of the path', () => {
  const files = (pattern: string) => jobsOf(Object.keys(SUITES), [pattern], ROOT).flatMap((job) => job.files);
  assert.deepEqual(files('scripts/test/unit/test-run'), ['scripts/test/unit/test-run.test.ts']);
  assert.ok(files('packages/storage/test/*/hbase*.test.ts').length >= 3);
  assert.throws(() => files('no/such/file'), /no test file matches no\/such\/file/);
});

test('the summary names failed tests last, and skipped tests by reason', () => {
  const record = (name: string, outcome: TestRecord['outcome'], reason: string | null, ms: number) => ({
    name,
    file: '/root/a.test.ts',
    ms,
    outcome,
    reason,
  });
  const records = [
    record('quick', 'passed', null, 1),
    record('slow', 'passed', null, 2000),
    record('wrong', 'failed', 'Error: wrong', 3),
    record('left out', 'skipped', 'no server', 0),
    record('left out too', 'skipped', 'no server', 0),
  ];
  const text = summarize(records, ['job left processes: 7'], '/root');
  assert.match(text, /2 tests: no server \(a\.test\.ts\)/);
  assert.ok(text.indexOf('slow') < text.indexOf('quick'));
  assert.match(
    text,
    /FAILED:\n {2}a\.test\.ts: wrong\n {2}job left processes: 7\n\n2 passed, 2 failed, 2 skipped\n$/,
  );
});

test('a file has the time of its process, or of its tests if it shares one, and the slowest are named', () => {
  const record = (file: string, ms: number): TestRecord => {
    return { name: 'a test', file: `/root/${file}`, ms, outcome: 'passed', reason: null };
  };
  const shared = [record('a.test.ts', 1000), record('b.test.ts', 2000), record('a.test.ts', 500)];
  const times = [
    ...fileTimes('unit', shared, 9000, '/root'),
    ...fileTimes('servers', [record('c.test.ts', 100)], 1700, '/root'),
    ...fileTimes('servers', [], 60_000, '/root'),
  ];
  assert.deepEqual(
    times.map(({ suite, file, ms, tests }) => [suite, file, ms, tests]),
    [
      ['unit', 'a.test.ts', 1500, 2],
      ['unit', 'b.test.ts', 2000, 1],
      ['servers', 'c.test.ts', 1700, 1],
    ],
  );
  const text = timesTable(times, new Map([['servers', 61_700]]), 2);
  assert.deepEqual(text.match(/\w\.test\.ts/g), ['b.test.ts', 'c.test.ts']);
  assert.match(text, /^ +1\.7 s {2}servers +1 tests {2}c\.test\.ts$/m);
  assert.match(text, /^ +61\.7 s {2}servers$/m);
});

test('a loop makes a processor busy', () => {
  const before = processorTime();
  for (const end = performance.now() + 200; performance.now() < end; );
  const { total, busy } = processorTime();
  assert.ok(busy - before.busy >= 100, `${busy - before.busy} ms`);
  assert.ok(busy - before.busy <= total - before.total);
});

test('tests that failed and pass alone are flaky and named, and others stay failed', () => {
  const record = (file: string, name: string, outcome: TestRecord['outcome']): TestRecord => {
    return { name, file: `/root/${file}`, ms: 1, outcome, reason: null };
  };
  const records = [
    record('a.test.ts', 'late', 'failed'),
    record('a.test.ts', 'right', 'passed'),
    record('b.test.ts', 'wrong', 'failed'),
    record('shared.ts', 'of another file', 'failed'),
  ];
  const files = ['a.test.ts', 'b.test.ts', 'c.test.ts'];
  const repeats = repeatsOf({ suite: 'servers', name: 'servers', files }, records, '/root');
  const repeated = (file: string) => repeats.get(`/root/${file}`)!.files;
  assert.equal(repeats.size, 3);
  assert.deepEqual(repeated('a.test.ts'), ['a.test.ts']);
  assert.deepEqual(repeated('shared.ts'), files);
  assert.equal(repeatsOf({ suite: 'python', name: 'python', files }, records, '/root').size, 0);
  const [late, right] = [record('a.test.ts', 'late', 'passed'), record('a.test.ts', 'right', 'passed')];
  let judged = withFlaky(records, '/root/a.test.ts', [late, right]);
  judged = withFlaky(judged, '/root/b.test.ts', [record('b.test.ts', 'wrong', 'failed')]);
  // Another test of the file failed this time: nothing is known of the first.
  judged = withFlaky(judged, '/root/shared.ts', [
    record('shared.ts', 'of another file', 'passed'),
    record('shared.ts', 'a further one', 'failed'),
  ]);
  assert.deepEqual(
    judged.map(({ outcome }) => outcome),
    ['flaky', 'passed', 'failed', 'failed'],
  );
  const text = summarize(judged, [], '/root');
  assert.match(text, /FLAKY.*\n {2}a\.test\.ts: late\n\nFAILED:\n {2}b\.test\.ts: wrong\n/);
  assert.match(text, /\n2 passed, 2 failed, 0 skipped\n$/);
});

test('an incomplete last record is ignored', () => {
  const whole = JSON.stringify({ name: 'a', file: null, ms: 1, outcome: 'passed', reason: null });
  assert.equal(parseRecords(`${whole}\n{"name": "b`).length, 1);
  assert.deepEqual(parseRecords(''), []);
});
