import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingLabels } from '../../src/boards.ts';
import { checkDirectories } from '../../src/directories.ts';
import { DockerError } from '../../src/docker-api.ts';
import type { Container, Engine, Swarm, SwarmNode, SwarmService } from '../../src/engine.ts';
import { passes } from '../../src/finding.ts';
import { checkMtu, findUnderlay } from '../../src/network.ts';
import { checkPorts, listeningPorts, readPorts } from '../../src/ports.ts';
import { mongodbImage } from '../../src/processor.ts';
import type { Stack, StackService } from '../../src/stack.ts';
import { checkSwarm, type Plan } from '../../src/swarm.ts';
import { checkVersions } from '../../src/versions.ts';
import { recorded } from '../support/board-files.ts';
import { only } from '../support/findings.ts';

const MIB = 2 ** 20;

interface NodeOptions {
  labels?: Record<string, string>;
  role?: 'manager' | 'worker';
  availability?: 'active' | 'pause' | 'drain';
  state?: string;
  mib?: number;
  version?: string;
  architecture?: string;
}

function node(number: number, options: NodeOptions = {}): SwarmNode {
  const {
    labels = {},
    role = number === 1 ? 'manager' : 'worker',
    availability = 'active',
    state = 'ready',
  } = options;
  return {
    ID: `id-${number}`,
    Spec: { Role: role, Availability: availability, Labels: labels },
    Description: {
      Hostname: `board-${number}`,
      Platform: { Architecture: options.architecture ?? 'aarch64' },
      Resources: { MemoryBytes: (options.mib ?? 906) * MIB },
      Engine: { EngineVersion: options.version ?? '28.5.0' },
    },
    Status: { State: state, Addr: `10.0.0.${number}` },
  };
}

function service(name: string, change: Partial<StackService> = {}): StackService {
  const none = {
    image: null,
    replicas: 1,
    labels: new Map(),
    optional: false,
    ports: [],
    limit: null,
    reserved: null,
  };
  return { name, ...none, environment: {}, directories: [], ...change };
}

const STACK: Stack = {
  files: ['docker-stack.yml'],
  services: [
    service('mosquitto', {
      labels: new Map([['tidegauge.broker', 'true']]),
      ports: [8883],
      limit: 128 * MIB,
      reserved: 32 * MIB,
      directories: ['/var/lib/tidegauge/mosquitto'],
    }),
    service('postgres', {
      labels: new Map([['tidegauge.postgres', 'true']]),
      limit: 512 * MIB,
      reserved: 256 * MIB,
    }),
    service('api', { image: 'tidegauge-api:0.2.0', ports: [8080], limit: 128 * MIB, reserved: 80 * MIB }),
    service('sensors-sim', { labels: new Map([['never', 'true']]), replicas: 0 }),
  ],
  secrets: ['tidegauge_ca', 'tidegauge_postgres_password'],
  networks: [{ name: 'broker', mtu: null }],
  variables: {},
};
const PLAN: Plan = { store: 'postgres', profile: '1gb', stack: STACK, mongodb: null };
const LABELS = { 'tidegauge.broker': 'true', 'tidegauge.postgres': 'true' };

function engine(swarm: Partial<Swarm> | DockerError | null, change: Partial<Engine> = {}): Engine {
  const active = swarm !== null;
  const none = { nodes: [node(1)], services: [], secrets: STACK.secrets };
  return {
    info: {
      Name: 'board-1',
      ServerVersion: '28.5.0',
      Architecture: 'aarch64',
      KernelVersion: '6.1',
      MemTotal: 906 * MIB,
      MemoryLimit: true,
      Driver: 'overlay2',
      SystemTime: '',
      Swarm: {
        LocalNodeState: active ? 'active' : 'inactive',
        ControlAvailable: active,
        NodeID: active ? 'id-1' : '',
        NodeAddr: active ? '10.0.0.1' : '',
        Error: '',
      },
    },
    readAt: 0,
    tookSeconds: 0,
    arch: 'arm64',
    networks: [],
    containers: [],
    swarm: swarm === null || swarm instanceof DockerError ? swarm : { ...none, ...swarm },
    ...change,
  };
}

test('no swarm, no quorum and a worker are distinguished, each with its fix', () => {
  assert.match(only(checkSwarm(engine(null), PLAN), 'swarm.state', 'error').fix!, /docker swarm init/);
  const lost = new DockerError('the swarm does not have a leader', 'docker swarm init --force-new-cluster');
  assert.match(only(checkSwarm(engine(lost), PLAN), 'swarm.state', 'error').fix!, /force-new-cluster/);
  const worker = { ...engine({}), swarm: null };
  assert.match(only(checkSwarm(worker, PLAN), 'swarm.state', 'unknown').fix!, /on a manager/);
});

