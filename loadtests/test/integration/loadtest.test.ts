import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { freePort, runProgramSync, startProcess, waitUntil } from '@tidegauge/process';
import { openStore, type YcsbRecord } from '@tidegauge/storage';
import type { Ended } from '@tidegauge/test-support/run-here';
import { isIntact, parseWorkload } from '@tidegauge/workload';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../../src/loadtest.ts', import.meta.url));
const WALK = join(ROOT, 'scripts/test/walk-programs.ts');
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-loadtest-test-'));
after(() => rmSync(folder, { recursive: true }));

function loadtest(...args: string[]) {
  return runProgramSync(process.execPath, [PROGRAM, ...args], { accept: 'any', timeoutMs: 240_000 });
}

/** Parses a report in YCSB's format to `{ 'READ Operations': 12, ... }`. */
function figures(stdout: string): Record<string, number> {
  const lines = [...stdout.matchAll(/^\[(.+?)\], (.+?), ([\d.]+)$/gm)];
  return Object.fromEntries(
    lines.map(([, section, measure, value]) => [`${section} ${measure}`, Number(value)]),
  );
}

async function recordsIn(url: string): Promise<YcsbRecord[]> {
  const store = await openStore(url);
  try {
    return await store.records.scan('usertable', '', 10_000, null);
  } finally {
    await store.close();
  }
}

writeFileSync(join(folder, 'unknown-distribution'), 'requestdistribution=gaussian\n');
writeFileSync(join(folder, 'wrong-file'), 'recordcount=many\n');

const MISTAKES: readonly (readonly [what: string, args: string[], line: RegExp])[] = [
  [
    'a load test that there is not',
    ['reads'],
    /^unknown command reads; the commands are records, ingest, devices, /,
  ],
  [
    'a workload that there is not',
    ['records', '--workload', 'z'],
    /^there is no workload z: use one of a, b, .*, or the path of a YCSB property file$/,
  ],
  [
    'a wrong property file',
    ['records', '--workload', join(folder, 'wrong-file')],
    /wrong-file: recordcount: "many" is not a whole number/,
  ],
  [
    'an unknown distribution',
    ['records', '--workload', join(folder, 'unknown-distribution')],
    /requestdistribution: "gaussian" is unknown; use one of uniform, /,
  ],
  [
    'a mix that does not add up to 1',
    ['records', '-p', 'readproportion=0.7'],
    /readproportion 0\.7 .*= 1\.2; let the shares add up to 1$/,
  ],
  [
    'a mix of device operations that does not add up',
    ['devices', '--ops', '1', '--mix', 'selectOne=0.5,updateSome=0.4'],
    /^--mix must be .*: they add up to 0\.9$/,
  ],
  [
    'a property without a value',
    ['records', '-p', 'fieldcount'],
    /^-p must be a property such as fieldcount=5; got "fieldcount": it is not NAME=VALUE$/,
  ],
  [
    'a store that there is not',
    ['records', '--store', 'oracle'],
    /^there is no store oracle: give a URL \(sqlite:, .*\) or one of sqlite, /,
  ],
  ['a misspelt store', ['records', '--store', 'postgre'], /: did you mean postgres\?$/],
  [
    'a store of another machine',
    ['records', '--store', 'postgres://u:secret@db.example/d'],
    /^db\.example is not this machine: add --allow-host db\.example /,
  ],
  [
    'an API of another machine',
    ['records', '--api', 'http://192.0.2.1:8080'],
    /^192\.0\.2\.1 is not this machine/,
  ],
  [
    'a broker of another machine',
    ['ingest', '--ops', '1', '--broker', 'mqtt://192.0.2.1'],
    /^192\.0\.2\.1 is not this machine/,
  ],
  [
    'ingest without its broker',
    ['ingest', '--ops', '1', '--ingest', 'http://127.0.0.1:1'],
    /^--ingest needs the --broker/,
  ],
  [
    'our own driver with what it cannot',
    ['ingest', '--ops', '1', '--driver', 'own', '--qos', '2'],
    /^--driver own publishes with QoS 1/,
  ],
  [
    'the raw driver on an API',
    ['records', '--driver', 'raw', '--api', 'http://127.0.0.1:1'],
    /^--driver raw is about a store: give --store, not --api$/,
  ],
  [
    'the raw driver at a rate',
    ['records', '--driver', 'raw', '--rate', '10'],
    /^--driver raw takes --ops and --threads: /,
  ],
  [
    'another k6 for operations that need our module',
    ['records', '--k6', process.execPath],
    /^--k6 is without our module for operations on records: add --driver k6-js$/,
  ],
  ['mixed without an end', ['mixed', '--ops', '10'], /^both parts of mixed end together: give --duration/],
  [
    'a store that is not loaded',
    ['records', '--phase', 'run'],
    /^records of usertable are not loaded: number 0 of 1000 is not there; load them with --phase load/,
  ],
];

