import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, glob, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProgram, temporaryDirectory } from '@tidegauge/lab';
import { hasCitus } from '@tidegauge/lab/citus';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { buildImages } from '../../images/debian/build.ts';
import { AUTHORITY } from '../../src/stack-deployment.ts';
import { askApi, type Request } from '../api.ts';

// Runs with the Citus extension of this machine's PostgreSQL, and is skipped without it.
const run = promisify(execFile);
const WAIT_MS = 180_000;
const IMAGE = 'tidegauge-test/citus:1';
const STACK = 'tidegauge';

const folder = temporaryDirectory('citus-stack');
const started = await startOrSkip('citus', async () => {
  if (!(await hasCitus())) throw new Error('PostgreSQL here has no citus extension');
  return startBoards(3, { memory: 2 ** 30 });
});
const skip = 'skip' in started ? started.skip : false;
const { boards, swarm, stop } = ('server' in started ? started.server : {}) as Boards;
const [manager, ...others] = (boards ?? []) as [Board, ...Board[]];
after(async () => {
  await stop?.();
  folder.remove();
});

/**
 * Builds an image that replaces Citus's: the PostgreSQL image of the tests with the extension, the libraries that it
 * is linked with, and Citus's user.
 */
async function buildCitus(board: Board, base: string, context: string): Promise<void> {
  await writeFile(
    join(context, 'Dockerfile'),
    `FROM ${base}
COPY lib /usr/lib/postgresql/15/lib/
COPY extension /usr/share/postgresql/15/extension/
COPY libraries /usr/local/lib/citus/
RUN echo /usr/local/lib/citus >/etc/ld.so.conf.d/zz-citus.conf && ldconfig \\
    && groupmod --gid 70 postgres && usermod --uid 70 postgres \\
    && echo "shared_preload_libraries = 'citus'" >>/usr/share/postgresql/15/postgresql.conf.sample`,
  );
  await board.docker(['build', '--quiet', '--tag', IMAGE, context], {
    env: { DOCKER_BUILDKIT: '0' },
    timeoutMs: WAIT_MS,
  });
}

async function copyExtension(context: string): Promise<void> {
  const config = await findProgram('pg_config', 'postgresql-common', ['/usr/lib/postgresql/15/bin']);
  const place = async (flag: string): Promise<string> => (await run(config, [flag])).stdout.trim();
  for (const [target, pattern] of [
    ['lib', join(await place('--pkglibdir'), 'citus*')],
    ['extension', join(await place('--sharedir'), 'extension', 'citus*')],
  ] as const) {
    await mkdir(join(context, target));
    for await (const file of glob(pattern)) {
      await cp(file, join(context, target, basename(file)), { recursive: true });
    }
  }
  const libraries = join(context, 'libraries');
  await mkdir(libraries);
  const { stdout } = await run('ldd', [
    join(context, 'lib', 'citus.so'),
    join(context, 'lib', 'citus_columnar.so'),
  ]);
  for (const [, file] of stdout.matchAll(/=> (\/\S+)/g)) {
    await cp(file!, join(libraries, basename(file!)), { dereference: true });
  }
}

async function until<T>(what: string, look: () => Promise<T>, done: (seen: T) => boolean): Promise<T> {
  let seen: T | Error = new Error('not asked');
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await sleep(500)) {
    seen = await look().catch((error: unknown) => error as Error);
    if (!(seen instanceof Error) && done(seen)) return seen;
  }
  throw new Error(
    `${what} did not come within ${WAIT_MS} ms, but ${seen instanceof Error ? seen : JSON.stringify(seen)}`,
  );
}

/** Runs a command in the container of a service, on the board where it runs. */
async function inside(service: string, ...command: string[]): Promise<string> {
  for (const board of boards) {
    const filter = ['--filter', `name=${STACK}_${service}`, '--filter', 'health=healthy'];
    const id = await board.docker(['ps', '--quiet', ...filter]).catch(() => '');
    if (id !== '') return board.docker(['exec', id.split('\n')[0]!, ...command]);
  }
  throw new Error(`${service} runs on no board`);
}

interface Worker {
  readonly id: number;
  readonly address: string;
  readonly identity: string;
  readonly state: string;
}

async function workers(): Promise<readonly Worker[]> {
  const code = `fetch('http://127.0.0.1:9466/workers').then((a) => a.text()).then(console.log)`;
  return JSON.parse(await inside('citus-membership', 'node', '-e', code)).workers;
}

const allActive = (list: readonly Worker[]): boolean => list.every(({ state }) => state === 'active');

