import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryDirectory } from '@tidegauge/lab';
import type { Board } from '@tidegauge/lab/docker/boards';
import { buildImages } from '../../images/debian/build.ts';
import { AUTHORITY } from '../../src/stack-deployment.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';

const WAIT_MS = 300_000;
const POLL_MS = 500;
const ROWS = 20;
const DATA = { TIDEGAUGE_DATA: '/mnt' };
// Two boards need a shorter random delay before they join than fifteen.
const QUICK =
  '-Dcassandra.ring_delay_ms=5000 -Dcassandra.skip_wait_for_gossip_to_settle=0 -XX:TieredStopAtLevel=1';
/** A stack with the database only. */
const OTHERS_OFF = `version: '3.8'
services:
${['mosquitto', 'ingest', 'api', 'broker-metrics'].map((name) => `  ${name}: { deploy: { replicas: 0 } }`).join('\n')}
`;

const { boards, swarm, stop, skip } = await boardsOrSkip(2, { memory: 2 ** 30 });
const [seed, node] = boards as [Board, Board];
const folder = temporaryDirectory('cassandra-boards');
after(async () => {
  await stop();
  folder.remove();
});

/** Waits for a healthy container on a board, other than `not`. */
async function healthy(board: Board, not = ''): Promise<string> {
  const filter = ['--filter', 'name=tidegauge_cassandra', '--filter', 'health=healthy'];
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await delay(POLL_MS)) {
    const container = await board.docker(['ps', '--quiet', ...filter]);
    if (container !== '' && container !== not) return container;
  }
  const tasks = await seed.docker(['stack', 'ps', '--no-trunc', 'tidegauge']);
  throw new Error(`Cassandra on ${board.name} takes no clients within ${WAIT_MS} ms:\n${tasks}`);
}

async function cql(board: Board, statements: string): Promise<string> {
  return board.docker(['exec', await healthy(board), 'cqlsh', '-e', statements]);
}

/** Every node in the status of a board, by host id: its state (`UN`: up and a member) and its address. */
async function nodes(board: Board): Promise<Map<string, string>> {
  const status = await board.docker(['exec', await healthy(board), 'nodetool', 'status']);
  const lines = status.matchAll(/^([UD?][NLJM]) +(\S+) .* ([0-9a-f-]{36}) /gm);
  return new Map([...lines].map(([, state, address, id]) => [id!, `${state} ${address}`]));
}

test('a board joins and gets its copies', { skip }, async () => {
  await swarm();
  const [images] = await Promise.all([seed, node].map((board) => buildImages(board, ['cassandra'])));
  for (const [board, role] of [
    [seed, 'seed'],
    [node, 'node'],
  ] as const) {
    const said = await board.run(['stacks/bin/board', `cassandra=${role}`, 'broker'], { env: DATA });
    const label = /docker (node update .*)$/m.exec(said)![1]!;
    if (board === seed) await seed.docker(label.split(' '));
  }
  await seed.run(['stacks/bin/secrets', 'cassandra', '--copies', '2'], { env: AUTHORITY });
  const override = join(folder.path, 'override.yml');
  writeFileSync(override, OTHERS_OFF);
  const env = { ...DATA, ...images, CASSANDRA_JVM_OPTIONS: QUICK, CASSANDRA_JOIN_SPREAD: '0' };
  await seed.run(['stacks/bin/deploy', 'cassandra', '--', '--resolve-image', 'never', '-c', override], {
    env,
  });
  await healthy(seed);
  // One copy exists. The new board gets the other one.
  const rows = Array.from({ length: ROWS }, (_, key) => `insert into tidegauge.t (k) values (${key});`);
  await cql(seed, `create table tidegauge.t (k int primary key); consistency one; ${rows.join(' ')}`);
  await seed.docker(['node', 'update', '--label-add', 'tidegauge.cassandra=node', node.name]);
  await healthy(node);
  assert.match(await cql(node, 'consistency all; select count(*) from tidegauge.t'), /^ +20$/m);
  assert.deepEqual(states(await nodes(seed)), ['UN', 'UN']);
});

test('the default user cannot log in, and Tidegauge’s user only owns its keyspace', { skip }, async () => {
  const container = await healthy(seed);
  const as = (user: string, password: string, statement: string) =>
    seed.docker(['exec', container, 'sh', '-c', `cqlsh -u ${user} -p ${password} -e "${statement}"`]);
  await assert.rejects(as('cassandra', 'cassandra', 'select key from system.local'), /Bad credentials/);
  const password = `$(sed 's,.*://tidegauge:,,;s,@.*,,' /run/secrets/store_url)`;
  await as('tidegauge', password, 'drop table tidegauge.t; create table tidegauge.t (k int primary key)');
  const keyspace = `create keyspace mine with replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`;
  for (const refused of [keyspace, 'create role mine', 'select * from system_auth.roles']) {
    await assert.rejects(as('tidegauge', password, refused), /Unauthorized/, refused);
  }
});

test('a node that restarts at another address is the same member, and leaves no dead entry', {
  skip,
}, async () => {
  const container = await healthy(node);
  const before = await nodes(seed);
  await node.docker(['kill', container]);
  await healthy(node, container);
  for (const board of [seed, node]) {
    const now = await nodes(board);
    assert.deepEqual([...now.keys()].toSorted(), [...before.keys()].toSorted(), board.name);
    assert.deepEqual(states(now), ['UN', 'UN']);
    assert.notDeepEqual([...now.values()].toSorted(), [...before.values()].toSorted());
  }
});

function states(known: ReadonlyMap<string, string>): string[] {
  return [...known.values()].map((node) => node.slice(0, 2));
}
