import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from '@tidegauge/loadtests/loadtest';
import { refuseUnknownMetrics } from '@tidegauge/loadtests/profiles/metrics';
import { readWorkload } from '@tidegauge/loadtests/profiles/records-profile';
import {
  COMMON_SETTINGS,
  modelOf,
  refuseForeignHosts,
  thresholdsOf,
} from '@tidegauge/loadtests/profiles/settings';
import { checkLabStore, checkStore } from '@tidegauge/loadtests/targets/targets';
import { loadConfig } from '@tidegauge/service';

const config = (...flags: string[]) => loadConfig(COMMON_SETTINGS, flags, {});

test('the closed model ends after its operations or after its duration', () => {
  const common = { kind: 'closed', threads: 1, rate: null };
  assert.deepEqual(modelOf(config(), 1000), { ...common, operations: 1000, durationMs: null });
  assert.deepEqual(modelOf(config('--duration', '2s'), 1000), {
    ...common,
    operations: null,
    durationMs: 2000,
  });
  assert.deepEqual(modelOf(config('--ops', '5', '--duration', '2s', '--threads', '3', '--rate', '7'), null), {
    kind: 'closed',
    threads: 3,
    operations: 5,
    durationMs: 2000,
    rate: 7,
  });
});

test('the duration of the open model follows from its operations and their rate', () => {
  const open = (...flags: string[]) => modelOf(config('--model', 'open', ...flags), 1000);
  const constant = { kind: 'open', threads: 1, startRate: 100 };
  assert.deepEqual(open('--rate', '100'), { ...constant, stages: [{ rate: 100, durationMs: 10_000 }] });
  assert.deepEqual(open('--rate', '100', '--duration', '3s'), {
    ...constant,
    stages: [{ rate: 100, durationMs: 3000 }],
  });
  assert.deepEqual(open('--ramp', '50:1s,0:500ms'), {
    kind: 'open',
    threads: 1,
    startRate: 0,
    stages: [
      { rate: 50, durationMs: 1000 },
      { rate: 0, durationMs: 500 },
    ],
  });
});

const WRONG: readonly (readonly [flags: string, line: RegExp])[] = [
  ['', /the run has no end: add --ops or --duration/],
  ['--ramp 5:1s', /--ramp needs the open model: add --model open/],
  ['--model open', /the open model needs a rate: add --rate or --ramp/],
  ['--model open --rate 5', /the run has no end/],
  ['--model open --ramp 5:1s --ops 3', /leave out --ops and --duration/],
];
for (const [flags, line] of WRONG) {
  test(`${flags || 'no flag'} is refused`, () => {
    assert.throws(() => modelOf(config(...flags.split(' ').filter(Boolean)), null), line);
  });
}

const UNREADABLE: readonly (readonly [flags: string, line: RegExp])[] = [
  ['--threads 0', /^--threads must be a whole number from 1 to 10000.*; got "0"/],
  ['--model half-open', /^--model must be one of closed, open.*; got "half-open"/],
  ['--ramp 100', /^--ramp must be a comma-separated list, each a rate and a duration.*; got "100"/],
  ['--threshold op_read<3', /^--threshold must be .*: it is not METRIC:CONDITION/],
  ['--duration 1y', /^--duration must be a duration.*; got "1y"/],
  ['--threshold op_read:p99<3', /^--threshold must be .*: p99<3 is not avg, min, .* and a number/],
  ['--threshold op_read:avg<=x', /avg<=x is not avg, min, max, med, p\(N\), count, rate or value, /],
  ['--k6 /nowhere/k6', /^--k6 must be .*: there is no such file/],
  ['--k6 /', /^--k6 must be the path of a program; got "\/": it is a directory/],
  ['--theads 3', /^unknown option --theads/],
];
for (const [flags, line] of UNREADABLE) {
  test(`${flags} is refused with a hint`, () => {
    assert.throws(
      () => config(...flags.split(' ')),
      (error: Error) => line.test(error.message),
    );
  });
}

