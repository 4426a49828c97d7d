import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { buildImages } from '../../images/debian/build.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { commandsOf, ROOT, readVariables } from '../stack-files.ts';

const { boards, swarm, stop, skip } = await boardsOrSkip(1);
const board = boards[0];
const folder = temporaryDirectory('setups');
const data = join(folder.path, 'data');
const authority = join(folder.path, 'authority');
after(async () => {
  await stop();
  folder.remove();
});

interface Outcome {
  readonly status: number | null;
  readonly output: string;
  /** The findings that it printed, one per line. */
  readonly findings: readonly string[];
}

/** Runs a script of stacks/bin on the board, like an operator. */
function script(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Outcome {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'stacks/bin', name), args, {
    encoding: 'utf8',
    env: { ...process.env, ...board!.env, TIDEGAUGE_DATA: data, TIDEGAUGE_AUTHORITY: authority, ...env },
  });
  const findings = stderr.split('\n').filter((line) => line !== '');
  return { status, output: stdout, findings };
}

test('without an engine, or without a swarm, deploy prints how to get one', { skip }, async () => {
  const nowhere = script('deploy', ['postgres'], { DOCKER_HOST: 'unix:///nobody/listens.sock' });
  assert.equal(nowhere.status, 1);
  assert.match(
    nowhere.findings.join(),
    /^deploy: Docker does not answer: start it \(sudo systemctl start docker\)/,
  );
  const alone = script('deploy', ['postgres']);
  assert.equal(alone.status, 1);
  assert.deepEqual(alone.findings, [
    'deploy: this board is not in a swarm: docker swarm init --advertise-addr ITS-ADDRESS',
  ]);
  await swarm();
});

test('deploy names a store or a profile that does not exist', { skip }, () => {
  for (const args of [['oracle'], ['compose'], ['postgres', '--profile', '16gb'], ['postgres', 'mariadb']]) {
    const { status, findings } = script('deploy', args);
    assert.equal(status, 2, args.join(' '));
    assert.equal(findings.length, 1, findings.join('\n'));
  }
});

test('deploy names each missing secret, label and image, with how to fix it', { skip }, () => {
  const { status, findings } = script('deploy', ['postgres', '--check']);
  assert.equal(status, 1);
  assert.match(
    findings[0]!,
    /missing secrets: .*tidegauge_ca .*tidegauge_postgres_store_url.*\. Run stacks\/bin\/secrets postgres$/,
  );
  for (const role of ['broker', 'postgres']) {
    const finding = findings.find((line) => line.includes(`label tidegauge.${role}=true`));
    assert.match(finding ?? '', /docker node update --label-add/);
  }
  for (const service of ['ingest', 'api', 'broker-metrics']) {
    assert.ok(findings.some((line) => line.includes(`no image tidegauge-${service}:`)));
  }
  assert.match(findings.at(-1)!, /6 problems to fix; nothing was deployed/);
});

test('the commands that deploy prints fix its findings', { skip }, async () => {
  const { output } = script('board', ['broker', 'postgres']);
  assert.equal(statSync(join(data, 'postgres')).uid, 999);
  assert.equal(statSync(join(data, 'mosquitto')).mode & 0o777, 0o700);
  const labels = '--label-add tidegauge.broker=true --label-add tidegauge.postgres=true';
  assert.match(output, new RegExp(`^Done: docker node update ${labels} \\S+$`, 'm'));
  assert.deepEqual(script('secrets', ['postgres', '--host', board!.address]).findings, []);
  const { TIDEGAUGE_VERSION: version } = readVariables('stacks/versions.env');
  for (const service of ['ingest', 'api', 'broker-metrics']) {
    await board!.docker(['import', '-', `tidegauge-${service}:${version}`], { input: Buffer.alloc(10_240) });
  }
  const ready = script('deploy', ['postgres', '--check']);
  assert.deepEqual(ready, { status: 0, output: 'postgres can be deployed\n', findings: [] });
});

test('the authority’s certificate is available for sensors', { skip }, () => {
  const { output } = script('secrets', ['--ca']);
  assert.match(output, /^-----BEGIN CERTIFICATE-----\n[^-]*-----END CERTIFICATE-----\n$/);
});

