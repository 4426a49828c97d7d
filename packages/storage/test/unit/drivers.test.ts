import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { rejection } from '../../conformance/data.ts';
import { loadBackend } from '../../src/drivers.ts';
import { STORE_DRIVERS, STORE_SCHEMES } from '../../src/index.ts';

// No package is installed above this folder.
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-drivers-'));
after(() => rmSync(folder, { recursive: true }));

/** Imports a module that needs a package. */
function needing(name: string): () => Promise<unknown> {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, `import '${name}';`);
  return () => import(pathToFileURL(file).href);
}

test('a driver that is not installed is reported with the command that installs it', async () => {
  for (const [scheme, drivers] of Object.entries(STORE_DRIVERS)) {
    assert.ok(STORE_SCHEMES.includes(scheme));
    for (const driver of drivers) {
      const error = await rejection(loadBackend(scheme, needing(driver)), 'MISCONFIGURED');
      assert.equal(error.message, `the driver of ${scheme} is not installed`);
      const hint = error.hint ?? '';
      for (const name of drivers) assert.match(hint, new RegExp(` ${name}@\\d+\\.\\d+\\.\\d+\\b`));
    }
  }
});

test('the command installs the driver where Node.js looks for it', async () => {
  const commandIn = async (directory: string) => {
    const load = () => loadBackend('mariadb', needing('mariadb'), directory);
    return (await rejection(load(), 'MISCONFIGURED')).hint ?? '';
  };
  const inside = join(folder, 'node_modules', 'tidegauge', 'packages', 'storage', 'src');
  assert.match(await commandIn(inside), /npm install --global mariadb@/);
  // As npm does in a folder, and npx in its own.
  writeFileSync(join(folder, 'package.json'), '{}');
  assert.ok((await commandIn(inside)).includes(`npm install --prefix "${folder}" mariadb@`));
});

test('another package that is missing is another error', async () => {
  await assert.rejects(loadBackend('postgres', needing('no-such-package')), { code: 'ERR_MODULE_NOT_FOUND' });
});
