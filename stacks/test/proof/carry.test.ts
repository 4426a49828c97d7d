import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findProgram, temporaryDirectory } from '@tidegauge/lab';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { Builder, tagsOf } from '../../images/debian/builder.ts';
import { until } from '../../src/until.ts';
import { Ssh } from '../ssh.ts';
import { readVariables } from '../stack-files.ts';

const BUILD_MS = 900_000;
const OURS = ['api', 'broker-metrics', 'doctor', 'ingest'];

const started = await startOrSkip('docker', async () => {
  await findProgram('sshd', 'openssh-server');
  await findProgram('mosquitto_pub', 'mosquitto-clients');
  await findProgram('curl', 'curl');
  return startBoards(2);
});
const skip = 'skip' in started ? started.skip : false;
const { boards, swarm, stop } = ('server' in started ? started.server : {}) as Boards;
const [manager, worker] = (boards ?? []) as [Board, Board];
const folder = temporaryDirectory('carry');
after(async () => {
  await stop?.();
  folder.remove();
});

const version = readVariables('stacks/versions.env').TIDEGAUGE_VERSION!;
const tag = (name: string): string => `tidegauge-${name}:${version}`;
const node = tagsOf('node')[0]!;
let env: Record<string, string> = {};

/** Runs the shipped script on the manager, like an operator. Resolves to its output. */
const script = (name: string, ...args: string[]): Promise<string> =>
  manager.run([`stacks/bin/${name}`, ...args], { env, timeoutMs: BUILD_MS });
const images = (...args: string[]): Promise<string> => script('images', 'sqlite', ...args);
const layers = (board: Board, name: string): Promise<string> =>
  board.docker(['image', 'inspect', '--format', '{{.Architecture}} {{json .RootFS.Layers}}', tag(name)]);

/** Gives the manager an ssh that logs in to the worker. */
async function setUpSsh(): Promise<void> {
  const ssh = new Ssh(folder.path);
  await ssh.serve(worker);
  // The docker client of Debian, which boards have: without BuildKit, buildx and compose.
  env = {
    PATH: `${ssh.programs}:/usr/sbin:/usr/bin:/sbin:/bin`,
    NODE_IMAGE: node,
    MOSQUITTO_IMAGE: tagsOf('mosquitto')[0]!,
  };
}

test('one command builds the images and copies them to every board over ssh', { skip }, async () => {
  await swarm();
  await setUpSsh();
  const builder = new Builder();
  try {
    for (const name of ['node', 'mosquitto'] as const) {
      await manager.docker(['load', '--quiet', '--input', await builder.archive(name)], {
        timeoutMs: BUILD_MS,
      });
    }
  } finally {
    await builder.stop();
  }
  const said = await images('--ssh-user', 'root');
  for (const name of OURS) {
    assert.match(said, new RegExp(`building ${tag(name)} for amd64\n`));
    assert.equal(await layers(worker, name), await layers(manager, name), name);
  }
  assert.match(said, /board-1 has all images: it is this machine/);
  assert.match(said, /board-2 has all images, 4 of them new$/);
});

test('a second run sends nothing; an image that a board lacks, or has in another version, is sent', {
  skip,
}, async () => {
  const again = await images('--ssh-user', 'root');
  assert.doesNotMatch(again, /building|copying/);
  assert.match(again, /board-2 has all images, 0 of them new$/);
  await worker.docker(['rmi', tag('api')]);
  await worker.docker(['import', '-', tag('ingest')], { input: Buffer.alloc(10_240) });
  const third = await images('--ssh', `board-2=root@${worker.address}`);
  assert.match(third, /board-2 has all images, 2 of them new$/);
  for (const name of OURS) assert.equal(await layers(worker, name), await layers(manager, name), name);
});

test('an interrupted copy is an error with a way to fix it, and the next run completes the copy', {
  skip,
}, async () => {
  await worker.docker(['rmi', tag('api')]);
  const cut = join(folder.path, 'cut');
  writeFileSync(
    cut,
    '#!/bin/sh\ncase "$*" in *load*) head -c 100000 | ssh "$@" ;; *) exec ssh "$@" ;; esac\n',
  );
  chmodSync(cut, 0o755);
  const plain = env;
  env = { ...plain, TIDEGAUGE_SSH: cut };
  await assert.rejects(images('--ssh-user', 'root'), /board-2 did not take .*api.*: .* Run this again/);
  env = { ...plain, TIDEGAUGE_SSH: 'ssh -p 9' };
  await assert.rejects(images('--ssh-user', 'root'), /root@\S+ cannot be reached over ssh: .*refused/);
  env = plain;
  assert.match(await images('--ssh-user', 'root'), /board-2 has all images, 1 of them new$/);
});

