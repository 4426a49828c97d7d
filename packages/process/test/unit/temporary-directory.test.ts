import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess, waitUntil } from '@tidegauge/process';

const OWNER = fileURLToPath(new URL('../owner.ts', import.meta.url));
const LINUX = process.platform === 'linux' ? {} : { skip: 'the owner of a directory is only known on Linux' };

test(
  'the directory of a killed process is removed by the next process, that of a running one is not',
  LINUX,
  async (t) => {
    const base = mkdtempSync(join(tmpdir(), 'temporary-directory-test-'));
    t.after(() => rmSync(base, { recursive: true }));
    const own = async () => {
      const child = startProcess({ command: process.execPath, args: [OWNER], env: { TMPDIR: base } });
      t.after(() => child.kill());
      await waitUntil('the directory', () => child.log().includes('\n'), { timeoutMs: 20_000 });
      const path = child.log().trim();
      writeFileSync(join(path, 'data'), 'x');
      return { child, path };
    };
    const killed = await own();
    const running = await own();
    await killed.child.kill();
    assert.ok(existsSync(killed.path), 'a killed process leaves its directory');
    const next = await own();
    assert.deepEqual(
      [killed, running, next].map(({ path }) => existsSync(path)),
      [false, true, true],
    );
  },
);
