import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Board } from '@tidegauge/lab/docker/boards';
import { compilerOptions } from '@tidegauge/lab/jvm';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { assertRoundTrip } from '../round-trip.ts';
import { Sensor } from '../sensor.ts';

const ROWS = 20;
const MESSAGES = 10_000;
const OTHERS = ['mosquitto', 'ingest', 'api', 'broker-metrics'];
// Two boards need a shorter random delay before they join than fifteen. Their start takes less effort, because they run
// for a short time.
const QUICK = {
  CASSANDRA_JVM_OPTIONS: [
    '-Dcassandra.ring_delay_ms=5000 -Dcassandra.skip_wait_for_gossip_to_settle=0',
    ...compilerOptions(true),
  ].join(' '),
  CASSANDRA_JOIN_SPREAD: '0',
};
/** First only the database runs. The others have a board without it. */
const OVERRIDE = `version: '3.8'
services:
${OTHERS.map((name) => `  ${name}: { deploy: { replicas: 0, placement: { constraints: [node.hostname == board-1] } } }`).join('\n')}
`;

const { boards, swarm, stop, skip } = await boardsOrSkip(3, { memory: 2 ** 30 });
const [front, seed, node] = boards as [Board, Board, Board];
let deployment: Deployment;
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop();
});

const containerOf = (board: Board): Promise<string> =>
  deployment.healthy(board === seed ? 'cassandra-seed' : 'cassandra', board);

async function cql(board: Board, statements: string): Promise<string> {
  return board.docker(['exec', await containerOf(board), 'cqlsh', '-e', statements]);
}

/** Every node in the status of a board, by host id: its state (`UN`: up and a member) and its address. */
async function nodes(board: Board): Promise<Map<string, string>> {
  const status = await board.docker(['exec', await containerOf(board), 'nodetool', 'status']);
  const lines = status.matchAll(/^([UD?][NLJM]) +(\S+) .* ([0-9a-f-]{36}) /gm);
  return new Map([...lines].map(([, state, address, id]) => [id!, `${state} ${address}`]));
}

test('a board joins and gets its copies', { skip }, async () => {
  await swarm();
  const override = join(front.disk, 'override.yml');
  writeFileSync(override, OVERRIDE);
  const places = [
    { board: front, roles: ['broker'], images: ['mosquitto', 'tidegauge'] },
    { board: seed, roles: ['cassandra=seed'], images: ['cassandra'] },
    { board: node, roles: [], images: ['cassandra'] },
  ] as const;
  const options = { env: QUICK, secrets: ['--copies', '2'], options: ['-c', override] };
  deployment = await Deployment.start('cassandra', places, options);
  // One copy exists. The new board gets the other one.
  const rows = Array.from({ length: ROWS }, (_, key) => `insert into tidegauge.t (k) values (${key});`);
  await cql(seed, `create table tidegauge.t (k int primary key); consistency one; ${rows.join(' ')}`);
  await deployment.addRoles(node, ['cassandra=node']);
  assert.match(await cql(node, 'consistency all; select count(*) from tidegauge.t'), /^ +20$/m);
  assert.deepEqual(states(await nodes(seed)), ['UN', 'UN']);
});

test('the default user cannot log in, and Tidegauge’s user only owns its keyspace', { skip }, async () => {
  const container = await containerOf(seed);
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

test('readings of a sensor are stored in Cassandra on separate boards, and read back', { skip }, async () => {
  await front.docker(['service', 'scale', '--detach', ...OTHERS.map((name) => `tidegauge_${name}=1`)]);
  await deployment.settled();
  sensor = await Sensor.connect(await deployment.addSensor(front, 'site-3'));
  await assertRoundTrip(sensor, deployment, MESSAGES);
});

test('a node that restarts at another address is the same member, and leaves no dead entry', {
  skip,
}, async () => {
  const container = await containerOf(node);
  const before = await nodes(seed);
  await node.docker(['kill', container]);
  await until('another container', async () => (await containerOf(node)) !== container);
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
