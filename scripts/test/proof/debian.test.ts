import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
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

/** The alignments of what the kernel maps of a 64-bit program (p_align of PT_LOAD, elf.h). */
function alignments(program: Buffer): readonly number[] {
  const [start, size] = [Number(program.readBigUInt64LE(32)), program.readUInt16LE(54)];
  const offsets = Array.from({ length: program.readUInt16LE(56) }, (_, index) => start + index * size);
  const loaded = offsets.filter((offset) => program.readUInt32LE(offset) === 1);
  assert.ok(loaded.length > 1);
  return loaded.map((offset) => Number(program.readBigUInt64LE(offset + 48)));
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
    // Raspberry Pi OS has pages of 16 KB on a Raspberry Pi 5.
    if (architecture === 'arm64')
      for (const alignment of alignments(node)) assert.equal(alignment % 16_384, 0);
  }
});

test('a system of another architecture, and one with a 32-bit kernel, refuses it and writes nothing', async () => {
  const place = join(folder, 'refused');
  const system = join(place, 'system');
  for (const name of ['updates', 'info'])
    await mkdir(join(system, 'var/lib/dpkg', name), { recursive: true });
  for (const name of ['status', 'available']) await writeFile(join(system, 'var/lib/dpkg', name), '');
  const other = HERE === 'arm64' ? 'amd64' : 'arm64';
  const { file } = await buildDebian({ architecture: other, out: place, quick: true });
  const install = ['--root', system, '--force-not-root', '--install', file];
  const refused = await runProgram('dpkg', install, { accept: 'any' });
  assert.match(refused.stderr, /package architecture \(\w+\) does not match system \(\w+\)/);
  assert.deepEqual(await readdir(system), ['var']);
  assert.equal(await readFile(join(system, 'var/lib/dpkg/status'), 'utf8'), '');

  await dpkg('--control', built, join(place, 'control'));
  const script = ['linux32', 'sh', join(place, 'control', 'preinst'), 'install'];
  const { code, stderr } = await runProgram('setarch', script, { accept: 'any' });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^tidegauge: it needs a 64-bit system, and the kernel of this machine has 32 bits \(\w+\)/,
  );
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
