import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inRoot } from '../../src/debian-root.ts';

const skip = process.platform !== 'linux' || process.getuid?.() !== 0 ? 'takes Linux and root' : false;

test('a command inside a root can make temporary files, regardless of TMPDIR outside', {
  skip,
}, (context) => {
  const shared = mkdtempSync(join(tmpdir(), 'tidegauge-root-'));
  context.after(() => rmSync(shared, { recursive: true }));
  const { stdout, stderr, status } = spawnSync('unshare', inRoot('/', ['mktemp', '-u'], { bind: shared }), {
    env: { ...process.env, TMPDIR: join(shared, 'only-outside') },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^\/tmp\/tmp\.\w+\n$/);
});