test('files to compare that do not exist are refused by name', () => {
  const { settings } = program.commands.compare!;
  assert.throws(
    () => loadConfig(settings, [process.execPath, 'none.json'], {}),
    /^ConfigError: SECOND must be a file; got "none\.json": there is no such file or directory \(ENOENT\)$/,
  );
});

test('a load test that is interrupted before it measures is invalid, with exit code 3', async (context) => {
  const { records } = program.commands;
  const given = loadConfig(records!.settings, ['--driver', 'raw', '--records', '10', '--ops', '10'], {});
  const written: string[] = [];
  const write = context.mock.method(process.stdout, 'write', (text: string) => written.push(text) > 0);
  const code = await records!.run(given, AbortSignal.abort());
  write.mock.restore();
  assert.equal(code, 3);
  assert.deepEqual(written, ['INVALID: it was interrupted before it had figures\n']);
});

test('thresholds are grouped by metric', () => {
  const thresholds = thresholdsOf(config('--threshold', 'op_read:p(99.9)<2,op_read:avg<5,op_scan:max >= 9'));
  assert.deepEqual(thresholds, { op_read: ['p(99.9)<2', 'avg<5'], op_scan: ['max >= 9'] });
});

test('a store that there is not is refused with the nearest one, and without a password', () => {
  const near = /^ConfigError: .*store postgress: .*did you mean postgres\?$/;
  assert.throws(() => checkLabStore('postgress'), near);
  assert.throws(() => checkStore('postgress', config()), near);
  for (const check of [checkLabStore, (store: string) => checkStore(store, config())]) {
    assert.throws(
      () => check('postgers://u:geheim@h/d'),
      ({ message }: Error) => message.includes('postgers://u:***@h/d') && !message.includes('geheim'),
    );
  }
});

test('a workload that cannot be read is refused with the reason in words', (t) => {
  assert.throws(
    () => readWorkload('/', {}),
    /^ConfigError: there is no workload \/: it is a directory \(EISDIR\): use one of a, b, /,
  );
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-workload-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'w');
  writeFileSync(file, 'recordcount=1\nfieldlengthdistribution=histogram\nfieldlengthhistogram=none.txt\n');
  assert.throws(
    () => readWorkload(file, {}),
    /w: fieldlengthhistogram: none\.txt: there is no such file or directory \(ENOENT\); name a file$/,
  );
});

test('a threshold on a metric that there is not is refused, with the nearest one', () => {
  const refuse = (threshold: string) =>
    refuseUnknownMetrics(config('--threshold', threshold), ['read', 'update']);
  for (const right of ['op_read:max<5', 'op_update_intended:p(99.9) < 5', 'http_req_duration:med<=5'])
    refuse(right);
  for (const right of ['op_read_return_TIMEOUT:count==0', 'http_req_failed:rate<0.01', 'vus:value>0'])
    refuse(right);
  assert.throws(() => refuse('op_raed:p(99)<20'), /there is no metric op_raed: did you mean op_read\?$/);
  assert.throws(() => refuse('latency:p(99)<20'), /no metric latency; the operations are op_read, op_update/);
  assert.throws(
    () => refuse('op_read_return_OK:p(99)>5'),
    /--threshold: op_read_return_OK is a counter of k6: write count, rate, not p\(N\)$/,
  );
  assert.throws(() => refuse('op_read:count>5'), /a trend of k6: write avg, .*, p\(N\), not count$/);
});

test('only this machine is put under load, unless a host is allowed', () => {
  for (const url of [
    'http://127.0.0.1:8080',
    'postgres://u:p@localhost/db',
    'mqtt://[::1]:1883',
    'sqlite:./x.db',
    'cassandra://127.0.0.1,127.0.0.2/k',
  ]) {
    refuseForeignHosts(url, config());
  }
  const foreign = 'cassandra://127.0.0.1,db.example/k';
  assert.throws(
    () => refuseForeignHosts(foreign, config()),
    /^ConfigError: db\.example is not this machine: add --allow-host db\.example/,
  );
  refuseForeignHosts(foreign, config('--allow-host', 'db.example'));
  for (const url of ['http://127.0.0.1.example', 'http://localhost.example']) {
    assert.throws(() => refuseForeignHosts(url, config()), /is not this machine/);
  }
});