test('a swarm that meets the requirements of the stack passes', () => {
  const nodes = [node(1, { labels: LABELS, mib: 1900 }), node(2), node(3)];
  const findings = checkSwarm(engine({ nodes }), PLAN);
  assert.ok(passes(findings, true), JSON.stringify(findings));
  assert.match(only(findings, 'swarm.labels', 'ok').message, /mosquitto on board-1; postgres on board-1/);
});

test('each missing label comes with the command that adds it, spread over the boards', () => {
  const nodes = [node(1), node(2, { mib: 3790 }), node(3, { availability: 'drain', mib: 7800 })];
  const fixes = checkSwarm(engine({ nodes }), PLAN)
    .filter(({ check }) => check === 'swarm.labels')
    .map(({ fix }) => fix);
  assert.deepEqual(fixes, [
    'docker node update --label-add tidegauge.broker=true board-2',
    'docker node update --label-add tidegauge.postgres=true board-1',
  ]);
});

test("a board keeps the value that a label has: Cassandra's second kind goes to another board", () => {
  const services = ['seed', 'node'].map((value) =>
    service(value, { labels: new Map([['tidegauge.cassandra', value]]) }),
  );
  const suggested = missingLabels(
    [node(1, { labels: { 'tidegauge.cassandra': 'seed' } }), node(2)],
    services,
  );
  assert.deepEqual(
    suggested.map(({ value, node: on }) => [value, on?.Description.Hostname]),
    [['node', 'board-2']],
  );
});

test('an optional member is placed by its label, and is not missing without one', () => {
  const labels = new Map([['tidegauge.mongodb', '2']]);
  const second = service('mongodb-2', { labels, optional: true, replicas: null });
  assert.deepEqual(missingLabels([node(1)], [second]), []);
  const nodes = [node(1, { labels: LABELS, mib: 1900 }), node(2, { labels: { 'tidegauge.mongodb': '2' } })];
  const plan = { ...PLAN, stack: { ...STACK, services: [...STACK.services, second] } };
  assert.match(
    only(checkSwarm(engine({ nodes }), plan), 'swarm.labels', 'ok').message,
    /mongodb-2 on board-2/,
  );
});

test('missing secrets are listed, with the command that creates them', () => {
  const finding = only(checkSwarm(engine({ secrets: ['tidegauge_ca'] }), PLAN), 'swarm.secrets', 'error');
  assert.match(finding.message, /1 of 2 are missing: tidegauge_postgres_password/);
  assert.match(finding.fix!, /^stacks\/bin\/secrets postgres/);
});

test('boards that are down, drained, 32-bit or of another version are listed', () => {
  const nodes = [
    node(1, { labels: LABELS, mib: 1900 }),
    node(2, { state: 'down' }),
    node(3, { availability: 'drain' }),
    node(4, { version: '20.10.5', architecture: 'armv7l', role: 'manager' }),
  ];
  const findings = checkSwarm(engine({ nodes }), PLAN);
  const about = (check: string) => findings.filter((finding) => finding.check === check);
  assert.deepEqual(
    about('swarm.nodes').map(({ level }) => level),
    ['error', 'warning', 'ok'],
  );
  assert.match(
    only(findings, 'swarm.engines', 'warning').message,
    /28\.5\.0 on board-1, board-2, board-3; 20\.10\.5 on board-4/,
  );
  assert.match(only(findings, 'swarm.architecture', 'error').message, /board-4/);
  assert.match(only(findings, 'swarm.state', 'warning').message, /4 boards, 2 managers/);
});

test('a single board runs all services, and services that do not fit are reported', () => {
  const alone = (mib: number, plan: Plan = PLAN) =>
    checkSwarm(engine({ nodes: [node(1, { labels: LABELS, mib })] }), plan);
  assert.match(
    only(alone(906), 'swarm.memory', 'ok').message,
    /mosquitto, postgres, api take 768 MiB at most/,
  );
  only(alone(700, { ...PLAN, profile: null }), 'swarm.memory', 'warning');
  only(alone(300, { ...PLAN, profile: null }), 'swarm.memory', 'error');
  assert.match(only(alone(906, { ...PLAN, profile: '4gb' }), 'swarm.memory', 'error').fix!, /1gb\.env/);
});

test('the processor of another board is unknown', () => {
  const nodes = [
    node(1, { labels: { 'tidegauge.mongodb': '1' } }),
    node(2, { labels: { 'tidegauge.mongodb': '2' } }),
  ];
  const plan: Plan = {
    store: 'mongodb',
    profile: '1gb',
    stack: null,
    mongodb: mongodbImage('mongo:7.0.5', 'mongo:4.4.18'),
  };
  assert.match(only(checkSwarm(engine({ nodes }), plan), 'swarm.mongodb', 'unknown').message, /board-2/);
});

