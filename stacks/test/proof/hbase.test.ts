import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryDirectory } from '@tidegauge/lab';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { buildImages } from '../../images/debian/build.ts';
import { AUTHORITY } from '../../src/stack-deployment.ts';
import { askApi, type Request } from '../api.ts';

const WAIT_MS = 240_000;
const POLL_MS = 500;
const READINGS = 1000;
const START_US = Date.UTC(2026, 0, 1) * 1000;
const DATA = { TIDEGAUGE_DATA: '/mnt' };
/** The test sends readings over HTTP. */
const OTHERS_OFF = `version: '3.8'
services:
${['mosquitto', 'broker-metrics'].map((name) => `  ${name}: { deploy: { replicas: 0 } }`).join('\n')}
`;

// The image of HBase and two starts of it take three minutes on a small machine.
const started =
  process.env.STACKS?.split(',').includes('hbase') === true
    ? await startOrSkip('docker', () => startBoards(1, { memory: 2 ** 30 }))
    : { skip: 'takes minutes: STACKS=hbase npm test -- proofs' };
const skip = 'skip' in started ? started.skip : false;
const { boards, swarm, stop } = ('server' in started ? started.server : {}) as Boards;
const [board] = (boards ?? []) as [Board];
const folder = temporaryDirectory('hbase-board');
const variables = skip ? {} : await buildImages(board, ['tidegauge', 'hbase']);
after(async () => {
  await stop?.();
  folder.remove();
});

async function until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  let trouble: unknown = 'not yet';
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await delay(POLL_MS)) {
    try {
      const answer = await ask();
      if (answer !== null) return answer;
    } catch (error) {
      trouble = error;
    }
  }
  const tasks = await board.docker(['stack', 'ps', '--no-trunc', 'tidegauge']);
  throw new Error(`${what}: not within ${WAIT_MS} ms (${trouble}):\n${tasks}`);
}

/** The healthy container of a service, other than `not`. */
function healthy(service: string, not = ''): Promise<string> {
  const filters = ['--filter', `name=tidegauge_${service}.1`, '--filter', 'health=healthy'];
  return until(`${service} is healthy`, async () => {
    const container = await board.docker(['ps', '--quiet', ...filters]);
    return container === '' || container === not ? null : container;
  });
}

async function api(path: string, init: Request = {}): Promise<unknown> {
  return askApi(board.address, await board.run(['stacks/bin/secrets', '--ca']), path, init);
}

test('a name node is formatted only if its directory is empty', { skip }, async () => {
  const image = `tidegauge-hbase:${variables.TIDEGAUGE_VERSION}`;
  const options = ['--hostname', 'hbase-namenode', '--env', 'HEAP=64m', '--init', '--read-only'];
  const tmp = ['--tmpfs', '/tmp'];
  await board.run(['stacks/bin/board', 'hbase=master'], { env: DATA });
  const clusters: string[] = [];
  for (const name of ['first', 'second']) {
    const data = ['--volume', '/mnt/hbase-namenode:/data'];
    await board.docker(['run', '--detach', '--name', name, ...options, ...tmp, ...data, image, 'namenode']);
    await until('the name node listens', () =>
      board.docker(['exec', name, '/opt/hbase/health.sh', 'namenode']),
    );
    clusters.push(await board.docker(['exec', name, 'grep', '^clusterID=', '/data/current/VERSION']));
    await board.docker(['rm', '--force', name]);
  }
  assert.equal(clusters[0], clusters[1]);

  for (const [before, complaint] of [
    ['touch /data/photos', /^hbase: \/data has files but is no name node's \(\/data\/photos\)/],
    [
      'mkdir /data/current; echo storageType=DATA_NODE >/data/current/VERSION',
      /: is the right folder mounted\?$/,
    ],
  ] as const) {
    const script = `${before}; exec 2>&1; /opt/hbase/run.sh namenode; test $? = 1; find /data -type f | wc -l`;
    const data = ['--tmpfs', '/data:uid=1602,mode=700', '--entrypoint', 'sh'];
    const said = await board.docker(['run', '--rm', ...options, ...tmp, ...data, image, '-c', script]);
    const [last, ...lines] = said.split('\n').reverse();
    assert.match(lines.reverse().join('\n'), complaint);
    assert.equal(last, '1', said);
  }
});

test('HBase on one board of 1 GB keeps acknowledged readings when it is killed', { skip }, async () => {
  await swarm();
  const said = await board.run(['stacks/bin/board', 'hbase', 'broker'], { env: DATA });
  await board.docker(/docker (node update .*)$/m.exec(said)![1]!.split(' '));
  await board.run(['stacks/bin/secrets', 'hbase-standalone'], { env: AUTHORITY });
  const override = join(folder.path, 'override.yml');
  writeFileSync(override, OTHERS_OFF);
  const options = ['--resolve-image', 'never', '-c', override];
  await board.run(['stacks/bin/deploy', 'hbase-standalone', '--', ...options], {
    env: { ...DATA, ...variables },
  });
  const hbase = await healthy('hbase');
  const token = await board.docker(['exec', await healthy('api'), 'cat', '/run/secrets/api_token']);
  const readings = Array.from({ length: READINGS }, (_, index) => {
    return { device: 'site-3/boiler', metric: 'temperature', t: START_US + index, v: index };
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify(readings);
  // While the store is unavailable, ingest refuses readings.
  const taken = await until('readings are taken', () =>
    api('/v1/readings', { method: 'POST', headers, body }),
  );
  assert.deepEqual(taken, { received: READINGS, stored: READINGS, duplicate: 0, quarantined: 0 });

  await board.docker(['kill', hbase]);
  await healthy('hbase', hbase);
  const path = `/v1/readings?device=site-3/boiler&limit=${READINGS}&order=asc`;
  const { readings: kept } = (await until('readings are there', () => api(path, { headers }))) as {
    readings: { value: number }[];
  };
  assert.deepEqual(
    kept.map(({ value }) => value),
    readings.map(({ v }) => v),
  );
  const state = await board.docker(['inspect', '--format', '{{.State.OOMKilled}} {{.Config.User}}', hbase]);
  assert.equal(state, 'false 1602:1602');
});
