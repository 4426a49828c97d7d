import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lockDirectory } from '../../src/index.ts';

const NOW = { waitMs: 0, setting: '--data' };
const LOCK = fileURLToPath(new URL('../../src/lock.ts', import.meta.url));

function folder(context: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'tidegauge-lock-'));
  context.after(() => rmSync(parent, { recursive: true }));
  return join(parent, 'data');
}

/** Starts a process that takes the lock and keeps it. */
async function holder(directory: string) {
  const program = `
    import { lockDirectory } from ${JSON.stringify(LOCK)};
    await lockDirectory(${JSON.stringify(directory)}, 'test', { waitMs: 0, setting: '--data' });
    process.stdout.write('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

test('only one process can lock a directory; the error contains the other process and the setting', async (context) => {
  const directory = folder(context);
  const child = await holder(directory);
  context.after(() => child.kill('SIGKILL'));
  await assert.rejects(lockDirectory(directory, 'test', NOW), ({ message }: Error) => {
    assert.match(message, /data is used by another Tidegauge \(process \d+ on .+\)/);
    assert.ok(message.includes(`process ${child.pid} `) && message.includes('--data'), message);
    return true;
  });
  const other = await lockDirectory(directory, 'other', NOW);
  other.release();
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal(statSync(join(directory, 'test.lock')).mode & 0o777, 0o600);
});

test('a held lock is waited for, and is free at once when its process is killed', async (context) => {
  const directory = folder(context);
  const child = await holder(directory);
  const waiting = lockDirectory(directory, 'test', { waitMs: 20_000, setting: '--data' });
  setTimeout(() => child.kill('SIGKILL'), 300);
  const lock = await waiting;
  await assert.rejects(lockDirectory(directory, 'test', NOW));
  lock.release();
  (await lockDirectory(directory, 'test', NOW)).release();
});

test('a directory that cannot be made is reported as a configuration mistake', async () => {
  await assert.rejects(
    lockDirectory('/dev/null/data', 'test', NOW),
    /\/dev\/null\/data cannot be used: .*--data/,
  );
});

test('a damaged lock file locks as a new one does, also beside a process that has the lock', async (context) => {
  const directory = folder(context);
  const path = join(directory, 'test.lock');
  (await lockDirectory(directory, 'test', NOW)).release();
  const sound = readFileSync(path);
  const damages = [
    () => truncateSync(path, sound.length / 2),
    () => writeFileSync(path, 'no database'),
    () => writeFileSync(path, Buffer.concat([sound.subarray(0, 100), Buffer.alloc(sound.length, 0xa5)])),
  ];
  for (const damage of damages) {
    damage();
    (await lockDirectory(directory, 'test', NOW)).release();
  }
  const child = await holder(directory);
  context.after(() => child.kill('SIGKILL'));
  for (const damage of damages) {
    damage();
    await assert.rejects(lockDirectory(directory, 'test', NOW), /is used by another Tidegauge/);
  }
});

test('a directory in the place of the lock file is named', async (context) => {
  const directory = folder(context);
  mkdirSync(join(directory, 'test.lock'), { recursive: true });
  await assert.rejects(
    lockDirectory(directory, 'test', NOW),
    /data\/test\.lock cannot be used: it is a directory/,
  );
});
