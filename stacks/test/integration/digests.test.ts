import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findProgram, freePort, launchServer, temporaryDirectory } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { ROOT } from '../stack-files.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';

const folder = temporaryDirectory('digests');
const started = await startOrSkip('docker-registry', async () => {
  const command = await findProgram('docker-registry', 'docker-registry');
  await findProgram('skopeo', 'skopeo');
  const port = await freePort();
  const config = join(folder.path, 'registry.yml');
  const storage = { filesystem: { rootdirectory: join(folder.path, 'registry') } };
  // The registry reads YAML, and JSON is a subset of it.
  writeFileSync(config, JSON.stringify({ version: 0.1, storage, http: { addr: `127.0.0.1:${port}` } }));
  const server = await launchServer({
    name: 'docker-registry',
    command,
    args: ['serve', config],
    ready: () =>
      fetch(`http://127.0.0.1:${port}/v2/`).then(
        ({ ok }) => ok,
        () => false,
      ),
    readyMs: 30_000,
  });
  return { host: `127.0.0.1:${port}`, stop: () => server.stop() };
});
const skip = 'skip' in started ? started.skip : false;
const { host, stop } = 'server' in started ? started.server : { host: '', stop: async () => {} };
after(async () => {
  await stop();
  folder.remove();
});

const versions = join(folder.path, 'versions.env');
const kept = join(folder.path, 'digests.env');
const digestOf = (bytes: string): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function digests(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'stacks/bin/digests'), ['--insecure', ...args], {
    encoding: 'utf8',
    env: { ...process.env, TIDEGAUGE_VERSIONS: versions, TIDEGAUGE_DIGESTS: kept },
  });
  return { status, stdout, stderr };
}

/** Pushes an image for some architectures under a tag, and resolves to the digest of its manifest list. */
async function push(tag: string, arches: readonly string[], content: string): Promise<string> {
  const at = `http://${host}/v2/image`;
  const put = async (url: string, type: string, body: string): Promise<void> => {
    const response = await fetch(url, { method: 'PUT', headers: { 'Content-Type': type }, body });
    assert.ok(response.ok, `${url}: ${response.status} ${await response.text()}`);
  };
  const manifests = [];
  for (const architecture of arches) {
    const config = JSON.stringify({ architecture, os: 'linux', content });
    const upload = (await fetch(`${at}/blobs/uploads/`, { method: 'POST' })).headers.get('location')!;
    await put(`${upload}&digest=${digestOf(config)}`, 'application/octet-stream', config);
    const blob = { mediaType: CONFIG, digest: digestOf(config), size: config.length };
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config: blob, layers: [] });
    await put(`${at}/manifests/${digestOf(manifest)}`, MANIFEST, manifest);
    const platform = { architecture, os: 'linux' };
    manifests.push({ mediaType: MANIFEST, digest: digestOf(manifest), size: manifest.length, platform });
  }
  const index = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests });
  await put(`${at}/manifests/${tag}`, INDEX, index);
  return digestOf(index);
}

test('tags become the digests that the registry has for them, for every architecture at once', {
  skip,
}, async () => {
  const one = await push('1.0', ['amd64', 'arm64'], 'one');
  const two = await push('2.0', ['amd64'], 'two');
  writeFileSync(
    versions,
    `A_VERSION=1\nONE_IMAGE=${host}/image:1.0\nTWO_IMAGE_OLD=${host}/image:2.0\nNONE_IMAGE=\n`,
  );
  const { status, stdout, stderr } = digests();
  assert.equal(status, 0, stderr);
  assert.match(stdout, /digests\.env has 2 digests, 2 of them new\n$/);
  assert.match(stderr, /^digests: TWO_IMAGE_OLD: \S+ is not published for arm64: .*\n$/);
  const lines = readFileSync(kept, 'utf8').split('\n');
  assert.deepEqual(lines.slice(1), [
    `ONE_IMAGE=${host}/image:1.0@${one}`,
    `TWO_IMAGE_OLD=${host}/image:2.0@${two}`,
    '',
  ]);
  // The scripts read them in the same way.
  const shell = `set -a; . ${versions}; . ${kept}; echo "$ONE_IMAGE"`;
  assert.equal(spawnSync('sh', ['-euc', shell], { encoding: 'utf8' }).stdout, `${host}/image:1.0@${one}\n`);
  assert.equal(digests('--check').status, 0);
});

test('a tag that has moved is reported, and updated only on request', { skip }, async () => {
  const before = readFileSync(kept, 'utf8');
  const moved = await push('1.0', ['amd64', 'arm64'], 'moved');
  const { status, stdout, stderr } = digests('--check');
  assert.equal(status, 1);
  assert.match(stdout, new RegExp(`^ONE_IMAGE=\\S+@${moved} \\(was sha256:[0-9a-f]{64}\\)\\n$`));
  assert.match(stderr, /1 digests differ from \S+: run stacks\/bin\/digests to record them\n$/);
  assert.equal(readFileSync(kept, 'utf8'), before);
  assert.equal(digests('TWO_IMAGE_OLD').status, 0);
  assert.equal(readFileSync(kept, 'utf8'), before);
  assert.match(digests('ONE_IMAGE').stdout, /2 digests, 1 of them new/);
  assert.ok(readFileSync(kept, 'utf8').includes(moved));
});

test('a missing image, or a registry that does not answer, leaves the file of digests unchanged', {
  skip,
}, () => {
  const before = readFileSync(kept, 'utf8');
  for (const image of [`${host}/image:3.0`, '127.0.0.1:9/image:1.0']) {
    writeFileSync(versions, `ONE_IMAGE=${host}/image:1.0\nNEXT_IMAGE=${image}\n`);
    const { status, stderr } = digests();
    assert.equal(status, 1);
    assert.match(stderr, /digests: NEXT_IMAGE: \S+ is not available: .+\n/);
    assert.match(stderr, /1 images are not available; \S+ was not changed\n$/);
    assert.equal(readFileSync(kept, 'utf8'), before);
  }
  const misused = digests('--frobnicate');
  assert.equal(misused.status, 2);
  assert.match(misused.stderr, /^digests: unknown argument --frobnicate: see --help\n$/);
  assert.ok(!existsSync(`${kept}.new`));
});
