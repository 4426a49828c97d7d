import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Combination, Study } from '../../src/study/model.ts';
import { storeLevels } from '../../src/study/places/factors.ts';
import { refusalOfSwarm, swarmPlace } from '../../src/study/places/swarm.ts';
import type { SwarmBoard, SwarmState } from '../../src/study/places/swarm-state.ts';

const STUDY = {
  fixed: { driver: 'app' },
  easy: { driver: ['app', 'k6'] },
  hard: {},
  exclude: [],
  networks: { wifi: { delayMs: 5, jitterMs: 0, loss: 0, kilobitsPerSecond: null } },
} as unknown as Study;

function refusal(hard: Combination, easy: Study['easy'] = STUDY.easy): string {
  return swarmPlace().refuses(hard, { ...STUDY, easy }) ?? '';
}

test('what no swarm can have is refused without a swarm', () => {
  assert.match(refusal({ store: 'json' }), /no stack deploys json: there are postgres, /);
  assert.match(refusal({ store: 'postgres', rf: 2 }), /one copy/);
  assert.match(refusal({ store: 'postgres', memory: '3GiB' }), /use none, 1GiB, 2GiB, 4GiB, 8GiB/);
  assert.match(refusal({ store: 'postgres', network: 'wifi' }), /the network of a swarm is not changed/);
  assert.match(refusal({ store: 'postgres' }, { driver: ['raw', 'app'] }), /no driver raw: use driver: app/);
  const app = { driver: ['app'] };
  assert.match(refusal({ store: 'cassandra', 'url.compression': 'none' }, app), /compression cannot be set/);
  assert.match(
    refusal({ store: 'cassandra' }, { ...app, consistency: ['default', 'ONE'] }),
    /so read, write cannot be set on a swarm/,
  );
});

test('nodes and copies must be those of the swarm, and nothing else may run there', () => {
  const board = (name: string, label: string): SwarmBoard => ({
    id: name,
    name,
    address: '192.0.2.1',
    labels: { [`tidegauge.${label}`]: 'true' },
    arch: 'aarch64',
    cores: 4,
    memoryBytes: 2 ** 30,
  });
  const swarm: SwarmState = {
    boards: [board('a', 'cassandra'), board('b', 'cassandra'), board('c', 'postgres'), board('d', 'broker')],
    stacks: [],
    secrets: { tidegauge_cassandra_store_url: { 'tidegauge.copies': '2' } },
  };
  const refused = (hard: Combination, change: Partial<SwarmState> = {}): string =>
    refusalOfSwarm(storeLevels(hard, STUDY), { ...swarm, ...change }) ?? '';
  assert.equal(refused({ store: 'postgres' }), '');
  assert.equal(refused({ store: 'cassandra', nodes: 2, rf: 2 }), '');
  assert.match(refused({ store: 'cassandra', nodes: 3, rf: 2 }), /^2 ready boards have .* set nodes to 2/);
  assert.match(refused({ store: 'cassandra', nodes: 2 }), /sets 2 copies, and rf is 1: set rf to 2/);
  assert.match(refused({ store: 'cassandra', nodes: 2, rf: 2 }, { secrets: {} }), /copies .* are not known/);
  assert.match(refused({ store: 'mariadb' }), /no ready board has the label tidegauge.mariadb/);
  assert.match(refused({ store: 'postgres' }, { stacks: ['mine'] }), /the stack mine runs in this swarm/);
  const left = { secrets: { 'tidegauge-study-token': {} } };
  assert.match(refused({ store: 'postgres' }, left), /docker stack rm tidegauge-study; docker secret rm/);
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
