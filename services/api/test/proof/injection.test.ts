import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { changeKeys, newKey } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { DEVICE_OPERATIONS } from '../../src/device-limit.ts';
import { readOpenApi, resolveReferences } from '../../src/openapi.ts';
import { type Attack, attacksOn } from '../attacks.ts';
import { type Api, reading, startApi } from '../harness.ts';

// Each parameter and each field of each operation gets values that would change a statement, a path, a row key or a
// log. No answer may have data of others, or a failure of the server, and the store must stay as it is.

const CANARY = 'canary-7d41c9';
const OWNER = 'canary/secret';
const AT_ONCE = 8;
/** The stream does not end. Its handler checks the device as the others do. */
const ENDLESS = new Set(['live']);

interface Place {
  /** The URL of the store; null for the SQLite file of the harness. */
  readonly url: string | null;
  stop(): Promise<void>;
}

async function embeddedJson(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-injection-'));
  return { url: `json:${folder}/readings`, stop: () => rm(folder, { recursive: true }) };
}

const STORES: Readonly<Record<string, () => Promise<Place>>> = {
  sqlite: async () => ({ url: null, stop: async () => {} }),
  json: embeddedJson,
  ...Object.fromEntries(
    Object.entries(STORE_SERVERS).map(([name, { start }]) => [
      name,
      async () => {
        const server = await start(1);
        return { url: await server.create('injection'), stop: () => server.stop() };
      },
    ]),
  ),
};
const chosen = process.env.STORES?.split(',');
/** Other stores than SQLite get each seventh value under continuous integration: every parameter gets some of them. */
const everyOf = (name: string): number => (process.env.CI === 'true' && name !== 'sqlite' ? 7 : 1);
/**
 * Places in the queue of requests that the API answered with 400 on the first store. No error of a store has this status
 * (`STORE_ANSWERS`), so the API itself refuses them, with any store. The other stores do not get them again.
 */
const refused = new Set<number>();

for (const [name, start] of Object.entries(STORES)) {
  if (chosen !== undefined && !chosen.includes(name)) continue;
  test(`no parameter injects anything into ${name}`, async (t) => {
    const started = await startOrSkip(name, start);
    if ('skip' in started) return t.skip(started.skip);
    t.after(() => started.server.stop());
    await attackAll(t, started.server.url, everyOf(name));
  });
}

async function attackAll(t: TestContext, storeUrl: string | null, every: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-injection-keys-'));
  t.after(() => rm(folder, { recursive: true }));
  const apiKeys = join(folder, 'keys.json');
  const make = (scopes: readonly ('read' | 'write' | 'admin')[], devices: string | null) =>
    newKey({ name: 'test', scopes, devices, expires: null }, Date.now());
  const [admin, limited] = [make(['admin'], null), make(['read', 'write'], 'site-3')];
  changeKeys(apiKeys, () => [admin.key, limited.key]);
  const api = await startApi(t, { storeUrl, config: { httpListen: '0.0.0.0', apiKeys } });
  await fill(api);
  const before = await contentOf(api.store);
  assert.match(JSON.stringify(before), new RegExp(CANARY));

  const attacks = [...attacksOn(resolveReferences(readOpenApi()))].filter(({ id }) => !ENDLESS.has(id));
  const failures: string[] = [];
  const queue = attacks.flatMap((attack) => [
    { ...attack, key: admin.text },
    // An operation that does not limit its devices refuses the key before it reads anything.
    ...(DEVICE_OPERATIONS.has(attack.id) ? [{ ...attack, key: limited.text }] : []),
  ]);
  assert.ok(queue.length > 5000, `${queue.length} requests`);
  const isFirst = refused.size === 0;
  const sent = [...queue.entries()]
    .filter(([place]) => !refused.has(place))
    .filter((_, index) => index % every === 0);
  const work = async () => {
    for (let next = sent.pop(); next !== undefined; next = sent.pop()) {
      const [place, attack] = next;
      const { status, problem } = await tryOut(api, attack, attack.key);
      if (problem !== null) failures.push(`${attack.id}: ${problem}`);
      if (isFirst && status === 400) refused.add(place);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  assert.deepEqual(failures.slice(0, 10), [], `${failures.length} failures`);
  assert.deepEqual(await contentOf(api.store), before);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
}

/** The status of the answer to an attack, 0 without an answer, and what is wrong with it; null when nothing is. */
async function tryOut(
  api: Api,
  { method, path, headers, body }: Attack,
  key: string,
): Promise<{ readonly status: number; readonly problem: string | null }> {
  const what = () => `${method} ${path} ${body ?? ''}`.slice(0, 400);
  try {
    const options = {
      headers: { ...headers, Authorization: `Bearer ${key}` },
      ...(body === null ? {} : { body }),
    };
    // While many requests wait, some are refused with 503 until there is room.
    for (let attempt = 0; ; attempt += 1) {
      const answer = await api.call(method, path, options);
      const { status } = answer;
      if (status === 503 && attempt < 20) {
        await sleep(50);
        continue;
      }
      if (status >= 500) return { status, problem: `${status} ${JSON.stringify(answer.body)}: ${what()}` };
      const shown = JSON.stringify([answer.body, ...answer.headers]);
      if (shown.includes(CANARY)) return { status, problem: `data of others: ${what()}` };
      const isOwned = answer.headers.get('Set-Cookie')?.includes('owned') === true;
      return { status, problem: isOwned ? `a header: ${what()}` : null };
    }
  } catch (error) {
    return { status: 0, problem: `${(error as Error).message}: ${what()}` };
  }
}

/** Data that the attacks may use, and data of others. */
async function fill({ store, ingest }: Api): Promise<void> {
  const device = 'site-3/boiler/probe-7';
  await store.readings.write([
    reading(1),
    reading(2, { device: OWNER, metric: CANARY, value: CANARY }),
    reading(3, { device: OWNER, metric: CANARY, value: 1.5 }),
  ]);
  const other = { site: CANARY, city: CANARY, kind: CANARY, year: 1999, attributes: { secret: CANARY } };
  await store.devices.put({ name: OWNER, ...other });
  await store.devices.put({
    name: device,
    site: 'site-3',
    city: 'Aveiro',
    kind: null,
    year: 2019,
    attributes: {},
  });
  await store.records.createTable('usertable', 10);
  await store.records.createTable('canaries', 1);
  await store.records.insert('canaries', 'canary', { field0: CANARY });
  ingest.refuse('sensors/a/b', 'malformed', 'no number', 'x');
}

/** What must stay: the data of others. */
async function contentOf(store: Store): Promise<unknown> {
  const readings = [];
  for await (const each of store.readings.range({ device: OWNER, limit: 100, order: 'asc' }))
    readings.push(each);
  return {
    readings,
    device: await store.devices.get(OWNER),
    record: await store.records.read('canaries', 'canary', null),
    latest: await store.readings.latest([OWNER]),
  };
}
