import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { proveUpgrade, VERSIONS } from '../upgrade/prove-upgrade.ts';

const FIXTURES = new URL('../upgrade/fixtures', import.meta.url).pathname;

async function copyOf(version: string, name: string, context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-upgrade-'));
  context.after(() => rm(directory, { recursive: true }));
  const copy = join(directory, name);
  await cp(join(FIXTURES, version, name), copy, { recursive: true });
  return copy;
}

for (const [version, options] of Object.entries(VERSIONS)) {
  test(`a SQLite database of version ${version} keeps its data and remains usable`, async (context) => {
    await proveUpgrade(`sqlite:${await copyOf(version, 'store.db', context)}`, options);
  });

  test(`a directory of JSON files of version ${version} keeps its data and remains usable`, async (context) => {
    await proveUpgrade(`json:${await copyOf(version, 'json', context)}`, options);
  });
}
