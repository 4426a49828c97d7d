import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { defaultRoutes } from '../../src/routes-file.ts';
import { Share } from '../../src/share.ts';
import { testPipeline } from '../test-pipeline.ts';

const MOST = 1000;

for (const [what, ack, payload] of [
  ['readings', 'durable', '21.5'],
  ['readings that are acknowledged on arrival', 'received', '21.5'],
  ['payloads that cannot be decoded', 'durable', '{"'],
] as const) {
  test(`n clients that send without end have a part of n + 1 each: ${what}`, async (context) => {
    const directory = temporaryDirectory('share');
    const store = await openStore(`sqlite:${join(directory.path, 's.db')}`);
    let wasFull = false;
    const { pipeline, quarantine, spool } = testPipeline(store, directory.path, 100, defaultRoutes(ack), {
      maxInFlight: MOST,
      onFull: (full) => {
        wasFull ||= full;
      },
    });
    context.after(async () => {
      await spool.close();
      await store.close();
      quarantine.close();
      directory.remove();
    });
    let time = 0;
    const flood = (share: Share): number => {
      let sent = 0;
      for (; !share.isFull; sent++) {
        const text = Buffer.from(payload);
        const message = {
          topic: `sensors/a/${time++}`,
          payload: text,
          qos: 1,
          retain: false,
          size: 40,
        } as const;
        pipeline.accept(message, { share, settled() {} });
      }
      return sent;
    };
    const changes: boolean[] = [];
    const shares = Array.from({ length: 4 }, () => new Share((full) => void changes.push(full)));
    assert.equal(flood(shares[0]!), MOST / 2);
    assert.equal(flood(shares[1]!), MOST / 4);
    for (const share of shares.slice(2)) flood(share);
    assert.equal(wasFull, false);
    assert.deepEqual(changes, [true, true, true, true]);
    await pipeline.idle();
    assert.deepEqual(
      shares.map(({ readings, bytes, isFull }) => [readings, bytes, isFull]),
      shares.map(() => [0, 0, false]),
    );
  });
}

test('a client with nothing in flight continues, however much others have', () => {
  const changes: boolean[] = [];
  const share = new Share((full) => void changes.push(full));
  share.count(1, 100, -50, -1000);
  assert.deepEqual(changes, [true]);
  share.count(-1, -100, -50, -1000);
  assert.deepEqual(changes, [true, false]);
});

test('a client is not paused by the end of its message: nothing would continue it', () => {
  const changes: boolean[] = [];
  const share = new Share((full) => void changes.push(full));
  share.count(1, 100, 50, 1000);
  share.count(-1, -100, -50, -1000);
  assert.deepEqual(changes, []);
});