test('a misspelt property is an error with the correct name; properties of YCSB without effect are listed', () => {
  const run = (...properties: string[]) =>
    loadtest('records', '--driver', 'raw', '--records', '10', '--ops', '10', ...properties);
  const misspelt = run('-p', 'readproprtion=1');
  assert.equal(misspelt.code, 2);
  assert.equal(
    misspelt.stderr,
    'workloada: readproprtion is not a property of YCSB: did you mean readproportion?\n',
  );
  assert.match(run('-p', 'exponential.percentil=9').stderr, /did you mean exponential\.percentile\?/);
  assert.match(run('-p', 'colour=red').stderr, /colour is not a property of YCSB: leave it out/);
  const known = run(
    '-p',
    'measurementtype=raw',
    '-p',
    'mongodb.url=x',
    '-p',
    'target=5',
    '-p',
    'threadcount=2',
  );
  assert.equal(known.code, 0, known.stderr);
  assert.match(
    known.stderr,
    /^without a meaning here: measurementtype, mongodb\.url, target \(use --rate\), threadcount \(use --threads\)$/m,
  );
});

test('an export of the dashboard without the dashboard is refused before anything runs', () => {
  process.env.K6_WEB_DASHBOARD_EXPORT = join(folder, 'dashboard.html');
  const { code, stderr } = loadtest('records', '--ops', '10');
  delete process.env.K6_WEB_DASHBOARD_EXPORT;
  assert.equal(code, 2);
  assert.match(stderr, /^K6_WEB_DASHBOARD_EXPORT names .*dashboard\.html, but .*: add --dashboard\n$/);
});

test('a file of figures contains what was measured, and when, without secrets', () => {
  const json = join(folder, 'raw.json');
  const store = `sqlite:${join(folder, 'raw.db')}`;
  const args = ['--driver', 'raw', '--store', store, '--records', '10', '--ops', '10', '--json', json];
  const { code, stderr } = loadtest('records', ...args);
  assert.equal(code, 0, stderr);
  const { date, version, commit, modified, store: said, machine } = JSON.parse(readFileSync(json, 'utf8'));
  assert.ok(Math.abs(Date.now() - Date.parse(date)) < 600_000, date);
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.ok(commit === null || (/^[0-9a-f]{40}$/.test(commit) && typeof modified === 'boolean'));
  assert.equal(said, store);
  assert.ok(machine.cpu.length > 0 && machine.cores > 0);
});

/** Runs command lines of the program in one process, because the start of a process takes longer than all of them. */
async function walked(lines: readonly (readonly string[])[]): Promise<readonly Ended[]> {
  // Not with the arguments of the test runner.
  const child = fork(WALK, { cwd: ROOT, execArgv: [] });
  child.send(lines.map((args) => ({ script: 'loadtest', args })));
  const signal = AbortSignal.timeout(240_000);
  const [ended] = (await once(child, 'message', { signal })) as [readonly Ended[]];
  return ended;
}

