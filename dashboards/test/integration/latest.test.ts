import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { type Reading, unknownDevice } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { latest } from '../../src/dashboards/latest.ts';
import { panelsOf } from '../../src/lint.ts';

const READER = join(import.meta.dirname, '..', '..', 'grafana', 'postgres', 'reader.sql');
const NOON = Date.UTC(2026, 10, 21, 12) * 1000;
const started = await startOrSkip('postgres', () => startPostgres());
const run = promisify(execFile);

const reading = (device: string, metric: string, minute: number, value: number | string): Reading => ({
  device,
  metric,
  time: NOON + minute * 60e6,
  value,
  received: NOON,
  boot: null,
  seq: null,
  quality: 'ok',
});

/** A query as Grafana sends it, for an hour from noon. */
function filledIn(sql: string, device: string): string {
  return sql
    .replaceAll('$'.concat('{device:sqlstring}'), `'${device}'`)
    .replaceAll('$__unixEpochNanoFrom()', `${NOON * 1000}`)
    .replaceAll('$__unixEpochNanoTo()', `${NOON * 1000 + 3.6e12}`);
}

function sqlOf(title: string): string {
  const panel = panelsOf(latest).find((one) => one.title === title);
  const [target] = (panel?.targets ?? []) as { readonly rawSql?: string }[];
  assert.ok(target?.rawSql, `no panel ${title} with a query`);
  return target.rawSql;
}

test('Latest shows the readings in PostgreSQL, with a user who cannot change them', {
  skip: 'skip' in started ? started.skip : false,
}, async (context) => {
  if (!('server' in started)) return;
  const postgres = started.server;
  context.after(() => postgres.stop());
  const database = await postgres.createDatabase();
  const store = await openStore(postgres.url(database));
  try {
    const devices = ['site-1/boiler', 'site-2/pump', 'site-3/lost'];
    await store.devices.register(devices);
    await store.readings.write([
      reading(devices[0]!, 'temperature', 1, 20),
      reading(devices[0]!, 'temperature', 3, 21.5),
      reading(devices[0]!, 'temperature', 2, 19),
      reading(devices[0]!, 'state', 2, 'open'),
      reading(devices[1]!, 'temperature', 4, 5),
      reading(devices[1]!, 'temperature', 90, 6),
    ]);
    const at = (name: string, attributes: Readonly<Record<string, number | string>>) =>
      store.devices.put({ ...unknownDevice(name), attributes });
    await at(devices[0]!, { lat: 37.02, lon: -7.93 });
    await at(devices[1]!, { lat: 'north', lon: 1 });
    await at(devices[2]!, { lat: 91, lon: 1 });
  } finally {
    await store.close();
  }

  const psql = await findProgram('psql', 'postgresql-client-15', ['/usr/lib/postgresql/15/bin']);
  const as = async (user: string, password: string, ...args: readonly string[]) => {
    const place = ['-h', postgres.address, '-p', `${postgres.port}`, '-U', user, '-d', database];
    const form = ['--no-psqlrc', '--quiet', '--no-align', '--tuples-only', '--set=ON_ERROR_STOP=1'];
    const env = { ...process.env, PGPASSWORD: password, PGTZ: 'UTC' };
    return (await run(psql, [...place, ...form, ...args], { env, timeout: 30_000 })).stdout
      .trim()
      .split('\n');
  };
  await as(postgres.user, postgres.password, '--set=password=only-reads', '--file', READER);
  const reader = (sql: string) => as('tidegauge_reader', 'only-reads', '--command', sql);
  const panel = (title: string, chosen: string) => reader(filledIn(sqlOf(title), chosen));

  assert.deepEqual(await panel('Latest values', ''), [
    'site-2/pump|temperature|2026-11-21 13:30:00+00|6',
    'site-1/boiler|temperature|2026-11-21 12:03:00+00|21.5',
    'site-1/boiler|state|2026-11-21 12:02:00+00|open',
  ]);
  assert.equal((await panel('Latest values', 'site-1/boiler')).length, 2);
  assert.deepEqual(await panel('Sites', ''), ['site-1/boiler|||37.02|-7.93']);
  assert.deepEqual(await panel('Values', 'site-1/boiler'), [
    '2026-11-21 12:01:00+00|temperature|20',
    '2026-11-21 12:02:00+00|temperature|19',
    '2026-11-21 12:03:00+00|temperature|21.5',
  ]);
  assert.deepEqual(await panel('Values', 'site-2/pump'), ['2026-11-21 12:04:00+00|temperature|5']);
  const [variable] = (latest.templating.list ?? []).filter(({ name }) => name === 'device');
  assert.deepEqual(await reader(String(variable!.query)), [
    '|All',
    'site-1/boiler|site-1/boiler',
    'site-2/pump|site-2/pump',
  ]);
  for (const sql of ['delete from readings', 'create table mine (id int)'])
    await assert.rejects(reader(`set transaction read write; ${sql}`), /permission denied/, sql);
});
