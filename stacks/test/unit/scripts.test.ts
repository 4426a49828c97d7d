import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../stack-files.ts';

const FOLDER = join(ROOT, 'stacks/bin');

/** One wrong call of each script. */
const WRONG: Readonly<Record<string, readonly string[]>> = {
  board: ['no-such-part'],
  configs: ['--frobnicate'],
  deploy: ['oracle'],
  digests: ['--frobnicate'],
  doctor: ['--frobnicate'],
  images: ['oracle'],
  secrets: ['oracle', '--directory', '/nowhere'],
  sensor: ['add', 'site/3'],
  'sensor-certificate': ['create', 'site/3'],
};

test('every script has --help, and bad usage is one line and exit code 2', () => {
  assert.deepEqual(readdirSync(FOLDER).toSorted(), Object.keys(WRONG));
  for (const [name, wrong] of Object.entries(WRONG)) {
    const run = (args: readonly string[]) => spawnSync(join(FOLDER, name), args, { encoding: 'utf8' });
    const help = run(['--help']);
    assert.equal(help.status, 0, name);
    assert.match(help.stdout, new RegExp(`^usage: stacks/bin/${name} `));
    const { status, stderr } = run(wrong);
    assert.equal(status, 2, `${name}: ${stderr}`);
    assert.match(stderr, new RegExp(`^${name}: .*\\n$`));
  }
});

/** What a script prints about a call that fails before it starts anything. */
function refusal(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const { status, stderr } = spawnSync(join(FOLDER, name), args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  assert.notEqual(status, 0, name);
  return stderr;
}

test('what is refused is named, with what can be chosen or done', () => {
  for (const name of ['deploy', 'images']) {
    assert.match(refusal(name, ['oracle']), /no store oracle: choose from cassandra .* sqlite\n$/);
    assert.match(refusal(name, ['backup/sqlite']), /: there is no store backup\/sqlite: choose from /);
  }
  const board = refusal('board', ['broker'], { TIDEGAUGE_DATA: '/dev/null/data' });
  assert.match(board, /\nboard: cannot make \S+\/mosquitto, see above: run it as root \(sudo\)\n$/);
});