const refusals = await walked(MISTAKES.map(([, args]) => args));

for (const [index, [what, , line]] of MISTAKES.entries()) {
  test(`${what} gives one line on standard error and exit code 2, and nothing runs`, () => {
    const { code, stdout, stderr } = refusals[index]!;
    assert.equal(code, 2, stderr);
    assert.equal(stdout, '');
    assert.match(stderr.trimEnd(), line);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  });
}

test('the raw driver runs the operations directly on the store, and checks the values that it reads', () => {
  const args = ['--driver', 'raw', '--workload', 'f', '--records', '100', '--ops', '200', '--threads', '2'];
  const { code, stdout, stderr } = loadtest('records', ...args, '-p', 'dataintegrity=true');
  assert.equal(code, 0, stderr);
  const found = figures(stdout);
  assert.equal(found['READ Return=OK'], 200);
  assert.equal(found['VERIFY Return=OK'], 200);
  assert.ok(found['READ-MODIFY-WRITE Return=OK']! > 0);
  assert.equal(found['UPDATE Return=OK'], found['READ-MODIFY-WRITE Return=OK']);
  assert.ok(found['READ AverageLatency(us)']! > 0 && found['OVERALL Throughput(ops/sec)']! > 0);
});

const k6 = await startOrSkip('k6', buildK6);
const skip = 'skip' in k6 ? k6.skip : false;

test('records: the report of k6 matches the store, records are loaded once, and files are written', {
  skip,
}, async () => {
  const url = `sqlite:${join(folder, 'records.db')}`;
  const [json, csv] = [join(folder, 'records.json'), join(folder, 'records.csv')];
  const mix = ['readproportion=0.4', 'updateproportion=0.2', 'insertproportion=0.2', 'scanproportion=0.1'];
  const properties = [...mix, 'readmodifywriteproportion=0.1', 'dataintegrity=true'].flatMap((each) => [
    '-p',
    each,
  ]);
  const common = ['records', '--workload', 'a', '--records', '300', '--store', url, ...properties];
  const run = loadtest(...common, '--ops', '401', '--threads', '4', '--json', json, '--csv', csv);
  assert.equal(run.code, 0, run.stderr + run.stdout);
  assert.match(run.stderr, /^loaded 300 records of usertable, /m);
  const found = figures(run.stdout);
  const whole = ['UPDATE', 'INSERT', 'SCAN'].reduce((sum, type) => sum + found[`${type} Return=OK`]!, 0);
  // A read-modify-write is counted with its read and its update, as in YCSB.
  const inner = found['READ-MODIFY-WRITE Return=OK']!;
  assert.equal(whole + found['READ Return=OK']! - inner, 401);
  assert.equal(found['VERIFY Return=OK'], found['READ Return=OK']);
  assert.ok(found['OVERALL Throughput(ops/sec)']! > 0);
  assert.ok(found['READ 99.9PercentileLatency(us)']! <= found['READ MaxLatency(us)']!);

  const records = await recordsIn(url);
  assert.equal(records.length, 300 + found['INSERT Return=OK']!);
  const workload = parseWorkload('dataintegrity=true\nrecordcount=300', { file: 'test' });
  assert.ok(records.every(({ key, fields }) => isIntact(workload, key, null, fields)));

  const document = JSON.parse(readFileSync(json, 'utf8'));
  assert.equal(document.valid, true);
  assert.equal(document.summary.operations.SCAN.latency.count, found['SCAN Operations']);
  assert.match(readFileSync(csv, 'utf8'), new RegExp(`^SCAN,Operations,${found['SCAN Operations']}$`, 'm'));

  // Loaded records exist in the next run, and the same seed gives the same operations.
  const again = loadtest(...common, '--phase', 'run', '--ops', '401', '--threads', '4');
  const repeated = figures(again.stdout);
  assert.equal(repeated['SCAN Operations'], found['SCAN Operations']);
  // The records that it inserts exist already.
  assert.equal(again.code, 1);
  assert.equal(repeated['INSERT Return=EXISTS'], found['INSERT Return=OK']);
  assert.match(again.stdout, /^FAILED: INSERT ended in EXISTS \d+ times$/m);
});

