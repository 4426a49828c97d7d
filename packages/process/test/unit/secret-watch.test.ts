import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startProcess } from '@tidegauge/process';

const SECRET = 'correct/horse battery';

/** Runs a program with a place for findings; the findings. */
async function findingsOf(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  script: string,
  ...args: readonly string[]
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-secrets-'));
  const file = join(folder, 'findings');
  const before = process.env.TIDEGAUGE_SECRET_FINDINGS;
  process.env.TIDEGAUGE_SECRET_FINDINGS = file;
  t.after(() => {
    if (before === undefined) delete process.env.TIDEGAUGE_SECRET_FINDINGS;
    else process.env.TIDEGAUGE_SECRET_FINDINGS = before;
    rmSync(folder, { recursive: true });
  });
  await startProcess({ command: process.execPath, args: ['-e', script, ...args], env }).exited;
  const found = existsSync(file) ? readFileSync(file, 'utf8') : '';
  assert.ok(!found.includes(SECRET), 'a finding does not repeat the secret');
  return found;
}

test('a secret in the output of a process is found, in every form, also in two parts', async (t) => {
  const env = { API_TOKEN: SECRET };
  for (const script of [
    'console.log(process.env.API_TOKEN)',
    'console.error(encodeURIComponent(process.env.API_TOKEN))',
    'const s = process.env.API_TOKEN; process.stdout.write(s.slice(0, 5)); setTimeout(() => process.stdout.write(s.slice(5)), 200)',
  ])
    assert.match(await findingsOf(t, env, script), /: the secret of API_TOKEN is in std(out|err)\n$/, script);
});

test('the password of a URL and the content of a file of a secret are found', async (t) => {
  const url = `postgres://me:${encodeURIComponent(SECRET)}@host/db`;
  const decode = 'console.log(decodeURIComponent(new URL(process.env.STORE).password))';
  assert.match(await findingsOf(t, { STORE: url }, decode), /the secret of STORE is in stdout/);
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-secret-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'token');
  writeFileSync(file, `${SECRET}\n`);
  const print = `console.log(require('node:fs').readFileSync(process.env.HTTP_TOKEN_FILE, 'utf8'))`;
  assert.match(
    await findingsOf(t, { HTTP_TOKEN_FILE: file }, print),
    /the secret of HTTP_TOKEN_FILE is in stdout/,
  );
});

test('the hashes of a file of passwords are secrets, and its name is not', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-secret-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'passwords');
  writeFileSync(file, `site-1:${SECRET}\n`);
  const env = { LISTEN_PASSWORDS: file };
  assert.equal(await findingsOf(t, env, 'console.log(process.env.LISTEN_PASSWORDS)'), '');
  const print = `console.log(require('node:fs').readFileSync(process.env.LISTEN_PASSWORDS, 'utf8'))`;
  assert.match(await findingsOf(t, env, print), /the secret of LISTEN_PASSWORDS is in stdout/);
});

test('a secret in the arguments of a process is found', async (t) => {
  const found = await findingsOf(t, { BROKER_PASSWORD: SECRET }, '', `--password=${SECRET}`);
  assert.match(found, /the secret of BROKER_PASSWORD is in its arguments/);
});

test('nothing is found where the secret is not', async (t) => {
  const env = {
    API_TOKEN: SECRET,
    STORE: `postgres://me:${encodeURIComponent(SECRET)}@host/db`,
    NAME: 'a-public-name',
  };
  assert.equal(await findingsOf(t, env, 'console.log(process.env.NAME, "***", "correct/horse")'), '');
});
