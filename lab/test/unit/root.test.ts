import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountSmallDisk } from '../../src/small-disk.ts';

test('what needs root is refused before it is tried, with what to do', async (t) => {
  t.mock.method(process as unknown as { getuid(): number }, 'getuid', () => 1000);
  await assert.rejects(mountSmallDisk(2 ** 20), {
    message: 'a disk that can be full needs Linux and root: run it with sudo',
  });
});
