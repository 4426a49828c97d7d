import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { startMongodb } from '@tidegauge/lab/mongodb';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { ROOT, readVariables } from '../stack-files.ts';

const folder = temporaryDirectory('mongodb-stack');
after(() => folder.remove());

// Boards, with their processors' lines of /proc/cpuinfo.
const PI_4 = 'Features\t: fp asimd evtstrm crc32 cpuid\n';
const PI_5 =
  'Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp\n';

before(() => {
  const programs = { uname: 'echo "$MACHINE"', 'docker-entrypoint.sh': 'echo runs "$@"' };
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(folder.path, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder.path, name), 0o755);
  }
  writeFileSync(join(folder.path, 'pi-4'), PI_4);
  writeFileSync(join(folder.path, 'pi-5'), PI_5);
});

function start(image: string, board: 'pi-4' | 'pi-5', machine = 'aarch64') {
  const { status, stdout, stderr } = spawnSync('bash', [join(ROOT, 'stacks/mongodb/start.sh'), 'mongod'], {
    encoding: 'utf8',
    env: {
      PATH: `${folder.path}:${process.env.PATH}`,
      MONGO_VERSION: image.replace(/^.*:/, ''),
      CPUINFO: join(folder.path, board),
      MACHINE: machine,
    },
  });
  return { status, stdout, stderr };
}

test('a board older than ARMv8.2 runs the pinned MongoDB, and refuses a newer one with a way to fix it', () => {
  const { MONGODB_IMAGE, MONGODB_IMAGE_ARMV8_0 } = readVariables('stacks/versions.env');
  for (const image of [MONGODB_IMAGE!, 'mongo:4.4.19', 'mongo:5.0.0']) {
    const { status, stderr } = start(image, 'pi-4');
    assert.equal(status, 1, image);
    assert.match(
      stderr,
      new RegExp(`needs ARMv8.2.*MONGODB_IMAGE=${MONGODB_IMAGE_ARMV8_0} stacks/bin/deploy`),
    );
  }
  assert.deepEqual(start(MONGODB_IMAGE_ARMV8_0!, 'pi-4'), { status: 0, stdout: 'runs mongod\n', stderr: '' });
  for (const image of [MONGODB_IMAGE!, MONGODB_IMAGE_ARMV8_0!]) {
    assert.equal(start(image, 'pi-5').status, 0, image);
    assert.equal(start(image, 'pi-4', 'x86_64').status, 0, image);
  }
});

test('the health check passes for a server that answers, and fails for one that does not', async (t) => {
  const started = await startOrSkip('mongodb', () => startMongodb());
  if ('skip' in started) return t.skip(started.skip);
  const { server } = started;
  const port = new URL(server.url('admin')).port;
  const healthy = (): number | null =>
    spawnSync('bash', [join(ROOT, 'stacks/mongodb/healthy.sh'), '127.0.0.1', port]).status;
  try {
    assert.equal(healthy(), 0);
  } finally {
    await server.stop();
  }
  assert.equal(healthy(), 1);
});
