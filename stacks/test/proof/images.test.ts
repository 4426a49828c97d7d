import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryDirectory } from '@tidegauge/lab';
import type { Board } from '@tidegauge/lab/docker/boards';
import { buildImages } from '../../images/debian/build.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { ROOT } from '../stack-files.ts';

const WAIT_MS = 120_000;
const GRACE_SECONDS = 20;
const TOKEN = 'sixteen-characters';
const PASSWORD = 'of this test';
const MESSAGES = 40;

const { boards, stop, skip } = await boardsOrSkip(1);
const board = boards[0] as Board;
const folder = temporaryDirectory('images');
after(async () => {
  await stop();
  folder.remove();
});

const NAMES = ['tidegauge', 'start', 'sensors-sim', 'mosquitto', 'postgres'] as const;
const variables = skip ? {} : await buildImages(board, NAMES);
const ours = (name: string): string => `tidegauge-${name}:${variables.TIDEGAUGE_VERSION}`;

function file(name: string, text: string, mode = 0o644): string {
  const path = join(folder.path, name);
  writeFileSync(path, text, { mode });
  return path;
}

interface Service {
  readonly image: string;
  readonly user: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Further arguments of docker run. */
  readonly more?: readonly string[];
  /** A health check, for an image that has none. */
  readonly health?: string;
}

const SERVICES: Readonly<Record<string, Service>> = {
  mosquitto: {
    image: variables.MOSQUITTO_IMAGE ?? '',
    user: '1883',
    more: [
      ...['--user', '1883:1883', '--tmpfs', '/mosquitto/data:uid=1883', '--volume'],
      `${file('mosquitto.conf', 'listener 1883\nallow_anonymous true\n')}:/mosquitto/config/mosquitto.conf:ro`,
    ],
    health: "mosquitto_sub -t '$SYS/broker/uptime' -C 1 -W 5",
  },
  postgres: {
    image: variables.POSTGRES_IMAGE ?? '',
    user: '999',
    env: {
      POSTGRES_PASSWORD_FILE: '/run/password',
      POSTGRES_DB: 'tides',
      POSTGRES_INITDB_ARGS: '-E UTF8 -k',
    },
    more: [
      ...['--user', '999:999', '--tmpfs', '/var/run/postgresql:uid=999'],
      ...['--tmpfs', '/var/lib/postgresql/data:uid=999,mode=700'],
      ...['--volume', `${file('password', PASSWORD)}:/run/password:ro`],
      '--volume',
      `${file('init.sql', 'create table made (by_script int);')}:/docker-entrypoint-initdb.d/init.sql:ro`,
    ],
    health: 'pg_isready -q -h 127.0.0.1 -U postgres -d tides',
  },
  ingest: {
    image: ours('ingest'),
    user: '1000',
    env: {
      STORE: `postgres://postgres:${encodeURIComponent(PASSWORD)}@postgres/tides`,
      BROKER: 'mqtt://mosquitto:1883',
      HTTP_TOKEN: TOKEN,
      ALLOWED_HOSTS: 'ingest',
    },
    more: ['--volume', 'ingest:/data'],
  },
  api: {
    image: ours('api'),
    user: '1000',
    env: {
      STORE: `postgres://postgres:${encodeURIComponent(PASSWORD)}@postgres/tides`,
      INGEST: 'http://ingest:9464',
      INGEST_TOKEN: TOKEN,
      API_TOKEN: TOKEN,
    },
  },
  'broker-metrics': {
    image: ours('broker-metrics'),
    user: '1000',
    env: { BROKER: 'mqtt://mosquitto:1883' },
  },
  'citus-membership': {
    image: ours('citus-membership'),
    user: '1000',
    env: { COORDINATOR: 'postgres://postgres@postgres/tides', PASSWORD, HTTP_TOKEN: TOKEN },
  },
  start: {
    image: ours('start'),
    user: '1000',
    env: { MQTT_USER: 'site-3', MQTT_PASSWORD: PASSWORD, API_TOKEN: TOKEN },
    more: ['--volume', 'start:/data'],
  },
};

