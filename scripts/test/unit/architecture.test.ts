import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../setup.js';

const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
const manifest = (folder: string) => JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
const folders: string[] = globSync(
  manifest('.').workspaces.map((pattern: string) => `${pattern}/package.json`),
  { cwd: ROOT },
).map((file) => file.replace(/\/package\.json$/, ''));
/** The rows of the first table below a heading, without its header, as cells. */
const rowsBelow = (heading: string) =>
  page
    .split(`\n## ${heading}\n`)[1]!
    .trim()
    .split('\n\n')[0]!
    .split('\n')
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);

test('the code map has every workspace, and each file that it names exists', () => {
  const rows = rowsBelow('Code map');
  const mapped = rows.flatMap(([path]) => quoted(path!));
  assert.deepEqual(
    folders.filter((folder) => !mapped.includes(folder)),
    [],
  );
  const missing = rows.flatMap(([path, , files]) =>
    quoted(files!).filter(
      (file) => !existsSync(join(ROOT, quoted(path!)[0]!, file)) && !existsSync(join(ROOT, file)),
    ),
  );
  assert.deepEqual(missing, []);
});

test('the table of dependencies has every npm package that a workspace declares, and no other', () => {
  const declared = new Set(
    ['.', ...folders].flatMap((folder) => {
      const { dependencies = {}, devDependencies = {} } = manifest(folder);
      return Object.keys({ ...dependencies, ...devDependencies });
    }),
  );
  const expected = [...declared].filter(
    (name) => !name.startsWith('@tidegauge/') && (!name.startsWith('@types/') || name === '@types/k6'),
  );
  const listed = rowsBelow('Dependencies').flatMap(([name]) => quoted(name!));
  assert.deepEqual([...expected].toSorted(), listed.toSorted());
});
