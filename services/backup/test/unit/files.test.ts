import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { LineFiles, linesOf } from '../../src/backup-files.ts';

const folder = temporaryDirectory('backup-files');
after(() => folder.remove());

test('begins a new file at the limit, and reads the lines of all files in their order', async () => {
  const files = new LineFiles(folder.path, 'lines', 1000);
  const lines = Array.from({ length: 50_000 }, (_, index) => `${index} ${Math.sin(index)}`);
  for (const line of lines) await files.add(`${line}\n`);
  const written = await files.end();
  assert.ok(written.length > 1);
  assert.equal(readdirSync(folder.path).length, written.length);
  const found: string[] = [];
  for await (const line of linesOf(
    folder.path,
    written.map(({ name }) => name),
  ))
    found.push(line.text);
  assert.deepEqual(found, lines);
});

test('only a newline ends a line, and a line has a bound', async () => {
  const files = new LineFiles(folder.path, 'texts');
  const line = JSON.stringify('a\u2028b\u2029c\u0085d\r🌊');
  await files.add(`${line}\n`);
  await files.add(`${'x'.repeat(1024 * 1024)}\n`);
  const { name } = (await files.end())[0]!;
  const found = [];
  for await (const each of linesOf(folder.path, [name])) found.push(each);
  assert.deepEqual([found[0]!.text, found[0]!.number, found[1]!.number], [line, 1, 2]);
  const bomb = new LineFiles(folder.path, 'bomb');
  await bomb.add('short\n');
  for (let part = 0; part < 100; part++) await bomb.add('x'.repeat(64 * 1024));
  const file = (await bomb.end())[0]!;
  await assert.rejects(async () => {
    for await (const _ of linesOf(folder.path, [file.name]));
  }, /bomb-1\.ndjson\.gz, line 2 is too long: use another backup/);
});