/** An archive for docker load: an image without files. The test does not run it. */
function emptyImage(name: string, architecture: string): Buffer {
  const place = join(folder.path, 'empty');
  const layer = Buffer.alloc(10_240);
  const digest = createHash('sha256').update(layer).digest('hex');
  mkdirSync(place);
  const config = {
    architecture,
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
  };
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }];
  const files = {
    'config.json': JSON.stringify(config),
    'manifest.json': JSON.stringify(manifest),
    'layer.tar': layer,
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(place, file), content);
  return execFileSync('tar', ['-C', place, '-cf', '-', ...Object.keys(files)], { maxBuffer: 2 ** 20 });
}

test('images for another architecture are assembled without executing its programs', { skip }, async () => {
  await manager.docker(['load'], { input: emptyImage(`${node}-arm64`, 'arm64') });
  const said = await images('--build', '--arch', 'arm64');
  assert.match(
    said,
    /tidegauge-api:\S+-arm64 for arm64 \(assembled without emulation, without compile cache\)/,
  );
  const format = '{{.Architecture}} {{json .Config.Entrypoint}} {{.Config.User}}';
  assert.match(
    await manager.docker(['image', 'inspect', '--format', format, `${tag('api')}-arm64`]),
    /^arm64 .*services\/api\/src\/main\.ts.* 1000:1000$/,
  );
  assert.doesNotMatch(await images('--build', '--arch', 'arm64'), /building/);
});

test('a board is prepared, labelled and examined over ssh, and has neither a clone nor Node', {
  skip,
}, async () => {
  const target = `root@${worker.address}`;
  const place = { ...env, TIDEGAUGE_DATA: '/mnt/data' };
  env = place;
  const said = await script('board', '--on', target, 'broker', 'sqlite');
  assert.match(said, /^made \/mnt\/data\/mosquitto\nmade \/mnt\/data\/sqlite\n/);
  assert.equal(await worker.run(['stat', '-c', '%u %a', '/mnt/data/mosquitto']), '1883 700');
  const labels = ['node', 'inspect', '--format', '{{json .Spec.Labels}}', 'board-2'];
  assert.deepEqual(JSON.parse(await manager.docker(labels)), {
    'tidegauge.broker': 'true',
    'tidegauge.sqlite': 'true',
  });
  // It exits with 1, because a board of the lab has findings.
  const doctor = `stacks/bin/doctor --on ${target} sqlite -- --json || test $? -eq 1`;
  const report = JSON.parse(await manager.run(['sh', '-c', doctor], { env }));
  assert.equal(report.host, 'board-2');
  const checks = new Map(report.findings.map((each: { check: string }) => [each.check, each]));
  assert.match(JSON.stringify(checks.get('stack.files')), /"ok"/);
  assert.ok(checks.has('disk.fsync') && checks.has('docker.engine'));
});

test('the steps of the guide work, from the images to a reading in curl', { skip }, async () => {
  const target = `root@${worker.address}`;
  env = { ...env, TIDEGAUGE_AUTHORITY: '/mnt/authority' };
  // These boards cannot reach a registry, so the broker's image is copied too.
  assert.match(await images('--ssh-user', 'root', '--all'), /board-2 has all images, 1 of them new$/);
  await script('secrets', 'sqlite', '--host', 'broker.example.org');
  await script('deploy', 'sqlite', '--', '--resolve-image', 'never');
  const password = await until('the broker’s directory', () =>
    script('sensor', '--on', target, 'add', 'site-3'),
  );
  const ca = join(folder.path, 'ca.pem');
  writeFileSync(ca, `${await script('secrets', '--ca')}\n`);
  const at = ['-h', worker.address, '-p', '8883', '--cafile', ca, '-u', 'site-3', '-P', password];
  const topic = ['-t', 'sensors/site-3/boiler/temperature', '-q', '1', '-m', '21.5'];
  const stored = await until('the reading', async () => {
    await manager.run(['mosquitto_pub', ...at, ...topic], { env });
    const url = `https://${worker.address}:8080/v1/readings/latest?device=site-3/boiler`;
    const api = await worker.docker([
      'ps',
      '--quiet',
      '--filter',
      'name=tidegauge_api',
      '--filter',
      'health=healthy',
    ]);
    const token = await worker.docker(['exec', api, 'cat', '/run/secrets/api_token']);
    const login = ['--header', `Authorization: Bearer ${token}`];
    return JSON.parse(await manager.run(['curl', '-sS', '--cacert', ca, ...login, url], { env })).readings[0];
  });
  assert.equal(stored.value, 21.5);
  const expiries = await script('secrets', '--expires');
  assert.match(expiries, /^mosquitto \w{3} .*20\d\d.*\napi \w{3} .*$/);
});
