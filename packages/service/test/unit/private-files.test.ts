import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLogger, keepPrivate, type Logger } from '../../src/index.ts';

test('files of the program are private, other files stay unchanged, and an open directory is reported', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-private-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const lines: object[] = [];
  const warn = (fields: object) => void lines.push(fields);
  const logger = Object.assign(Object.create(createLogger('test', 'silent')) as Logger, { warn });
  for (const name of ['ours.db', 'other.db']) {
    writeFileSync(join(folder, name), '');
    chmodSync(join(folder, name), 0o644);
  }
  const modes = () => ['ours.db', 'other.db'].map((name) => statSync(join(folder, name)).mode & 0o777);
  keepPrivate(folder, (name) => name.startsWith('ours.'), logger);
  assert.deepEqual(modes(), [0o600, 0o644]);
  assert.deepEqual(lines, []);
  chmodSync(folder, 0o755);
  keepPrivate(folder, (name) => name.startsWith('ours.'), logger);
  assert.deepEqual(lines, [{ directory: folder, fix: `chmod 700 ${folder}` }]);
});