/** Runs a service with the restrictions of the stacks. */
async function start(name: string): Promise<void> {
  const { image, env = {}, more = [], health } = SERVICES[name]!;
  const bounds = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--init'];
  const check = ['--health-interval', '2s', ...(health === undefined ? [] : ['--health-cmd', health])];
  const settings = Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
  const place = ['--name', name, '--network', 'stack', '--tmpfs', '/tmp'];
  await board.docker(['run', '--detach', ...place, ...bounds, ...check, ...settings, ...more, image]);
  for (const deadline = Date.now() + WAIT_MS; ; await delay(200)) {
    const { State: state } = (await board.get(`/containers/${name}/json`)) as Inspected;
    if (state.Status === 'running' && state.Health.Status === 'healthy') return;
    if (state.Status === 'running' && Date.now() < deadline) continue;
    const log = await board.docker(['logs', '--tail', '20', name]);
    assert.fail(`${name} is ${state.Status}, ${state.Health.Status}: ${log}`);
  }
}

/** A part of what the engine answers. */
interface Inspected {
  readonly State: { readonly Status: string; readonly Health: { readonly Status: string } };
}

/** Files of an image that find(1) prints for these arguments, as root. */
async function find(image: string, ...args: string[]): Promise<string[]> {
  const run = ['run', '--rm', '--network', 'none', '--user', '0', '--entrypoint', 'find', image, ...args];
  return (await board.docker(run)).split('\n').filter(Boolean);
}

test('every service starts and answers its health check, on a read-only root, as a user without rights', {
  skip,
}, async () => {
  await board.docker(['network', 'create', 'stack']);
  await Promise.all(['mosquitto', 'postgres'].map(start));
  await Promise.all(['ingest', 'api', 'broker-metrics', 'citus-membership', 'start'].map(start));
  for (const [name, { user }] of Object.entries(SERVICES)) {
    assert.equal(await board.docker(['exec', name, 'id', '-u']), user, name);
    await assert.rejects(board.docker(['exec', name, 'touch', '/etc/written']), /Read-only/, name);
  }
});

test('one container stores what a sensor with a password publishes, and keeps it', { skip }, async () => {
  const login = ['-u', 'site-3', '-P', PASSWORD];
  const message = ['-t', 'sensors/site-3/boiler/temperature', '-q', '1', '-m', '21.5'];
  const publish = ['exec', 'mosquitto', 'mosquitto_pub', '-h', 'start', ...message];
  await board.docker([...publish, ...login]);
  await assert.rejects(board.docker(publish));
  await board.docker(['restart', '--time', String(GRACE_SECONDS), 'start']);
  const path = '/v1/readings/latest?device=site-3/boiler';
  const request = `${REQUEST} 'GET ${path} HTTP/1.0\\r\\nAuthorization: Bearer ${TOKEN}\\r\\n\\r\\n' >&3; cat <&3`;
  const read = ['exec', 'start', 'bash', '-c', request];
  for (const deadline = Date.now() + WAIT_MS; ; await delay(200)) {
    const answer = await board.docker(read).catch(String);
    if (/"value":21\.5\b/.test(answer)) break;
    assert.ok(Date.now() < deadline, answer);
  }
});

test('the replacement for the postgres image creates the configured database, with its password', {
  skip,
}, async () => {
  const query = ['psql', '-h', '127.0.0.1', '-U', 'postgres', '-d', 'tides', '-tAc'];
  const made = await board.docker(['exec', 'postgres', ...query, 'show data_checksums; table made']);
  assert.equal(made, 'on');
  const host = await board.docker(['exec', 'postgres', 'hostname', '-i']);
  const from = (password: string) =>
    board.docker([
      'exec',
      '--env',
      `PGPASSWORD=${password}`,
      'postgres',
      'psql',
      '-h',
      host,
      ...query.slice(3),
      'select 1',
    ]);
  assert.equal(await from(PASSWORD), '1');
  await assert.rejects(from('wrong'), /password authentication failed/);
});

test('readings of the simulator are stored, and the simulator ends', { skip }, async () => {
  const bounds = ['--read-only', '--cap-drop', 'ALL', '--network', 'stack', '--init'];
  const args = ['--broker', 'mqtt://mosquitto:1883', '--until-count', String(MESSAGES), '--rate', '200'];
  await board.docker(['run', '--rm', ...bounds, ours('sensors-sim'), ...args, '--quiet']);
  const ledger = [
    'exec',
    'api',
    'bash',
    '-c',
    `${REQUEST} 'GET /v1/ledger HTTP/1.0\\r\\nAuthorization: Bearer ${TOKEN}\\r\\n\\r\\n' >&3; cat <&3`,
  ];
  for (const deadline = Date.now() + WAIT_MS; ; await delay(200)) {
    const [, stored] = /"stored":(\d+)/.exec(await board.docker(ledger)) ?? [];
    if (Number(stored) === MESSAGES) break;
    assert.ok(Date.now() < deadline, `${stored} of ${MESSAGES} are stored`);
  }
});

