import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLogger } from '@tidegauge/service';
import { RouteReloader } from '../../src/route-reloader.ts';
import { Router } from '../../src/routes.ts';
import { loadRoutes } from '../../src/routes-file.ts';
import { FileNotReplaced, replaceFile } from '../../src/routes-writer.ts';

async function directoryFor(context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-writer-'));
  context.after(() => rm(directory, { recursive: true }));
  return directory;
}

test('a file behind a link is replaced, with its mode, and no draft stays', async (context) => {
  const directory = await directoryFor(context);
  const file = join(directory, 'routes.yml');
  await writeFile(file, 'old\n', { mode: 0o604 });
  await symlink('routes.yml', join(directory, 'link.yml'));
  await replaceFile(join(directory, 'link.yml'), 'new\n');
  assert.equal(await readFile(file, 'utf8'), 'new\n');
  assert.equal((await stat(file)).mode & 0o777, 0o604);
  assert.deepEqual((await readdir(directory)).sort(), ['link.yml', 'routes.yml']);
});

test('a file that cannot be replaced is named with the reason', async (context) => {
  const directory = await directoryFor(context);
  const refused = (file: string, reason: RegExp) =>
    assert.rejects(replaceFile(file, 'x'), (error) => {
      assert.ok(error instanceof FileNotReplaced);
      assert.match(error.message, reason);
      return true;
    });
  await refused(join(directory, 'missing.yml'), /missing\.yml cannot be written: ENOENT/);
  // No file can be made in this directory, also not by root.
  await refused('/proc/version', /routes file \/proc\/version cannot be written: E/);
  assert.deepEqual(await readdir(directory), []);
});

test('routes that are added at the same time are all in the file and in use', async (context) => {
  const directory = await directoryFor(context);
  const file = join(directory, 'routes.yml');
  await writeFile(file, '- topic: a/{device}\n');
  const router = new Router(loadRoutes(file, 'durable').routes);
  const reloader = new RouteReloader({
    file,
    ack: 'durable',
    router,
    subscribe: async () => {},
    logger: createLogger('ingest', 'silent'),
  });
  const topics = Array.from({ length: 20 }, (_, n) => `site-${n % 10}/{device}`);
  const added = await Promise.all(topics.map((topic) => reloader.add({ topic })));
  assert.deepEqual(added, [...Array(10).fill(true), ...Array(10).fill(false)]);
  const expected = ['a/{device}', ...topics.slice(0, 10)];
  assert.deepEqual(
    loadRoutes(file, 'durable').routes.map(({ template }) => template.template),
    expected,
  );
  assert.deepEqual(
    router.routes.map(({ template }) => template.template),
    expected,
  );
  await assert.rejects(reloader.add({ topic: 'b/{devise}' }), /devise/);
  assert.equal(await reloader.add({ topic: 'c/{device}' }), true, 'a refusal does not stop the next one');
});
