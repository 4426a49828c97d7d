import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderBytes } from '@tidegauge/bench/ways/folder-bytes';
import { mediansOf } from '@tidegauge/bench/ways/install-medians';
import { findLeastMemory } from '@tidegauge/bench/ways/least-memory';
import { digestOf } from '@tidegauge/bench/ways/series-digest';
import { temporaryDirectory } from '@tidegauge/process';

test('the least memory is found with the requested precision, by few attempts', async () => {
  for (const needed of [1, 8, 9, 100, 264, 505, 512]) {
    const tried: number[] = [];
    const least = await findLeastMemory({ most: 512, step: 8 }, async (mebibytes) => {
      tried.push(mebibytes);
      return mebibytes >= needed;
    });
    assert.equal(least, Math.ceil(needed / 8) * 8, `${needed}`);
    assert.ok(new Set(tried).size <= 7, `${needed}: ${tried}`);
  }
});

test('there is no least memory when the most is not enough', async () => {
  const tried: number[] = [];
  const fail = async (mebibytes: number) => {
    tried.push(mebibytes);
    return false;
  };
  assert.equal(await findLeastMemory({ most: 512, step: 8 }, fail), null);
  assert.deepEqual(tried, [512, 512]);
});

test('one failure by chance does not change the result', async () => {
  const failed = new Set<number>();
  const least = await findLeastMemory({ most: 512, step: 64 }, async (mebibytes) => {
    if (failed.has(mebibytes)) return mebibytes >= 200;
    failed.add(mebibytes);
    return false;
  });
  assert.equal(least, 256);
});

test('ways have the medians of their turns, the fastest way first', () => {
  const turn = (way: string, seconds: number) => ({
    way,
    seconds,
    installedBytes: seconds * 10,
    downloadedBytes: 5,
  });
  const turns = [turn('slow', 9), turn('fast', 3), turn('fast', 1), turn('fast', 2), turn('slow', 11)];
  assert.deepEqual(mediansOf(turns), [
    {
      way: 'fast',
      turns: 3,
      seconds: 2,
      fastestSeconds: 1,
      slowestSeconds: 3,
      installedBytes: 20,
      downloadedBytes: 5,
    },
    {
      way: 'slow',
      turns: 2,
      seconds: 10,
      fastestSeconds: 9,
      slowestSeconds: 11,
      installedBytes: 100,
      downloadedBytes: 5,
    },
  ]);
});

test('the size of a folder is that of its files, without links', (context) => {
  const { path, remove } = temporaryDirectory('bytes');
  context.after(remove);
  mkdirSync(join(path, 'below'));
  writeFileSync(join(path, 'one'), 'abc');
  writeFileSync(join(path, 'below', 'two'), 'defgh');
  symlinkSync(join(path, 'one'), join(path, 'link'));
  assert.equal(folderBytes(path), 8);
  assert.equal(folderBytes(join(path, 'none')), 0);
});

test('a reading that is missing, stored twice or changed changes the digest', async () => {
  const reading = (seq: number) => ({ device: 'a', time: 1e15 + seq, value: seq / 2, boot: 'b1', seq });
  const sent = [reading(0), reading(1), reading(2)];
  const { count, digest } = await digestOf(sent);
  assert.equal(count, 3);
  async function* stored() {
    // A store returns more than the sensor sent.
    for (const each of sent) yield { ...each, metric: 'temperature', received: 1 };
  }
  assert.deepEqual(await digestOf(stored()), { count, digest });
  const [first, second, third] = sent as [(typeof sent)[0], (typeof sent)[0], (typeof sent)[0]];
  const others = [
    [first, third],
    [first, second, second, third],
    [first, { ...second, value: 0 }, third],
    [first, { ...second, time: second.time + 1 }, third],
    [first, { ...second, boot: 'b2' }, third],
  ];
  for (const other of others) assert.notEqual((await digestOf(other)).digest, digest);
});
