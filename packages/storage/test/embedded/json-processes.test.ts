import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Reading } from '@tidegauge/readings';
import { series, stored } from '../../conformance/data.ts';
import { openStore, type Store, type StoreError, type WriteResult } from '../../src/index.ts';

const BATCH = 50;

/** The tasks of this file when it runs as a process of a test. */
const ROLES: Readonly<Record<string, (store: Store, device: string) => Promise<void>>> = {
  /** Writes every batch and sends the counts. On request, sends all readings of a device. */
  async write(store, device) {
    const total = { stored: 0, duplicate: 0 };
    for (const batch of batches(device, 40)) {
      const result = await store.readings.write(batch);
      total.stored += result.stored;
      total.duplicate += result.duplicate;
    }
    await say(total);
    const [other] = await once(process, 'message');
    await say(await stored(store, other as string));
  },

  /** Writes until it is killed, and sends the number of each stored batch. */
  async endless(store, device) {
    let number = 0;
    for (const batch of batches(device, 100_000)) {
      await store.readings.write(batch);
      await say(number);
      number += 1;
    }
  },

  /** Reads all devices repeatedly until it receives a message, and sends the number of rounds. */
  async follow(store) {
    let stop = false;
    process.once('message', () => {
      stop = true;
    });
    let [rounds, newest] = [0, 0];
    while (!stop) {
      const devices = await store.devices.list({ limit: 1000 });
      const years = new Set(devices.map(({ year }) => year ?? 0));
      assert.equal(devices.length, 300);
      assert.ok(Math.min(...years) >= newest, `year ${Math.min(...years)} after ${newest}`);
      newest = Math.min(...years);
      rounds += 1;
      if (rounds === 1) await say('following');
    }
    await say({ rounds, newest });
  },

  /** Writes until the file has the size that ulimit allows. Sends the number of stored batches and the error. */
  async limited(store, device) {
    let count = 0;
    try {
      for (const batch of batches(device, 1000)) {
        await store.readings.write(batch);
        count += 1;
      }
    } catch (error) {
      const { code, message, hint } = error as StoreError;
      await say({ count, code, message, hint });
    }
  },
};

/** Resolves when the message has been sent, so that the channel can be closed. */
function say(message: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

function* batches(device: string, count: number): Generator<Reading[]> {
  const all = series(device, BATCH);
  for (let number = 0; number < count; number += 1) {
    yield all.map((reading) => ({
      ...reading,
      time: reading.time + number * BATCH * 1_000_000,
      value: number,
    }));
  }
}

const [role, url, name] = process.argv.slice(2);
if (role !== undefined) {
  const store = await openStore(url!);
  await ROLES[role]!(store, name!);
  await store.close();
  process.disconnect();
} else {
  describe('a json store of several processes', { timeout: 120_000 }, suite);
}

function suite(): void {
  let folder = '';
  const children: ChildProcess[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidegauge-json-'));
  });
  after(async () => {
    for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const run = (what: string, place: string, device = '', shell: string[] = []): ChildProcess => {
    const script = fileURLToPath(import.meta.url);
    const child =
      shell.length === 0
        ? fork(script, [what, place, device], { execArgv: [] })
        : fork(script, [what, place, device], { execPath: '/bin/sh', execArgv: shell });
    children.push(child);
    return child;
  };
  const message = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T;

  test('each process sees what the others append at the same time', async () => {
    const place = `json:${folder}/append`;
    const writers = ['a', 'b', 'a'].map((device) => run('write', place, device));
    const results = Promise.all(writers.map((writer) => message<WriteResult>(writer)));
    const store = await openStore(place);
    const own = await Promise.all([...batches('c', 40)].map((batch) => store.readings.write(batch)));
    const [a, b, again] = await results;
    const total = 40 * BATCH;
    assert.equal(a!.stored + again!.stored, total);
    assert.equal(a!.duplicate + again!.duplicate, total);
    assert.deepEqual(b, { stored: total, duplicate: 0 });
    assert.equal(
      own.reduce((sum, result) => sum + result.stored, 0),
      total,
    );
    for (const [index, other] of ['b', 'c', 'c'].entries()) {
      writers[index]!.send(other);
      assert.deepEqual(await message<Reading[]>(writers[index]!), [...batches(other, 40)].flat());
    }
    assert.deepEqual(await stored(store, 'a'), [...batches('a', 40)].flat());
    await store.close();
  });

  test('no acknowledged reading is lost when writers are killed while others continue', async () => {
    const place = `json:${folder}/killed`;
    const devices = ['a', 'b'];
    const store = await openStore(place);
    const acknowledged = await Promise.all(
      devices.map(async (device, index) => {
        const child = run('endless', place, device);
        let last = -1;
        child.on('message', (number) => {
          last = number as number;
          if (last === 30 + index * 20) child.kill('SIGKILL');
        });
        const [, signal] = await once(child, 'exit');
        assert.equal(signal, 'SIGKILL');
        return last;
      }),
    );
    for (const batch of batches('c', 20)) await store.readings.write(batch);
    const reopened = await openStore(place);
    for (const one of [store, reopened]) {
      for (const [index, device] of devices.entries()) {
        const expected = [...batches(device, acknowledged[index]! + 1)].flat();
        assert.deepEqual((await stored(one, device)).slice(0, expected.length), expected);
      }
      assert.deepEqual(await stored(one, 'c'), [...batches('c', 20)].flat());
    }
    await store.close();
    await reopened.close();
  });

  test('a process that reads devices sees all of them while another compacts the file', async () => {
    const place = `json:${folder}/compacted`;
    const store = await openStore(place);
    await store.devices.register(Array.from({ length: 300 }, (_, index) => `device-${index}`));
    const follower = run('follow', place);
    assert.equal(await message(follower), 'following');
    for (let year = 1; year <= 120; year += 1) await store.devices.patchWhere({}, { year });
    follower.send('stop');
    const { rounds, newest } = await message<{ rounds: number; newest: number }>(follower);
    assert.ok(rounds > 5 && newest > 0, `${rounds} rounds up to year ${newest}`);
    const files = (await readdir(join(folder, 'compacted'))).filter((file) => file.startsWith('devices'));
    assert.match(files.join(), /^devices\.\d+\.jsonl$/);
    await store.close();
  });

  test('a write that the file system accepts only in part is refused, and earlier readings are kept', async () => {
    const place = `json:${folder}/limited`;
    const limit = ['-c', `ulimit -f 100; exec "${process.execPath}" "$0" "$@"`];
    const child = run('limited', place, 'a', limit);
    const { count, code, message: text, hint } = await message<StoreError & { count: number }>(child);
    assert.equal(code, 'UNAVAILABLE');
    assert.match(text, /EFBIG/);
    assert.match(hint!, /ulimit -f/);
    assert.ok(count > 0);
    const store = await openStore(place);
    const all = [...batches('a', count + 1)];
    assert.deepEqual((await stored(store, 'a')).slice(0, count * BATCH), all.slice(0, -1).flat());
    const { stored: rest, duplicate } = await store.readings.write(all.at(-1)!);
    assert.ok(rest > 0 && rest + duplicate === BATCH);
    assert.deepEqual(await stored(store, 'a'), all.flat());
    await store.close();
  });
}