test('a board too old for the images is named', { skip }, () => {
  // The real answers of the engine, except the architecture of the board.
  const client = join(folder.path, 'docker');
  const path = process.env.PATH!;
  writeFileSync(client, `#!/bin/sh\nPATH='${path}' docker "$@" | sed 's/ x86_64 / armv7l /'\n`);
  chmodSync(client, 0o755);
  const { findings } = script('deploy', ['postgres', '--check'], { PATH: `${folder.path}:${path}` });
  assert.match(
    findings[0] ?? '',
    /^deploy: board-1\(armv7l\) cannot run the images for .*: install a 64-bit system/,
  );
});

test('a sensor cannot have an invalid name or the name of a user of the stack', { skip }, () => {
  for (const name of ['site/3', '#', '+', 'ingest', 'health', '']) {
    const { status, findings, output } = script('sensor', ['add', name]);
    assert.equal(status, 2, name);
    assert.equal(findings.length, 1, name);
    assert.equal(output, '');
  }
});

test('a sensor’s password is shown once and kept as a hash; a sensor can be listed and removed', {
  skip,
}, async () => {
  const images = await buildImages(board!, ['mosquitto']);
  const sensor = (...args: string[]): Outcome => script('sensor', args, images);
  const added = sensor('add', 'site-3');
  assert.deepEqual([added.status, added.findings], [0, []]);
  assert.match(added.output, /^[0-9a-f]{32}\n$/);
  const file = join(data, 'mosquitto/sensors');
  assert.match(readFileSync(file, 'utf8'), /^site-3:\$[67]\$\S+\n$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(file).uid, 1883);

  const again = sensor('add', 'site-3');
  assert.equal(again.status, 1);
  assert.deepEqual(again.findings, ['sensor: the user site-3 exists: remove it first to get a new password']);
  sensor('add', 'site.3');
  assert.equal(sensor('list').output, 'site-3\nsite.3\n');
  assert.equal(sensor('remove', 'site.3').status, 0);
  assert.equal(sensor('list').output, 'site-3\n');
  assert.match(sensor('remove', 'site.3').findings.join(), /there is no user site\.3/);
});

test('without a registry, images names the command that needs none', { skip }, async () => {
  await assert.rejects(
    board!.run(['stacks/bin/images', '--build'], { env: { NODE_IMAGE: 'registry.invalid/node:1' } }),
    /could not be built: see above\. Where no registry can be reached, npm run images builds all images/,
  );
});

test('a version whose images exist nowhere is not deployed, and a board without an image is named', {
  skip,
}, async () => {
  const nowhere = script('deploy', ['postgres'], { TIDEGAUGE_VERSION: '9.9.9' });
  assert.equal(nowhere.status, 1);
  assert.match(nowhere.findings.join('\n'), /no image tidegauge-ingest:9\.9\.9[\s\S]*nothing was deployed/);
  // The images of PostgreSQL and the broker are not on the board.
  const images = { POSTGRES_IMAGE: 'no-such-postgres:1', MOSQUITTO_IMAGE: 'no-such-mosquitto:1' };
  // Not with spawnSync: the engine logs each rejected task, and would wait until this process reads it.
  await assert.rejects(
    board!.run(['stacks/bin/deploy', 'postgres', '--', '--resolve-image', 'never'], {
      env: { ...images, TIDEGAUGE_DATA: data },
    }),
    /deploy: board-1 cannot run tidegauge_\w+: No such image: no-such-\w+:1[\s\S]*: run stacks\/bin\/images postgres /,
  );
  await board!.docker(['stack', 'rm', 'tidegauge']);
});

test('the commands of the guide remove the labels of a board and the images', { skip }, async () => {
  const starts = ['docker node update', 'docker image ls'];
  const commands = commandsOf('docs/deploy.md', '## 12. Remove').filter((command) =>
    starts.some((start) => command.startsWith(start)),
  );
  assert.equal(commands.length, starts.length);
  const env = { ...process.env, ...board!.env };
  for (const command of commands) {
    execFileSync('sh', ['-euc', command.replaceAll('BOARD', 'board-1')], { encoding: 'utf8', env });
  }
  assert.equal(await board!.docker(['node', 'inspect', '--format', '{{len .Spec.Labels}}', 'self']), '0');
  assert.doesNotMatch(await board!.docker(['image', 'ls']), /tidegauge-/);
});
