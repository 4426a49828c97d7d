import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { runProgram } from '@tidegauge/process';
import { NODE, ROOT } from '../../../../scripts/setup.js';

const PACKAGE = join(ROOT, 'clients/typescript');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const DEPENDENCIES = ['eventsource-parser', 'openapi-fetch', 'openapi-typescript-helpers'];

test('the packed package has what a program needs, and plain JavaScript and strict TypeScript can use it', async () => {
  const folder = temporaryDirectory('client-package');
  try {
    // In a copy, so that the repository gets no dist.
    const copy = join(folder.path, 'clients/typescript');
    for (const name of ['package.json', 'tsconfig.build.json', 'README.md', 'LICENSE', 'src'])
      cpSync(join(PACKAGE, name), join(copy, name), { recursive: true });
    cpSync(join(ROOT, 'tsconfig.json'), join(folder.path, 'tsconfig.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
    await runProgram(NODE, [TSC, '-p', 'tsconfig.build.json'], { cwd: copy });
    const { stdout } = await runProgram('npm', ['pack', '--ignore-scripts', '--json'], { cwd: copy });
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    const paths = files.map(({ path }) => path);
    for (const path of [
      'package.json',
      'README.md',
      'LICENSE',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/generated/api.d.ts',
    ])
      assert.ok(paths.includes(path), path);
    assert.deepEqual(
      paths.filter((path) => !/^(dist\/.*\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path)),
      [],
    );

    const user = join(folder.path, 'user');
    const installed = join(user, 'node_modules/@tidegauge/client');
    mkdirSync(installed, { recursive: true });
    await runProgram('tar', ['-xzf', join(copy, filename), '-C', installed, '--strip-components=1']);
    // Only the packages that the client declares, and what they need.
    for (const name of [...DEPENDENCIES, '@types/node', 'undici-types']) {
      mkdirSync(dirname(join(user, 'node_modules', name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(user, 'node_modules', name));
    }
    writeFileSync(join(user, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(user, 'plain.js'),
      `import { TidegaugeClient } from '@tidegauge/client';
       console.log(typeof new TidegaugeClient({ url: 'http://127.0.0.1:1' }).send);`,
    );
    const plain = await runProgram(NODE, ['--no-experimental-strip-types', 'plain.js'], { cwd: user });
    assert.equal(plain.stdout, 'function\n');
    writeFileSync(
      join(user, 'typed.ts'),
      `import { dataOf, type Reading, TidegaugeClient } from '@tidegauge/client';
       const client = new TidegaugeClient({ url: 'http://127.0.0.1:1' });
       export const values = async (): Promise<(number | string)[]> => {
         const { readings } = dataOf(await client.api.GET('/v1/readings', { params: { query: { device: 'a' } } }));
         return readings.map((reading: Reading) => reading.value);
       };
       // @ts-expect-error a list of readings needs no such parameter
       client.readings({ device: 'a', colour: 'red' });
       // @ts-expect-error there is no such path
       void client.api.GET('/v2/readings');`,
    );
    const checks = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--lib',
      'es2024',
    ];
    await runProgram(NODE, [TSC, ...checks, '--types', 'node', '--skipLibCheck', 'false', 'typed.ts'], {
      cwd: user,
    });
  } finally {
    folder.remove();
  }
});

test('the package has the licence of the project', () => {
  for (const client of ['typescript'])
    assert.equal(
      readFileSync(join(ROOT, 'clients', client, 'LICENSE'), 'utf8'),
      readFileSync(join(ROOT, 'LICENSE'), 'utf8'),
    );
});
