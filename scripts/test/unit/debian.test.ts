import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { lookUp } from '@tidegauge/lab/debian';
import { runProgram } from '@tidegauge/process';
import { debianVersion } from '../../debian/build-debian.ts';
import { ROOT } from '../../setup.js';

const FILES = 'scripts/debian/root';
const SERVICES = ['ingest', 'api'];
const unitOf = (service: string) => `${FILES}/usr/lib/systemd/system/tidegauge-${service}.service`;
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);

test('a version before a release is older for dpkg too', () => {
  assert.equal(debianVersion('0.3.0'), '0.3.0');
  assert.equal(debianVersion('0.3.0-rc.1'), '0.3.0~rc.1');
});

test('units and files of settings use settings that exist', () => {
  const settings = read('docs/configuration.md');
  const examples = SERVICES.map((service) => read(`${FILES}/etc/tidegauge/${service}.env`));
  const fixed = ['services', 'commands'].map((name) => read(`${FILES}/usr/lib/tidegauge/${name}.env`));
  const units = SERVICES.flatMap((service) => all(read(unitOf(service)), /^Environment=(.*)$/gm));
  const named = [
    ...units.flatMap((line) => all(line, /(\w+)=/g)),
    ...fixed.flatMap((text) => all(text, /^(\w+)=/gm)),
    ...examples.flatMap((text) => all(text, /^#(\w+)=/gm)),
  ];
  assert.ok(named.length > 20);
  for (const name of named.filter((each) => !/^(NODE|MALLOC)_/.test(each)))
    assert.ok(settings.includes(`\`${name.replace(/_FILE$/, '')}\``), name);
  // A file of settings changes nothing until a user edits it.
  for (const text of examples) assert.doesNotMatch(text, /^[^#]/m);
});

test('units run Node with the memory settings of the images', () => {
  const dockerfile = read('stacks/images/tidegauge/Dockerfile');
  for (const service of SERVICES) {
    const unit = read(unitOf(service));
    const [stage] = new RegExp(`^FROM service AS ${service}\n[^]*?^ENTRYPOINT.*$`, 'm').exec(dockerfile)!;
    const entrypoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage)![1]!) as string[];
    const [, command] = /^ExecStart=\S+\/bin\/(.*)$/m.exec(unit)!;
    const expected = [...entrypoint.slice(0, -1), '/usr/lib/tidegauge/bin/tidegauge.js', service];
    assert.equal(command, expected.join(' '), service);
    const malloc = all(stage, /^ENV.*?(MALLOC_.*)$/gm);
    assert.deepEqual(all(unit, /^Environment=(MALLOC_.*)$/gm), malloc, service);
  }
});

test('systemd accepts the units and rates their exposure below 2', async (context) => {
  const analyze = await lookUp('systemd-analyze', []);
  if (analyze === null) return context.skip('systemd-analyze is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-units-'));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const path of SERVICES.map(unitOf)) {
    // The programs exist only where the package is installed.
    const unit = join(folder, basename(path));
    writeFileSync(unit, read(path).replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true'));
    const verify = ['verify', '--man=no', '--recursive-errors=no', unit];
    const { stdout, stderr } = await runProgram(analyze, verify, { accept: 'any' });
    assert.equal(stdout + stderr, '', path);
    const rated = await runProgram(analyze, ['security', '--offline=yes', '--no-pager', unit]);
    const [, exposure] = /level for \S+: ([\d.]+)/.exec(rated.stdout)!;
    assert.ok(Number(exposure) < 2, `${path}: ${exposure}`);
  }
});