test('the open model keeps its rate, and reports when it cannot', { skip }, () => {
  const common = ['records', '--workload', 'c', '--records', '20', '--model', 'open', '--duration', '2s'];
  const kept = loadtest(...common, '--rate', '20', '--threads', '20');
  assert.equal(kept.code, 0, kept.stderr + kept.stdout);
  const found = figures(kept.stdout);
  // k6 may start one more operation at the end.
  assert.ok([40, 41].includes(found['READ Return=OK']!), kept.stdout);
  assert.ok(found['Intended-READ AverageLatency(us)']! >= found['READ AverageLatency(us)']!);
  // One thread cannot do 20,000 operations per second: each would have to end within 50 us.
  const late = loadtest(...common, '--rate', '20000', '--threads', '1');
  assert.equal(late.code, 3, late.stderr + late.stdout);
  assert.match(late.stdout, /^INVALID: \d+ operations were dropped: no thread was free/m);
});

for (const driver of ['k6', 'k6-js']) {
  test(`a threshold that is crossed fails the run of the driver ${driver}`, { skip }, () => {
    const flags = ['--records', '20', '--ops', '20', '--threshold', 'op_read:p(99)<0.001'];
    const { code, stdout } = loadtest('records', '--workload', 'c', '--driver', driver, ...flags);
    assert.equal(code, 1);
    assert.match(stdout, /^FAILED: the threshold op_read: p\(99\)<0\.001 was crossed$/m);
    assert.equal(figures(stdout)['READ Return=OK'], 20);
  });
}

for (const driver of [
  ['--threads', '8', '--receive', '--qos', '2'],
  ['--driver', 'own'],
]) {
  test(`ingest ${driver.join(' ')}: the ledger contains all acknowledged readings`, { skip }, () => {
    const { code, stdout, stderr } = loadtest('ingest', '--ops', '2000', '--devices', '40', ...driver);
    assert.equal(code, 0, stderr + stdout);
    const found = figures(stdout);
    assert.equal(found['PUBLISH Return=OK'], 2000);
    assert.equal(found['PUBLISH Operations'], 2000);
    if (driver.includes('--receive')) assert.equal(found['RECEIVE Operations'], 2000);
    const { 'LEDGER Received': received, 'LEDGER Stored': stored, 'LEDGER Missing': missing } = found;
    assert.deepEqual({ received, stored, missing }, { received: 2000, stored: 2000, missing: 0 });
  });
}

test('devices and queries find the loaded data', { skip }, () => {
  const store = ['--store', `sqlite:${join(folder, 'fleet.db')}`];
  const devices = loadtest('devices', ...store, '--devices', '70', '--ops', '200', '--threads', '3');
  assert.equal(devices.code, 0, devices.stderr + devices.stdout);
  const types = ['SELECT-ONE', 'SELECT-SOME', 'UPDATE-SOME'];
  const sum = types.reduce((total, type) => total + figures(devices.stdout)[`${type} Return=OK`]!, 0);
  assert.equal(sum, 200);
  const queries = loadtest('queries', ...store, '--devices', '10', '--readings', '100', '--ops', '100');
  assert.equal(queries.code, 0, queries.stderr + queries.stdout);
  assert.match(queries.stderr, /^loaded 10 devices with 100 readings each, /m);
  assert.ok(figures(queries.stdout)['QUERY-10 Return=OK']! > 0);
});

