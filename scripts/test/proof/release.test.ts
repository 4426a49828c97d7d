import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { findProgram } from '@tidegauge/lab/debian';
import { runProgram } from '@tidegauge/process';
import { buildRelease, SUMS } from '../../release/build-release.ts';
import { requireSigner, sign } from '../../release/sign.ts';
import { ROOT } from '../../setup.js';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const work = temporaryDirectory('release-test');
const out = join(work.path, 'release');
const sums = join(out, SUMS);
const signers = join(work.path, 'allowed_signers');

before(async () => {
  await findProgram('ssh-keygen', 'openssh-client');
  await buildRelease({ out, quick: true });
});
after(() => work.remove());

/** Makes a key without a passphrase. Returns the file of the public key. */
async function makeKey(name: string): Promise<string> {
  const file = join(work.path, name);
  await runProgram('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'a releaser', '-f', file]);
  return `${file}.pub`;
}

test('a release has all packages, and the checksum of each', async () => {
  assert.deepEqual(readdirSync(out).toSorted(), [
    SUMS,
    `tidegauge-${version}.cdx.json`,
    `tidegauge-${version}.tgz`,
    `tidegauge-home-assistant-${version}.tar.gz`,
    `tidegauge_${version}_amd64.deb`,
    `tidegauge_${version}_arm64.deb`,
  ]);
  const { stdout } = await runProgram('sha256sum', ['--check', '--strict', SUMS], { cwd: out });
  assert.equal(stdout.match(/: OK$/gm)?.length, 5);
});

test('the same commit gives the same bytes, also with another umask and in another place', async (context) => {
  const before = process.umask(0o077);
  context.after(() => process.umask(before));
  const again = join(work.path, 'again');
  await buildRelease({ out: again, quick: true });
  assert.equal(readFileSync(join(again, SUMS), 'utf8'), readFileSync(sums, 'utf8'));
});

test('the bill of materials has every package that is inside, and Node with its digest', async () => {
  const folder = join(work.path, 'unpacked');
  await runProgram('mkdir', [folder]);
  await runProgram('tar', ['-xzf', join(out, `tidegauge-${version}.tgz`), '-C', folder]);
  const manifests = globSync('package/**/node_modules/{*,@*/*}/package.json', { cwd: folder });
  const inside = manifests.map((file) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string>;
    return `${name}@${version}`;
  });
  assert.ok(inside.length > 30);
  const text = readFileSync(join(out, `tidegauge-${version}.cdx.json`), 'utf8');
  const { components } = JSON.parse(text) as {
    readonly components: readonly {
      readonly name: string;
      readonly version: string;
      readonly hashes?: unknown;
    }[];
  };
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
  assert.deepEqual(
    inside.filter((each) => !listed.has(each)),
    [],
  );
  const nodes = components.filter(({ name }) => name.startsWith('node-linux-'));
  assert.deepEqual(
    nodes.map(({ hashes }) => hashes !== undefined),
    [true, true],
  );
});

test('users can verify what the releaser signed, and a change is found', async () => {
  const key = await makeKey('releaser');
  const [type, encoded] = readFileSync(key, 'utf8').split(' ');
  writeFileSync(signers, `# keys\nrelease namespaces="file" ${type} ${encoded}\n`);
  requireSigner(key, signers);
  await sign(sums, key, signers);
  const [command] = /^ +(ssh-keygen -Y verify .*)$/m
    .exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'))!
    .slice(1);
  const verify = () =>
    runProgram('sh', ['-c', command!.replace('docs/allowed_signers', signers)], { cwd: out });
  assert.match((await verify()).stdout, /^Good "file" signature for release/);
  writeFileSync(
    sums,
    readFileSync(sums, 'utf8').replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  );
  await assert.rejects(verify(), /incorrect signature|Could not verify/);
});

test('a key that users do not have signs nothing', async () => {
  const other = await makeKey('other');
  assert.throws(
    () => requireSigner(other),
    /Commit this line in docs\/allowed_signers first: release namespaces=/,
  );
  assert.throws(() => requireSigner(other.replace('.pub', '')), /is no public key of ssh-keygen/);
});

test('a folder with other files is not replaced', async () => {
  await assert.rejects(
    buildRelease({ out: work.path }),
    /^ConfigError: --output .* is no release of an earlier run/,
  );
});
