import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@tidegauge/lab';
import { lookUp } from '@tidegauge/lab/debian';
import { ROOT } from '../stack-files.ts';

const run = promisify(execFile);

const UNITS = globSync('stacks/systemd/*.service', { cwd: ROOT });
const folder = temporaryDirectory('units');
after(() => folder.remove());

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name!);

async function output(program: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(program, args);
  return stdout + stderr;
}

test('the unit of the broker loads every secret that the files of the broker read', () => {
  const unit = read('stacks/systemd/tidegauge-broker.service');
  const files = ['mosquitto.conf', 'start.sh'].map((name) => read(`stacks/mosquitto/${name}`)).join();
  const wanted = new Set(all(files, /\/run\/secrets\/(\w+)/g));
  assert.ok(wanted.size > 0);
  for (const name of wanted) assert.match(unit, new RegExp(`^LoadCredential=${name}:`, 'm'));
});

test('units load secrets that stacks/bin/secrets creates, and use settings that exist', async () => {
  const made = join(folder.path, 'secrets');
  await run(join(ROOT, 'stacks/bin/secrets'), ['sqlite', '--directory', made]);
  const settings = read('docs/configuration.md');
  assert.equal(UNITS.length, 3);
  for (const path of UNITS) {
    const unit = read(path);
    const loaded = all(unit, /^LoadCredential=\w+:\/etc\/tidegauge\/secrets\/(\w+)$/gm);
    assert.equal(loaded.length, all(unit, /^(LoadCredential)=/gm).length, path);
    for (const name of loaded) assert.ok(readFileSync(join(made, name), 'utf8') !== '', `${path}: ${name}`);
    if (path.includes('broker')) continue;
    const variables = all(unit, /^Environment=(.*)$/gm).flatMap((line) => all(line, /(\w+)=/g));
    for (const variable of variables.filter((name) => !/^(NODE|MALLOC)_/.test(name))) {
      assert.ok(settings.includes(`\`${variable.replace(/_FILE$/, '')}\``), `${path}: ${variable}`);
    }
  }
});

test('units run Node with the memory settings of the images', () => {
  const dockerfile = read('stacks/images/tidegauge/Dockerfile');
  for (const service of ['ingest', 'api']) {
    const unit = read(`stacks/systemd/tidegauge-${service}.service`);
    const [stage] = new RegExp(`^FROM service AS ${service}\n[^]*?^ENTRYPOINT.*$`, 'm').exec(dockerfile)!;
    const entrypoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage)![1]!) as string[];
    const command = /^ExecStart=\S+\/bin\/(.*)$/m.exec(unit)![1];
    assert.equal(command, entrypoint.join(' '), service);
    const arenas = all(stage, /^ENV.*(MALLOC_ARENA_MAX=\d+)/gm);
    assert.deepEqual(all(unit, /^Environment=.*(MALLOC_ARENA_MAX=\d+)/gm), arenas, service);
  }
});

test('systemd accepts the units and rates their exposure below 2', async (context) => {
  const analyze: string | null = await lookUp('systemd-analyze', []);
  if (analyze === null) return context.skip('systemd-analyze is not installed');
  for (const path of UNITS) {
    // The programs exist only on a board.
    const text = read(path).replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true');
    const unit = join(folder.path, basename(path));
    writeFileSync(unit, text);
    assert.equal(await output(analyze, 'verify', '--man=no', '--recursive-errors=no', unit), '', path);
    const judgement = await output(analyze, 'security', '--offline=yes', '--no-pager', unit);
    const [, exposure] = /level for \S+: ([\d.]+)/.exec(judgement)!;
    assert.ok(Number(exposure) < 2, `${path}: ${exposure}`);
  }
});
