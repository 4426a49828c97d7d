import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findProgram } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';
import { buildDebian } from '../../debian/build-debian.ts';
import { ARCHITECTURES, type Architecture, unpackNode } from '../../debian/node-program.ts';
import { ROOT } from '../../setup.js';

const HERE: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
const LINTIAN_MS = 300_000;
/** e_machine in the header of an ELF file (elf.h). */
const MACHINES: Readonly<Record<Architecture, number>> = { amd64: 62, arm64: 183 };

let folder = '';
let built = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidegauge-debian-'));
  ({ file: built } = await buildDebian({ architecture: HERE, out: folder, quick: true }));
});
after(() => rm(folder, { recursive: true }));

const dpkg = async (...args: readonly string[]) => (await runProgram('dpkg-deb', args)).stdout;

/** The highest version of a kind of symbols in a program, as a number: 2.28 is 2028000. */
function highestVersion(program: string, kind: string): number {
  const found = program.matchAll(new RegExp(`\\b${kind}_(\\d+)\\.(\\d+)(?:\\.(\\d+))?\\0`, 'g'));
  const numbers = [...found].map(([, ...parts]) => parts.map((part = '0') => part.padStart(3, '0')).join(''));
  assert.ok(numbers.length > 0, kind);
  return Math.max(...numbers.map(Number));
}

test('all files belong to root, only root can write them, and settings are marked as such', async () => {
  const lines = (await dpkg('--contents', built)).trimEnd().split('\n');
  assert.ok(lines.length > 1000);
  for (const line of lines) assert.match(line, /^[-d]rw(x|-)r-\1r-\1 root\/root /);
  const programs = lines.filter((line) => line.startsWith('-rwx')).map((line) => line.split(' ').at(-1));
  assert.deepEqual(programs, ['./usr/bin/tidegauge', './usr/lib/tidegauge/bin/node']);
  assert.equal(await dpkg('--field', built, 'Architecture'), `${HERE}\n`);
  assert.equal(
    await dpkg('--info', built, 'conffiles'),
    '/etc/tidegauge/api.env\n/etc/tidegauge/ingest.env\n',
  );
});

test('there is a Node for each architecture, with the libraries that Debian 12 has', async () => {
  for (const architecture of ARCHITECTURES) {
    const place = join(folder, architecture);
    await mkdir(place);
    await unpackNode(architecture, place);
    const node = await readFile(join(place, 'bin/node'));
    assert.equal(node.readUInt16LE(18), MACHINES[architecture], architecture);
    const text = node.toString('latin1');
    assert.ok(highestVersion(text, 'GLIBC') <= 2_028_000, architecture);
    assert.ok(highestVersion(text, 'GLIBCXX') <= 3_004_021, architecture);
  }
});

test('the same sources give the same bytes, also with another umask', async (context) => {
  const before = process.umask(0o077);
  context.after(() => process.umask(before));
  const out = join(folder, 'again');
  await mkdir(out);
  const { file } = await buildDebian({ architecture: HERE, out, quick: true });
  const digest = async (path: string) =>
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  assert.equal(await digest(file), await digest(built));
});

test('its program runs with its own Node', async () => {
  const tree = join(folder, 'tree');
  await dpkg('--extract', built, tree);
  const place = join(tree, 'usr/lib/tidegauge');
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const program = [join(place, 'bin/tidegauge.js'), '--version'];
  const { stdout } = await runProgram(join(place, 'bin/node'), program, { env: { PATH: '/usr/bin:/bin' } });
  assert.ok(stdout.startsWith(`tidegauge ${version}`), stdout);
});

test('lintian finds no error', async (context) => {
  const lintian = await startOrSkip('lintian', () => findProgram('lintian', 'lintian'));
  if ('skip' in lintian) return context.skip(lintian.skip);
  const args = ['--fail-on', 'error', '--tag-display-limit', '0', built];
  const { code, stdout } = await runProgram(lintian.server, args, { accept: 'any', timeoutMs: LINTIAN_MS });
  assert.equal(code, 0, stdout);
});
