import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { proveUpgrade } from '../upgrade/prove-upgrade.ts';

const FIXTURES = new URL('../upgrade/fixtures', import.meta.url).pathname;

async function copyOf(fixture: string, context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-upgrade-'));
  context.after(() => rm(directory, { recursive: true }));
  const copy = join(directory, fixture);
  await cp(join(FIXTURES, fixture), copy, { recursive: true });
  return copy;
}

test('a SQLite database of version 0.1.0 keeps its data and remains usable', async (context) => {
  await proveUpgrade(`sqlite:${await copyOf('store.db', context)}`);
});

test('a directory of JSON files of version 0.1.0 keeps its data and remains usable', async (context) => {
  await proveUpgrade(`json:${await copyOf('json', context)}`);
});