const REQUEST = 'exec 3<>/dev/tcp/127.0.0.1/8080; printf';

test('every service stops within its grace period on SIGTERM, without an error', {
  skip,
}, async () => {
  for (const name of Object.keys(SERVICES).toReversed()) {
    const begun = performance.now();
    await board.docker(['stop', '--time', String(GRACE_SECONDS), name]);
    const seconds = (performance.now() - begun) / 1000;
    assert.equal(await board.docker(['inspect', '--format', '{{.State.ExitCode}}', name]), '0', name);
    assert.ok(seconds < GRACE_SECONDS, `${name} took ${seconds} s`);
  }
});

test('our images contain what their services need, and no development files or secrets', {
  skip,
}, async () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const isForDevelopment = (path: string): boolean => packages[path]?.dev === true;
  for (const [name, rooms] of Object.entries(ROOMS)) {
    const image = ours(name);
    const paths = await find(image, '/app', '/root', '/home', '-not', '-path', '/app/.cache/*', '-type', 'f');
    const installed = new Set(
      paths.flatMap((path) => /^\/app\/(.*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
    );
    assert.deepEqual([...installed].filter(isForDevelopment), [], name);
    const code = new Set(
      paths.flatMap((path) => /^\/app\/((?:packages|services)\/[^/]+)\/src\//.exec(path)?.[1] ?? []),
    );
    assert.deepEqual([...code].toSorted(), rooms.toSorted(), name);
    const foreign = /\/\.git(\/|$)|\/\.(npmrc|env)$|\.(pem|key|p12)$|\.test\.ts$|\/_logs\//;
    assert.deepEqual(
      paths.filter((path) => foreign.test(path)),
      [],
      name,
    );
  }
  const drivers = await find(ours('broker-metrics'), '/app/node_modules', '-name', 'cassandra-driver');
  assert.deepEqual(drivers, []);
  assert.deepEqual(await find(ours('ingest'), '/app/node_modules', '-maxdepth', '1', '-name', 'mqtt'), []);
});

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

const SERVICE = ['packages/acceptors', 'packages/service', 'packages/text'];
const STORE = [
  'packages/acceptors',
  'packages/columns',
  'packages/hbase-client',
  'packages/parallel',
  'packages/readings',
  'packages/service',
  'packages/storage',
  'packages/text',
];
/** The code of the project in each image. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  ingest: ['packages/copy', ...STORE, 'packages/mqtt-session', 'packages/yaml-file', 'services/ingest'],
  api: [...STORE, 'services/api'],
  'broker-metrics': [...SERVICE, 'services/broker-metrics'],
  'citus-membership': [...SERVICE, 'packages/parallel', 'services/citus-membership'],
  doctor: [...STORE, 'services/doctor'],
  backup: ['packages/copy', ...STORE, 'services/backup'],
};

test('our images have a numeric user, and a title and a description', { skip }, async () => {
  for (const name of [...Object.keys(ROOMS), 'start', 'sensors-sim']) {
    const [user, title] = JSON.parse(
      await board.docker([
        ...['image', 'inspect', ours(name), '--format'],
        '[{{json .Config.User}}, {{json (index .Config.Labels "org.opencontainers.image.title")}}]',
      ]),
    );
    assert.equal(user, '1000:1000', name);
    assert.equal(title, `tidegauge-${name}`);
  }
});

test('a service uses the compile cache of its image', { skip }, async () => {
  const run = ['run', '--rm', '--read-only', '--env', 'NODE_DEBUG_NATIVE=COMPILE_CACHE'];
  for (const name of Object.keys(ROOMS)) {
    const said = await board.docker([
      ...run,
      '--entrypoint',
      'sh',
      ours(name),
      '-c',
      SHOW,
      'sh',
      `services/${name}`,
    ]);
    assert.match(said, new RegExp(`services/${name}/src/main.ts.*accepted`), said.slice(0, 2000));
  }
});

const SHOW = 'node --max-semi-space-size=8 "$1/src/main.ts" --help 2>&1 | grep main.ts';