test("an overlay network with a larger MTU than the boards' network is an error", () => {
  const files = recorded({ '/sys/class/net/eth0/mtu': '1400\n', '/sys/class/net/lo/mtu': '65536\n' });
  const address = { address: '10.0.0.1', family: 'IPv4', internal: false } as never;
  const underlay = findUnderlay(files, { lo: [], eth0: [address] }, '10.0.0.1');
  assert.deepEqual(underlay, { name: 'eth0', mtu: 1400 });
  const finding = only(checkMtu(underlay, engine({}), STACK), 'network.mtu', 'error');
  assert.match(finding.message, /eth0 has MTU 1400, but broker assumes 1500/);
  const small = { ...STACK, networks: [{ name: 'broker', mtu: 1400 }] };
  only(checkMtu(underlay, engine({}), small), 'network.mtu', 'ok');
  const old = { Name: 'tidegauge_store', Driver: 'overlay', Options: {} };
  only(checkMtu(underlay, engine({}, { networks: [old] }), small), 'network.mtu', 'error');
  only(checkMtu(null, engine({}), small), 'network.mtu', 'unknown');
});

const TCP = [
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
  '   0: 00000000:22B3 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0',
  '   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0',
].join('\n');

test('a listening socket uses a port, a connected one does not', () => {
  assert.deepEqual([...listeningPorts(recorded({ '/proc/net/tcp': TCP }))!.keys()], [8883]);
  assert.equal(listeningPorts(recorded({})), null);
});

test('a port in use is reported with its program, container or stack, unless it is this stack', () => {
  const files = recorded({
    '/proc/net/tcp': TCP,
    '/proc/812/fd/7': '->socket:[4711]',
    '/proc/812/comm': 'mosquitto\n',
  });
  const look = (from: Engine | null) => checkPorts(readPorts(files, STACK, from), 'tidegauge');
  assert.match(
    only(look(null), 'ports.taken', 'error').message,
    /port 8883, which mosquitto publishes, is in use by mosquitto \(pid 812\)/,
  );
  assert.match(only(look(null), 'ports.free', 'ok').message, /8080/);
  const published = (stack: string): SwarmService => ({
    Spec: {
      Name: `${stack}_mosquitto`,
      Labels: { 'com.docker.stack.namespace': stack },
      TaskTemplate: {},
      EndpointSpec: { Ports: [{ PublishedPort: 8883, PublishMode: 'host' }] },
    },
  });
  only(look(engine({ services: [published('tidegauge')] })), 'ports.ours', 'ok');
  assert.match(
    only(look(engine({ services: [published('other')] })), 'ports.taken', 'error').message,
    /service other_mosquitto/,
  );
  const container: Container = { Names: ['/broker'], Labels: {}, Ports: [{ PublicPort: 8883 }] };
  assert.match(
    only(look(engine(null, { containers: [container] })), 'ports.taken', 'error').message,
    /container broker/,
  );
  only(checkPorts(null, 'tidegauge'), 'ports.free', 'unknown');
});

test("the directories of services with this board's labels must exist", () => {
  const nodes = [node(1, { labels: LABELS })];
  const missing = checkDirectories(recorded({}), STACK, engine({ nodes }));
  assert.match(
    only(missing, 'disk.directories', 'error').message,
    /\/var\/lib\/tidegauge\/mosquitto does not exist, so mosquitto/,
  );
  const there = recorded({ '/var/lib/tidegauge/mosquitto/mosquitto.db': '' });
  only(checkDirectories(there, STACK, engine({ nodes })), 'disk.directories', 'ok');
  assert.deepEqual(checkDirectories(recorded({}), STACK, engine({ nodes: [node(1)] })), []);
});

test('an engine that is old, 32-bit or has a slow storage driver is reported, and images that differ from the plan', () => {
  const is = (change: Partial<Engine['info']>, arch = 'arm64') => {
    const base = engine(null);
    return checkVersions({ ...base, arch, info: { ...base.info, ...change } }, null, 'tidegauge');
  };
  only(is({}), 'docker.engine', 'ok');
  only(is({ ServerVersion: '19.03.13' }), 'docker.engine', 'error');
  only(is({}, 'arm'), 'docker.engine', 'error');
  only(is({ Driver: 'vfs' }), 'docker.engine', 'warning');
  const running: SwarmService = {
    Spec: {
      Name: 'tidegauge_api',
      TaskTemplate: { ContainerSpec: { Image: 'tidegauge-api:0.1.0@sha256:00' } },
    },
  };
  const images = checkVersions(engine({ services: [running] }), STACK, 'tidegauge');
  assert.match(
    only(images, 'docker.images', 'warning').message,
    /api runs tidegauge-api:0\.1\.0, and .* tidegauge-api:0\.2\.0/,
  );
});
