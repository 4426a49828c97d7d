import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import { buildOnce, CACHE } from '../../src/build-once.ts';

/** Runs a build whose first attempt fails and whose second attempt succeeds. Returns the attempts that left a file. */
async function buildTwice(name: string, resume: boolean): Promise<string> {
  let attempts = 0;
  const build = async (directory: string): Promise<void> => {
    await mkdir(directory, { recursive: true });
    await appendFile(join(directory, 'steps'), `${++attempts} `);
    if (attempts === 1) throw new Error('the network is down');
  };
  await assert.rejects(buildOnce(name, build, { resume }), /the network is down/);
  const path = await buildOnce(name, build, { resume });
  const steps = await readFile(join(path, 'steps'), 'utf8');
  await rm(path, { recursive: true });
  return steps;
}

test('a build with `resume` finds the files of a failed attempt; other builds start empty', async () => {
  assert.equal(await buildTwice(`test/resume-${process.pid}`, true), '1 2 ');
  assert.equal(await buildTwice(`test/afresh-${process.pid}`, false), '2 ');
  assert.ok(!existsSync(join(CACHE, `test/afresh-${process.pid}.building`)));
});

test('a build that waits for another one names its process', async (t) => {
  const written: string[] = [];
  const write = t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
  const name = `test/shared-${process.pid}`;
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const build = async (directory: string): Promise<void> => {
    await mkdir(directory);
    await complete;
  };
  const builds = [buildOnce(name, build), buildOnce(name, build)];
  await waitUntil('the message', () => written.length > 0, { timeoutMs: 5000 });
  resolve();
  const [path] = await Promise.all(builds);
  write.mock.restore();
  await rm(path!, { recursive: true });
  assert.deepEqual(written, [`Waiting for process ${process.pid}, which makes ${name}...\n`]);
});
