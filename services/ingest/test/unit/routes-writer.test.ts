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

const DEFAULT = 'sensors/{device+}/{metric}';

async function directoryFor(context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-writer-'));
  context.after(() => rm(directory, { recursive: true }));
  return directory;
}

function reloaderOf(file: string) {
  const router = new Router(loadRoutes(file, 'durable').routes);
  const reloader = new RouteReloader({
    file,
    ack: 'durable',
    router,
    subscribe: async () => {},
    logger: createLogger('ingest', 'silent'),
  });
  return { reloader, topics: () => router.routes.map(({ template }) => template.template) };
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
  const elsewhere = join(directory, 'missing', 'routes.yml');
  await refused(elsewhere, /routes\.yml cannot be written: ENOENT.*: create its directory/);
  await symlink('missing/routes.yml', join(directory, 'link.yml'));
  await refused(join(directory, 'link.yml'), /link\.yml cannot be written: ENOENT/);
  await rm(join(directory, 'link.yml'));
  // No file can be made in this directory, also not by root.
  await refused('/proc/version', /routes file \/proc\/version cannot be written: E/);
  assert.deepEqual(await readdir(directory), []);
});

test('routes that are added at the same time are all in the file and in use', async (context) => {
  const directory = await directoryFor(context);
  const file = join(directory, 'routes.yml');
  await writeFile(file, '- topic: a/{device}\n');
  const { reloader, topics } = reloaderOf(file);
  const sites = Array.from({ length: 20 }, (_, n) => `site-${n % 10}/{device}`);
  const added = await Promise.all(sites.map((topic) => reloader.add({ topic })));
  assert.deepEqual(added, [...Array(10).fill(true), ...Array(10).fill(false)]);
  const expected = ['a/{device}', ...sites.slice(0, 10)];
  assert.deepEqual(
    loadRoutes(file, 'durable').routes.map(({ template }) => template.template),
    expected,
  );
  assert.deepEqual(topics(), expected);
  await assert.rejects(reloader.add({ topic: 'b/{devise}' }), /devise/);
  assert.equal(await reloader.add({ topic: 'c/{device}' }), true, 'a refusal does not stop the next one');
});

test('the first route creates the file, which others cannot read, and the default route stays', async (context) => {
  const directory = await directoryFor(context);
  const file = join(directory, 'routes.yml');
  const { reloader, topics } = reloaderOf(file);
  assert.deepEqual(topics(), [DEFAULT]);
  assert.equal(await reloader.add({ topic: DEFAULT }), false, 'it is in use already');
  assert.deepEqual(await readdir(directory), []);
  assert.equal(await reloader.add({ topic: 'a/{device}' }), true);
  assert.deepEqual(topics(), [DEFAULT, 'a/{device}']);
  assert.deepEqual(reloaderOf(file).topics(), topics(), 'also after a restart');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(directory), ['routes.yml']);
});

test('a file without an entry has the default route, and keeps it when a route is added', async (context) => {
  const file = join(await directoryFor(context), 'routes.yml');
  for (const text of ['', '\n', '# none yet\n', '[]', '[]\n', '--- []\n', 'null\n']) {
    await writeFile(file, text);
    const { reloader, topics } = reloaderOf(file);
    assert.deepEqual(topics(), [DEFAULT], text);
    assert.equal(await reloader.add({ topic: 'a/{device}' }), true, text);
    assert.deepEqual(topics(), [DEFAULT, 'a/{device}'], text);
  }
});

test('a file that had routes and is missing or empty changes nothing, until it has an empty list', async (context) => {
  const file = join(await directoryFor(context), 'routes.yml');
  await writeFile(file, '- topic: a/{device}\n');
  const { reloader, topics } = reloaderOf(file);
  reloader.watch();
  context.after(() => reloader.stop());
  for (const lose of [() => writeFile(file, ''), () => rm(file)]) {
    await lose();
    await assert.rejects(reloader.reload(), /it is missing or empty: write \[\]/);
    await assert.rejects(reloader.add({ topic: 'b/{device}' }), /missing or empty/);
    assert.deepEqual(topics(), ['a/{device}']);
  }
  await writeFile(file, '[]\n');
  await reloader.reload();
  assert.deepEqual([topics(), reloader.trouble], [[DEFAULT], null]);
});
