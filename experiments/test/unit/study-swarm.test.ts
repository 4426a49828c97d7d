import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Combination, Study } from '../../src/model.ts';
import { storeLevels } from '../../src/places/factors.ts';
import { refusalOfSwarm, swarmPlace } from '../../src/places/swarm.ts';
import type { SwarmBoard, SwarmState } from '../../src/places/swarm-state.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const STUDY = {
  fixed: { driver: 'app' },
  easy: { driver: ['app', 'k6'] },
  hard: {},
  exclude: [],
  state: {},
  networks: { wifi: { delayMs: 5, jitterMs: 0, loss: 0, kilobitsPerSecond: null } },
} as unknown as Study;

function refusal(hard: Combination): string {
  return swarmPlace().refuses(hard, STUDY) ?? '';
}

test('what no swarm can have is refused without a swarm', () => {
  assert.match(refusal({ store: 'json' }), /no stack deploys json: there are postgres, /);
  assert.match(refusal({ store: 'postgres', rf: 2 }), /one copy/);
  assert.match(refusal({ store: 'hbase', rf: 2 }), /hbase keeps one copy of the data on one board/);
  assert.match(refusal({ store: 'cassandra', nodes: 2, rf: 3 }), /rf 3 needs 3 nodes, and there are 2/);
  assert.match(refusal({ store: 'postgres', memory: '3GiB' }), /use none, 1GiB, 2GiB, 4GiB, 8GiB/);
  assert.match(refusal({ store: 'postgres', network: 'wifi' }), /the network of a swarm is not changed/);
  const restored = { ...STUDY, state: { a: 'restore', d: 'reload' } } as const;
  assert.equal(
    swarmPlace().refuses({ store: 'postgres' }, restored),
    'a stack on a swarm cannot restore loaded data: write state: { a: reload }',
  );
});

test('nodes and copies must be those of the swarm, and nothing else may run there', () => {
  const board = (name: string, label: string): SwarmBoard => ({
    id: name,
    name,
    address: '192.0.2.1',
    labels: { [`tidegauge.${label}`]: label === 'cassandra' ? (name === 'a' ? 'seed' : 'node') : 'true' },
    arch: 'aarch64',
    cores: 4,
    memoryBytes: 2 ** 30,
  });
  const swarm: SwarmState = {
    here: 'd',
    boards: [board('a', 'cassandra'), board('b', 'cassandra'), board('c', 'postgres'), board('d', 'broker')],
    stacks: [],
    secrets: { tidegauge_cassandra_store_url: { 'tidegauge.copies': '2' } },
  };
  const refused = (hard: Combination, change: Partial<SwarmState> = {}): string =>
    refusalOfSwarm(storeLevels(hard, STUDY), { ...swarm, ...change }) ?? '';
  assert.equal(refused({ store: 'postgres' }), '');
  // The study makes a keyspace with its own number of copies, so that of the secret does not count.
  for (const rf of [1, 2]) assert.equal(refused({ store: 'cassandra', nodes: 2, rf }), '');
  assert.match(refused({ store: 'cassandra', nodes: 3, rf: 2 }), /^2 ready boards have .* set nodes to 2/);
  const labelled = (name: string, value: string): SwarmBoard => ({
    ...board(name, 'x'),
    labels: { 'tidegauge.hbase': value },
  });
  const cluster = [labelled('a', 'node'), labelled('b', 'node'), labelled('d', 'master')];
  assert.equal(refused({ store: 'hbase', nodes: 2, rf: 2 }, { boards: cluster }), '');
  assert.match(
    refused({ store: 'hbase', nodes: 2 }, { boards: [...cluster.slice(0, 2), board('d', 'broker')] }),
    /no ready board has the label tidegauge.hbase=master/,
  );
  assert.match(
    refused({ store: 'hbase', nodes: 1 }, { boards: cluster }),
    /no ready board has the label tidegauge.hbase:/,
  );
  assert.match(refused({ store: 'mariadb' }), /no ready board has the label tidegauge.mariadb/);
  assert.match(refused({ store: 'postgres' }, { stacks: ['mine'] }), /the stack mine runs in this swarm/);
  const left = { secrets: { 'tidegauge-study-token': {}, 'tidegauge-study-store-1': {} } };
  assert.match(
    refused({ store: 'postgres' }, left),
    /docker stack rm tidegauge-study; docker secret rm tidegauge-study-token tidegauge-study-store-1$/,
  );
  assert.match(refused({ store: 'postgres' }, { here: 'e' }), /board of DOCKER_HOST, which takes no tasks/);
  assert.match(
    refused({ store: 'postgres' }, { here: 'c' }),
    /board of DOCKER_HOST, c, which has the store, and a has not: set DOCKER_HOST to a/,
  );
  const alone = { here: 'c', boards: [board('c', 'postgres')] };
  assert.equal(refused({ store: 'postgres' }, alone), '');
});

test('a missing engine is reported with what to check', (t) => {
  const before = process.env.DOCKER_HOST;
  process.env.DOCKER_HOST = 'unix:///nonexistent/docker.sock';
  t.after(() => {
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
  });
  assert.match(refusal({ store: 'postgres' }), /check DOCKER_HOST$|^there is no docker client/);
});

test('the driver program imports only what its container in a swarm has', () => {
  // The image of the API has these packages, and what they depend on.
  const dependencies = ['services/api', 'packages/storage'].flatMap((folder) =>
    Object.keys(JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')).dependencies),
  );
  const here = [...dependencies, '@tidegauge/workload'];
  const files = new Set([join(ROOT, 'experiments/src/trial/driver.ts')]);
  // A set iterates over what is added during the iteration.
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(/^(?:import|export) (?!type\b)(?:[^;]*? from )?'([^']+)';/gm)) {
      const [, path] = /^@tidegauge\/loadtests\/(.*)/.exec(name!) ?? [];
      if (path !== undefined) files.add(join(ROOT, `loadtests/src/${path}.ts`));
      else if (name!.startsWith('.')) files.add(resolve(dirname(file), name!));
      else {
        const isThere = here.some((dependency) => name === dependency || name!.startsWith(`${dependency}/`));
        assert.ok(name!.startsWith('node:') || isThere, `${file} imports ${name}`);
      }
    }
  }
  const copied = ['experiments/src/', 'loadtests/src/'].map((folder) => join(ROOT, folder));
  const outside = [...files].filter((file) => !copied.some((folder) => file.startsWith(folder)));
  assert.deepEqual(outside, []);
  assert.ok(files.size > 10);
});
