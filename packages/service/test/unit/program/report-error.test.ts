import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError, EXIT, reportError } from '@tidegauge/service/program';

test('bad configuration is one line for each mistake and exit code 2', () => {
  const { text, exitCode } = reportError(new ConfigError(['first', 'second']));
  assert.deepEqual([text, exitCode], ['first\nsecond', EXIT.BAD_USAGE]);
});

test('a store that is misconfigured has exit code 2 and its hint', () => {
  const error = Object.assign(new Error('the schema is newer'), {
    code: 'MISCONFIGURED',
    hint: 'update this',
  });
  assert.deepEqual(reportError(error), {
    text: 'the schema is newer: update this',
    exitCode: EXIT.BAD_USAGE,
  });
});

test('an unavailable server is one line with the cause and exit code 1', async () => {
  const failed = await fetch('http://127.0.0.1:1/').catch((error: unknown) => error);
  const { text, exitCode } = reportError(failed);
  assert.equal(exitCode, EXIT.FAILED);
  assert.match(text, /^fetch failed: [^\n]+$/);
  const refused = await new Promise((resolve) => connect(1, '127.0.0.1').on('error', resolve));
  assert.deepEqual(reportError(refused), {
    text: '127.0.0.1:1: no program listens there (ECONNREFUSED)',
    exitCode: EXIT.FAILED,
  });
});

test('an error of a file has its path and words', () => {
  const missing = join(tmpdir(), 'tidegauge-missing', 'plan.json');
  assert.throws(
    () => readFileSync(missing),
    (error) => reportError(error).text === `${missing}: there is no such file or directory (ENOENT)`,
  );
});

test('an unavailable server that a message explains is not explained again', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
  const failed = new TypeError('fetch failed', { cause: refused });
  const line = 'cannot read the ledger at http://127.0.0.1:9: no program listens there (ECONNREFUSED): go';
  assert.equal(reportError(new Error(line, { cause: failed })).text, line);
});

test('several failed connections without a message are one line', () => {
  const refused = (host: string) => new Error(`connect ECONNREFUSED ${host}:1`);
  const error = Object.assign(new AggregateError([refused('::1'), refused('127.0.0.1')]), {
    code: 'ECONNREFUSED',
  });
  assert.equal(reportError(error).text, 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1');
});

test('causes are printed once, and a cycle of causes ends', () => {
  const cause: Error = new Error('the disk is full');
  const error = new Error('cannot write', { cause });
  cause.cause = error;
  assert.equal(reportError(error).text, 'cannot write: the disk is full');
});

test('a programming error has its stack trace', () => {
  for (const error of [
    new TypeError('x is not a function'),
    new RangeError('bad'),
    new assert.AssertionError({}),
  ]) {
    assert.match(reportError(error).text, /\n {4}at /);
  }
  assert.equal(reportError('text').text, 'text');
});

test('a folder that cannot be created is named, with a file in its place or a read-only file system', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-report-error-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  assert.throws(
    () => mkdirSync(file, { recursive: true }),
    (error) => reportError(error).text === `${file}: it is a file (EEXIST)`,
  );
  const readOnly = Object.assign(new Error(), { code: 'ENOENT', syscall: 'mkdir', path: '/media/card/x' });
  assert.match(
    reportError(readOnly).text,
    /^\/media\/card\/x: it cannot be created: the file system is read-only/,
  );
});
