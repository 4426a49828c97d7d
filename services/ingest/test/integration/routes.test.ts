import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { setUp } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

function ingest(env: Record<string, string>, ...flags: string[]) {
  return spawnSync(process.execPath, [MAIN, ...flags], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
    timeout: 20_000,
  });
}

test('topic filters that a changed configuration no longer has are unsubscribed at the broker', async (context) => {
  const bench = await setUp(context);
  const client = await bench.client();
  const routes = `${bench.directory}/routes.yml`;
  await writeFile(routes, '- topic: old/{device}/{metric}\n- topic: kept/{device}/{metric}\n');
  const first = await bench.start({ ROUTES: routes });
  await client.publishAsync('old/a/m', '1', { qos: 1 });
  await first.until(({ readings }) => readings.stored === 1, 10_000);
  assert.equal(await first.stop(), 0);
  await writeFile(routes, '- topic: kept/{device}/{metric}\n- topic: new/{device}/{metric}\n');
  const second = await bench.start({ ROUTES: routes });
  await client.publishAsync('old/a/m', '2', { qos: 1 });
  await client.publishAsync('kept/a/m', '3', { qos: 1 });
  await client.publishAsync('new/a/m', '4', { qos: 1 });
  const ledger = await second.until(({ readings }) => readings.stored === 2, 10_000);
  assert.equal(ledger.messages.received, 2, 'the old topic is not delivered any more');
});

test('each mistake in the configuration is one line, and ingest does not start', () => {
  const { status, stderr } = ingest(
    { STORE: 'oracle://h/db', METRICS_PORT: 'x', ACK: 'maybe' },
    '--colour=red',
  );
  assert.equal(status, 2);
  const lines = stderr.trim().split('\n');
  assert.equal(lines.length, 4, stderr);
  assert.match(stderr, /METRICS_PORT must be a whole number.*; got "x"/);
  assert.match(stderr, /ACK must be one of durable, stored, received.*; got "maybe"/);
});

test('mistakes in a routes file have file, line, column and key', async (context) => {
  const bench = await setUp(context);
  const routes = `${bench.directory}/routes.yml`;
  await writeFile(
    routes,
    '- topic: a/{devise}/{metric}\n- topic: b/{device}/{metric}\n  qos: 3\n- name: c\n',
  );
  const { status, stderr } = ingest({ ROUTES: routes });
  assert.equal(status, 2);
  assert.match(stderr, /routes\.yml:1:10: \[1\]\.topic: .*\{devise\}/);
  assert.match(stderr, /routes\.yml:3:8: \[2\]\.qos: 3 is not one of 0, 1, 2/);
  assert.match(stderr, /routes\.yml:4:3: \[3\]: topic is missing/);
});

test('a wrong password for the broker ends ingest at once, with how to fix it', async (context) => {
  const { startMosquitto } = await import('@tidegauge/lab');
  const broker = await startMosquitto({ credentials: { username: 'ingest', password: 'right' } });
  context.after(() => broker.stop());
  const bench = await setUp(context);
  const { status, stderr } = ingest({
    STORE: bench.store,
    DATA_DIR: bench.directory,
    BROKER: broker.url,
    BROKER_USER: 'ingest',
    BROKER_PASSWORD: 'wrong',
    METRICS_PORT: '0',
  });
  assert.equal(status, 2, stderr);
  assert.match(stderr, /user name or password|not authori[sz]ed/i);
  assert.doesNotMatch(stderr, /wrong/);
});

test('--print-config prints the settings in force without secrets, and --help names every option', () => {
  const { status, stdout } = ingest({ STORE: 'sqlite:./x.db', BROKER_PASSWORD: 'geheim' }, '--print-config');
  assert.equal(status, 0);
  assert.match(stdout, /^STORE=sqlite:\.\/x\.db$/m);
  assert.match(stdout, /^BROKER_PASSWORD=\*\*\*$/m);
  assert.doesNotMatch(stdout, /geheim/);
  const help = ingest({}, '--help');
  assert.equal(help.status, 0);
  for (const option of [
    '--store',
    '--broker',
    '--client-id',
    '--share-group',
    '--ack',
    '--routes',
    '--data-dir',
    '--metrics-port',
    '--log-level',
  ]) {
    assert.ok(help.stdout.includes(option), option);
  }
});

test('ingest refuses to listen on other addresses than loopback without a token', () => {
  const { status, stderr } = ingest({ HTTP_LISTEN: '0.0.0.0' });
  assert.equal(status, 2);
  assert.match(stderr, /there is no HTTP_TOKEN: set HTTP_TOKEN_FILE/);
});
