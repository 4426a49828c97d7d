import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildPackage } from '../../package/build-package.ts';
import { foldersOf } from '../../package/installed-packages.ts';
import { modulesFrom, plainModule } from '../../package/plain-module.ts';
import { referencesIn } from '../../package/references.ts';
import { ROOT } from '../../setup.js';

test('what a module names is found in code only', () => {
  const code = `import a from './a.ts';
export { b } from "b/c";
const c = () => import('./c.ts'); // import('./comment.ts')
const d = new URL('./d.yaml', import.meta.url), e = new URL('./e', base);
const f = import.meta.resolve('f/style.css') + "import('./text.ts')" + /import '.\\/\`g/;
await import(c);
`;
  const found = referencesIn(code);
  assert.deepEqual(
    found.map(({ kind, specifier }) => [kind, specifier]),
    [
      ['import', './a.ts'],
      ['import', 'b/c'],
      ['import', './c.ts'],
      ['url', './d.yaml'],
      ['import', 'f/style.css'],
    ],
  );
  for (const { specifier, start } of found) assert.ok(code.startsWith(specifier, start), specifier);
});

test('a module keeps its lines, and its imports name files of the package', () => {
  const file = 'apps/tidegauge/src/start-pipeline.ts';
  const { code, modules, packages } = plainModule(file);
  assert.equal(code.split('\n').length, readFileSync(join(ROOT, file), 'utf8').split('\n').length);
  assert.match(code, /from '\.\.\/\.\.\/\.\.\/packages\/service\/src\/index\.js';/);
  assert.match(code, /from '\.\/announcement\.js';/);
  assert.match(code, /new URL\('\.\/main\.js', import\.meta\.url\)/);
  assert.doesNotMatch(code, /'@tidegauge|\.ts'/);
  assert.ok(modules.includes('packages/storage/src/index.ts'));
  assert.deepEqual(packages, []);
});

test('all that a module needs is found, also the modules of workers', () => {
  const modules = modulesFrom(['services/backup/src/main.ts']);
  assert.ok(modules.has('services/backup/src/vacuum-worker.ts'));
  assert.ok(modules.has('packages/storage/src/postgres/index.ts'));
  assert.ok(modules.get('services/backup/src/back-up.ts')!.files.includes('services/backup/package.json'));
  assert.ok(modules.get('packages/service/src/logger.ts')!.packages.includes('pino'));
});

test('a package is copied with what it needs, from the nearest node_modules', () => {
  const lock = {
    'node_modules/a': { dependencies: { b: '^1.0.0', '@scarf/scarf': '1.0.0' } },
    'node_modules/a/node_modules/b': { dependencies: { c: '1.0.0' } },
    'node_modules/b': {},
    'node_modules/c': { dependencies: { d: '1.0.0' } },
    'node_modules/d': { dependencies: { a: '1.0.0' } },
  };
  assert.deepEqual(foldersOf(['a'], lock), [
    'node_modules/a',
    'node_modules/a/node_modules/b',
    'node_modules/c',
    'node_modules/d',
  ]);
  assert.throws(() => foldersOf(['x'], lock), /^Error: package-lock\.json has no x, which Tidegauge needs$/);
});

test('a folder with other files is not replaced', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-other-'));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'mine.txt'), '');
  await assert.rejects(buildPackage(folder), /^ConfigError: --output .* is no package of an earlier run/);
});
