import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, temporaryDirectory, waitUntil } from '@tidegauge/process';
import { now } from '@tidegauge/readings';
import { changeKeys, newKey } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { type DayFigures, dayFigures, dayOf } from '../../src/relay/day-digest.ts';

// Two ingest processes with SQLite: a board, and a centre that takes its readings with a key of its devices.

const DEVICES = ['site-3/boiler', 'site-3/pump', 'site-3/tank'];
const BATCHES = 120;
const OF_DEVICE = 20;
/** A whole day, which is over. */
const DAY = dayOf(now()) - 2;
const EPOCH = DAY * 86_400;

/** A link that can be cut: connections to its port go to another port. */
async function openLink(context: TestContext, port: number) {
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  const own = await freePort();
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
  context.after(() => {
    cut();
    server.close();
  });
  return { url: `http://127.0.0.1:${own}`, cut };
}

async function setUp(context: TestContext) {
  const folder = temporaryDirectory('relay-processes');
  const running = new Map<string, IngestProcess>();
  context.after(async () => {
    for (const each of running.values()) await each.kill();
    folder.remove();
  });
  const keys = join(folder.path, 'keys.json');
  const { text, key } = newKey(
    { name: 'board', scopes: ['write'], devices: 'site-3', expires: null },
    Date.now(),
  );
  changeKeys(keys, () => [key]);
  const port = await freePort();
  const link = await openLink(context, port);
  const storeOf = (name: string) => `sqlite:${join(folder.path, `${name}.db`)}`;
  const start = async (name: string, env: Readonly<Record<string, string>>) => {
    const listen = `mqtt://127.0.0.1:${await freePort()}`;
    const common = { STORE: storeOf(name), DATA_DIR: join(folder.path, name), LISTEN: listen };
    running.set(name, await startIngestProcess({ ...common, ...env }));
  };
  return {
    cut: link.cut,
    startCentre: () => start('centre', { METRICS_PORT: `${port}`, API_KEYS: keys }),
    startBoard: () => start('board', { RELAY: link.url, RELAY_TOKEN: text }),
    kill: (name: 'board' | 'centre') => running.get(name)!.kill(),
    /** Sends readings to the board until it has stored them. */
    async deliver(readings: readonly object[]) {
      for (;;) {
        const response = await fetch(`${running.get('board')!.url}/readings`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(readings),
        }).catch(() => null);
        if (response?.status === 202) return;
        await sleep(50);
      }
    },
    /** The number and the digest of each device on the day. */
    async figures(name: 'board' | 'centre'): Promise<DayFigures[]> {
      const store = await openStore(storeOf(name));
      try {
        const all: DayFigures[] = [];
        for (const device of DEVICES) all.push(await dayFigures(store, device, DAY, now()));
        return all;
      } finally {
        await store.close();
      }
    },
  };
}

test('a centre has all readings of a board once, after kills of both and cuts of the link', async (context) => {
  const bench = await setUp(context);
  await bench.startCentre();
  await bench.startBoard();
  for (let batch = 0; batch < BATCHES; batch++) {
    const sent = Array.from({ length: DEVICES.length * OF_DEVICE }, (_, index) => ({
      device: DEVICES[index % DEVICES.length],
      metric: 'temperature',
      t: EPOCH + batch * OF_DEVICE + Math.floor(index / DEVICES.length),
      v: batch + index / 8,
      boot: 'b1',
      seq: batch * OF_DEVICE + Math.floor(index / DEVICES.length),
    }));
    // A kill can come before the answer, and the sender repeats what it did not see acknowledged.
    const delivered = bench.deliver(sent);
    if (batch % 5 === 2) bench.cut();
    if (batch === 30 || batch === 90) {
      await bench.kill('board');
      await bench.startBoard();
    }
    if (batch === 60 || batch === 90) {
      await bench.kill('centre');
      await bench.startCentre();
    }
    await delivered;
    // Every tenth batch corrects readings of the one before.
    if (batch % 10 === 9)
      await bench.deliver(sent.slice(0, 6).map((reading) => ({ ...reading, t: reading.t - 5, v: -batch })));
  }
  const expected = await bench.figures('board');
  assert.deepEqual(
    expected.map(({ count }) => count),
    DEVICES.map(() => BATCHES * OF_DEVICE),
  );
  let found: DayFigures[] = [];
  await waitUntil(
    () => `equal digests: ${JSON.stringify({ expected, found })}`,
    async () => {
      found = await bench.figures('centre');
      return JSON.stringify(found) === JSON.stringify(expected);
    },
    { timeoutMs: 60_000, pollMs: 500 },
  );
});
