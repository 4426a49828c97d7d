import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileVersion, poll } from '../../src/index.ts';

test('every change of a file changes its version, also of permissions, and of equal content', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-version-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'file');
  const seen: string[] = [fileVersion(file)];
  assert.deepEqual(seen, [''], 'there is no file');
  const changes = [
    () => writeFileSync(file, 'a', { mode: 0o600 }),
    () => writeFileSync(file, 'ab'),
    () => chmodSync(file, 0o644),
    () => {
      writeFileSync(`${file}.new`, 'ab', { mode: 0o644 });
      renameSync(`${file}.new`, file);
    },
    () => rmSync(file),
  ];
  for (const change of changes) {
    change();
    const version = fileVersion(file);
    assert.notEqual(version, seen.at(-1));
    assert.equal(fileVersion(file), version, 'it is the same until the next change');
    seen.push(version);
  }
  assert.equal(seen.at(-1), '');
});

test('a poll does not begin again before it is done, and ends', async () => {
  let running = 0;
  let most = 0;
  let calls = 0;
  const end = poll(async () => {
    calls += 1;
    running += 1;
    most = Math.max(most, running);
    await sleep(20);
    running -= 1;
  }, 1);
  // Its timer does not keep the process alive.
  while (calls < 3) await sleep(5);
  end();
  const before = calls;
  await sleep(50);
  assert.equal(most, 1);
  assert.ok(calls <= before);
});
