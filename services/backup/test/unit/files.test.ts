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
    found.push(line);
  assert.deepEqual(found, lines);
});