/** Starts a load test with k6's dashboard, and waits until the dashboard answers with its `page`. */
async function withDashboard(...args: string[]) {
  const port = await freePort();
  let output = '';
  const program = startProcess({
    command: process.execPath,
    args: [PROGRAM, ...args, '--dashboard', '--dashboard-port', String(port)],
    stopSignal: 'SIGINT',
    stopMs: 90_000,
    onOutput(text) {
      output += text;
    },
  });
  const ended = program.exited.then(({ code }) => ({ code, output }));
  let page = '';
  for (const deadline = Date.now() + 120_000; page === '' && Date.now() < deadline; await sleep(100)) {
    const answer = fetch(`http://127.0.0.1:${port}/ui/`);
    page = await answer.then(
      (found) => found.text(),
      () => '',
    );
  }
  return { program, page, ended };
}

test('mixed publishes and queries at once, with k6’s dashboard', { skip }, async () => {
  const flags = [
    '--devices',
    '10',
    '--readings',
    '50',
    '--duration',
    '4s',
    '--rate',
    '50',
    '--threads',
    '10',
  ];
  const { page, ended } = await withDashboard('mixed', ...flags, '--query-rate', '20');
  const { code, output } = await ended;
  assert.equal(code, 0, output);
  assert.match(page, /<html/);
  const found = figures(output);
  assert.equal(found['LEDGER Stored'], found['PUBLISH Return=OK']);
  assert.ok(found['PUBLISH Return=OK']! > 0, output);
  assert.match(output, /^\[QUERY-\d+\], Return=OK, \d+$/m);
});

/**
 * Starts a load test as npm does, in its own process group, and sends a signal a second after the run has begun. SIGINT
 * goes to the whole group, as a terminal sends Ctrl-C.
 */
async function interrupted(signal: 'SIGINT' | 'SIGTERM', ...args: string[]) {
  const output = { stdout: '', stderr: '' };
  const program = startProcess({
    command: process.execPath,
    args: [join(ROOT, 'scripts/run.js'), 'loadtests/src/loadtest.ts', ...args],
    cwd: ROOT,
    ownGroup: true,
    onOutput(text, stream) {
      output[stream] += text;
    },
  });
  await waitUntil('its begin', () => /^running: /m.test(output.stderr), { timeoutMs: 120_000 });
  // Then it has figures, also on a busy machine.
  await sleep(3000);
  process.kill(signal === 'SIGINT' ? -program.pid : program.pid, signal);
  const { code } = await program.exited;
  return { code, ...output };
}

test('a run with k6 that Ctrl-C ends is invalid and prints its figures, without failures', {
  skip,
}, async () => {
  const args = ['--workload', 'c', '--records', '20', '--duration', '120s', '--rate', '20'];
  const { code, stdout, stderr } = await interrupted('SIGINT', 'records', ...args);
  assert.equal(code, 3, stderr + stdout);
  assert.match(stdout, /^\[OVERALL\], RunTime\(ms\), \d/m);
  assert.match(stdout, /^INVALID: it was interrupted$/m);
  assert.doesNotMatch(stdout, /^FAILED/m);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`a run without k6 that ${signal} ends is invalid, and prints and verifies its figures`, async () => {
    const raw = ['--driver', 'raw', '--records', '20', '--ops', '1000000000'];
    const own = ['--driver', 'own', '--rate', '500', '--ops', '10000000'];
    const [records, ingest] = await Promise.all([
      interrupted(signal, 'records', ...raw),
      interrupted(signal, 'ingest', ...own),
    ]);
    for (const { code, stdout, stderr } of [records, ingest]) {
      assert.equal(code, 3, stderr + stdout);
      assert.match(stdout, /^INVALID: it was interrupted$/m);
      assert.doesNotMatch(stdout, /^FAILED/m);
    }
    assert.ok(figures(records.stdout)['READ Return=OK']! > 0);
    const found = figures(ingest.stdout);
    assert.equal(found['LEDGER Stored'], found['PUBLISH Return=OK']);
  });
}