let token = '';
let written = 0;

/** A request to the API, on the board where it runs. */
async function api(path: string, init: Request = {}): Promise<unknown> {
  const ca = await manager.run(['stacks/bin/secrets', '--ca']);
  let last: unknown = new Error('no board answers');
  for (const { address } of boards) {
    try {
      return await askApi(address, ca, path, init);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

/** Writes 100 readings of 100 devices, so that every shard has some. Repeats it until they are stored. */
async function write(): Promise<void> {
  const body = JSON.stringify(
    Array.from({ length: 100 }, (_, index) => ({
      device: `device-${index}`,
      metric: 'level',
      t: `2026-11-21T10:00:${String(written / 100).padStart(2, '0')}Z`,
      v: index,
    })),
  );
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  await until(
    'a write',
    () => api('/v1/readings', { method: 'POST', body, headers }),
    () => true,
  );
  written += 100;
}

/** Counts the stored readings of all shards. */
async function stored(): Promise<number> {
  const sql = 'select count(*) from readings';
  return Number(await inside('citus-coordinator', 'psql', '-U', 'postgres', '-d', 'tidegauge', '-Atc', sql));
}

test('a coordinator and two workers form a cluster without further steps, and readings are stored and read', {
  skip,
}, async () => {
  await swarm();
  await copyExtension(folder.path);
  const images = await Promise.all(
    boards.map(async (board) => {
      const built = await buildImages(board, ['mosquitto', 'postgres', 'tidegauge']);
      await buildCitus(board, built.POSTGRES_IMAGE!, folder.path);
      return { ...built, CITUS_IMAGE: IMAGE };
    }),
  );
  const env = { ...images[0]!, TIDEGAUGE_DATA: '/mnt', CITUS_FOUNDERS: '2', ...AUTHORITY };
  const roles = [['broker', 'citus=coordinator'], ['citus=worker'], ['citus=worker']];
  for (const [index, board] of boards.entries()) {
    const said = await board.run(['stacks/bin/board', ...roles[index]!], { env });
    await manager.docker(/docker (node update .*)$/.exec(said)![1]!.split(' '));
  }
  await manager.run(['stacks/bin/secrets', 'citus', '--copies', '2', '--host', manager.address], { env });
  const began = Date.now();
  await manager.run(['stacks/bin/deploy', 'citus', '--', '--resolve-image', 'never'], { env });
  await until('two workers', workers, (list) => list.length === 2 && allActive(list));
  console.log(`# two workers ${Date.now() - began} ms after the deploy`);
  token = await until(
    'the API',
    () => inside('api', 'cat', '/run/secrets/api_token'),
    (text) => text !== '',
  );
  await until(
    'its readiness',
    () => api('/readyz'),
    () => true,
  );
  await write();
  assert.equal(await stored(), written);
});

test('Tidegauge’s user has only the rights that it needs', { skip }, async () => {
  const sql = `select rolsuper or rolcreatedb or rolcreaterole from pg_roles where rolname = 'tidegauge'`;
  for (const node of ['citus-coordinator', 'citus_worker']) {
    assert.equal(await inside(node, 'psql', '-U', 'postgres', '-d', 'tidegauge', '-Atc', sql), 'f');
  }
});

test('a worker whose container is killed is the same worker at its new address', {
  skip,
}, async () => {
  const before = await workers();
  const board = others[0]!;
  const began = Date.now();
  const id = await board.docker(['ps', '--quiet', '--filter', `name=${STACK}_citus_worker`]);
  await board.docker(['kill', id]);
  const now = await until(
    'the worker',
    workers,
    (list) => allActive(list) && list.some(({ address }, index) => address !== before[index]?.address),
  );
  console.log(`# found again ${Date.now() - began} ms after the kill`);
  assert.deepEqual(
    now.map(({ id, identity }) => [id, identity]),
    before.map(({ id, identity }) => [id, identity]),
  );
  await write();
  assert.equal(await stored(), written);
});

test('a board that loses power and comes back is the same worker, with its data', { skip }, async () => {
  const before = await workers();
  const board = others[1]!;
  await board.kill();
  await until('its absence', workers, (list) => !allActive(list));
  await board.start();
  const began = Date.now();
  const now = await until('both workers', workers, allActive);
  console.log(`# both there ${Date.now() - began} ms after the board's start`);
  assert.deepEqual(
    now.map(({ id, identity }) => [id, identity]),
    before.map(({ id, identity }) => [id, identity]),
  );
  await write();
  assert.equal(await stored(), written);
});
