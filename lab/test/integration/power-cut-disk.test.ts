import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { startOrSkip } from '@tidegauge/lab/unavailable';

const disk = await startOrSkip('power-cut-disk', () => mountPowerCutDisk(64));

test('after a power cut a disk has what was synced, and not what only the page cache had', {
  skip: 'skip' in disk ? disk.skip : false,
}, async (context) => {
  if ('skip' in disk) return;
  const { server } = disk;
  context.after(() => server.remove());
  const read = (folder: string, name: string): string =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '';
  writeFileSync(join(server.path, 'synced'), 'first', { flush: true });
  writeFileSync(join(server.path, 'cached'), 'first');
  const one = await server.cut();
  writeFileSync(join(server.path, 'synced'), 'second', { flush: true });
  const two = await server.cut();
  assert.equal(read(one.path, 'synced'), 'first');
  assert.equal(read(one.path, 'cached'), '');
  assert.equal(read(two.path, 'synced'), 'second');
  assert.equal(read(server.path, 'cached'), 'first');
  writeFileSync(join(one.path, 'synced'), 'third', { flush: true });
  const three = await one.cut();
  assert.equal(read(three.path, 'synced'), 'third');
  await one.remove();
  await three.remove();
  await two.remove();
});
