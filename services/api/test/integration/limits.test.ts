import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toReadingDocument } from '@tidegauge/readings';
import { MAX_METRICS, openStore, type Store } from '@tidegauge/storage';
import { type LimitedApi, startLimitedApi } from '../api-process.ts';
import { FakeIngest } from '../fake-ingest.ts';
import { reading } from '../harness.ts';

// One client attacks the API, which has the memory of a board with 1 GB (API_MEMORY in stacks/profiles/1gb.env), while
// another client reads one reading repeatedly. The store is SQLite, which works in the thread of the API.

const API_MEMORY = 128 * 2 ** 20;
/**
 * Longest processor time of one turn of the event loop, milliseconds. Elapsed time would include other processes. The
 * longest turn takes 30 ms alone, and twice that when the caches of the processor are cold. Work without a bound takes
 * seconds.
 */
const HELD_MS = 100;
/** Longest wait of the honest client for an answer, on a machine with other load, milliseconds. */
const PROMPT_MS = 5000;
const ATTACKER = '127.0.0.1';
const TEXT = 'text';
const WIDE = 'wide';
const LEGACY = 'legacy';

describe('one client cannot block the API for others', () => {
  let folder: string;
  let store: Store;
  let ingest: FakeIngest;
  let api: LimitedApi;
  const sockets = new Set<Socket>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidegauge-limits-'));
    const file = join(folder, 'test.db');
    store = await openStore(`sqlite:${file}`);
    await store.readings.write([reading(1, { device: 'honest' })]);
    await fill(store, file);
    ingest = await FakeIngest.start(store);
  });
  beforeEach(async () => {
    api = await startLimitedApi(API_MEMORY, {
      STORE: `sqlite:${join(folder, 'test.db')}`,
      INGEST: ingest.url,
    });
    // The code is compiled and caches are filled, as after the first minute of a service.
    for (let n = 0; n < 50; n += 1) await ask('/v1/readings?device=honest&limit=1', 'honest');
    await api.held();
  });
  afterEach(() => api.stop());
  after(async () => {
    await ingest?.stop();
    await store?.close();
    await rm(folder, { recursive: true });
  });

  function open(from = ATTACKER): Socket {
    const socket = connect({ host: '127.0.0.1', port: api.port, localAddress: from });
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    return socket;
  }

  function ask(
    path: string,
    who: 'honest' | 'attacker',
    body?: string,
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...{
            host: '127.0.0.1',
            port: api.port,
            path,
            agent: false,
            method: body === undefined ? 'GET' : 'POST',
          },
          localAddress: who === 'honest' ? '127.0.0.2' : ATTACKER,
          ...(body === undefined ? {} : { headers: { 'Content-Type': 'text/plain' } }),
        },
        async (response) => {
          try {
            const text = (await response.toArray()).join('');
            resolve({ status: response.statusCode!, text });
          } catch (error) {
            reject(error);
          }
        },
      );
      sent.on('error', reject).end(body);
    });
  }

  /** Runs an attack and the honest client at the same time. Then checks the limits of memory and time. */
  function attack(name: string, work: () => Promise<void>, seconds = 2): void {
    test(name, async () => {
      let over = false;
      let slowest = 0;
      let answers = 0;
      const honest = async () => {
        while (!over) {
          const started = performance.now();
          const { status, text } = await ask('/v1/readings?device=honest&limit=1', 'honest');
          assert.equal(status, 200, text);
          slowest = Math.max(slowest, performance.now() - started);
          answers += 1;
          await sleep(20);
        }
      };
      const asking = honest();
      try {
        await Promise.race([Promise.all([work(), sleep(seconds * 1000)]), asking]);
      } finally {
        over = true;
        for (const socket of sockets) socket.destroy();
      }
      await asking;
      const held = await api.held();
      const peak = api.peak();
      const found = `${answers} answers, slowest ${slowest.toFixed(0)} ms; loop held ${held.toFixed(0)} ms; ${(peak / 2 ** 20).toFixed(0)} MiB (${api.limit})`;
      process.stderr.write(`${name}: ${found}\n`);
      assert.ok(api.alive);
      // In a cgroup the peak includes memory that the kernel can reclaim, and the kernel enforces the limit.
      assert.ok(api.limit === 'cgroup' || peak < API_MEMORY, found);
      assert.ok(slowest < PROMPT_MS, found);
      assert.ok(answers > 5, found);
      assert.ok(held <= HELD_MS, found);
    });
  }

  attack('30 requests at once for pages of large texts', async () => {
    const path = `/v1/readings?device=${TEXT}&limit=10000`;
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(path, 'attacker')));
    for (const { status, text } of answers) {
      assert.equal(status, 200);
      const { readings, next } = JSON.parse(text);
      assert.ok(text.length < 16 * 2 ** 20 && readings.length > 0 && next !== null);
    }
  });

  attack(
    '400 clients that do not read their answers',
    async () => {
      for (let n = 0; n < 400; n += 1) {
        const socket = open();
        socket.pause();
        socket.write(`GET /v1/readings?device=${TEXT}&limit=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      }
    },
    4,
  );

  attack(
    '1000 connections of four addresses with three exports each, of which nothing is read',
    async () => {
      for (let n = 0; n < 1000; n += 1) {
        const socket = open(`127.0.0.${10 + (n % 4)}`);
        socket.pause();
        const format = ['csv', 'ndjson', 'parquet'][n % 3];
        socket.write(
          `GET /v1/export?device=${TEXT}&format=${format} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n`.repeat(
            3,
          ),
        );
        if (n % 100 === 99) await sleep(20);
      }
    },
    10,
  );

  attack('figures of groups with many buckets, from two addresses', async () => {
    const path = '/v1/readings/groups?by=device&bucket=30s&limit=10000';
    for (let n = 0; n < 3; n += 1) {
      open('127.0.0.3').write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    }
    const answers = await Promise.all(Array.from({ length: 3 }, () => ask(path, 'attacker')));
    for (const { status, text } of answers) assert.ok(status === 200 || status === 422, text);
  });

  attack('1000 pipelined requests on one connection', async () => {
    const socket = open();
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text = (text + part).slice(-100_000);
    });
    socket.write(`GET /v1/readings?device=${TEXT}&limit=2 HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(999));
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    while (!text.endsWith('{"status":"ok"}')) await sleep(20);
  });

  attack('64 uploads that stall before their last byte', async () => {
    const size = 2 ** 20;
    for (let n = 0; n < 64; n += 1) {
      open().write(
        `POST /v1/readings HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size - 1)}`,
      );
    }
    await sleep(1500);
    for (const who of ['honest', 'attacker'] as const) {
      const { status, text } = await ask('/v1/readings?device=honest&metric=temperature', who, '21.5');
      assert.equal(status, 202, text);
    }
  });

  attack('1024 half-open connections', async () => {
    for (let n = 0; n < 1024; n += 1) open().write('GET / HTTP/1.1\r\nHost: ');
    await sleep(1000);
    const { status } = await ask('/healthz', 'attacker');
    assert.equal(status, 200);
  });

  attack('100 idle live streams', async () => {
    for (let n = 0; n < 100; n += 1) {
      const socket = open();
      socket.pause();
      socket.write('GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    }
    await sleep(1000);
    const stream = open('127.0.0.2');
    let text = '';
    stream.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-1000);
    });
    stream.write('GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    while (!text.startsWith('HTTP/1.1 200 ')) await sleep(20);
  });

  // The streams stall one after the other, each at a different position in the feed.
  attack(
    '100 live streams that read nothing, in a flood of large texts',
    async () => {
      for (let n = 0; n < 100; n += 1) {
        const socket = open();
        socket.pause();
        const filter = ['', '?metric=temperature', `?device=flood/${n % 10}`][n % 3];
        socket.write(`GET /v1/live${filter} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      }
      const stream = open('127.0.0.2');
      let events = 0;
      stream.setEncoding('utf8').on('data', (part: string) => {
        events += part.split('event: readings').length - 1;
      });
      stream.write('GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
      while (ingest.listeners === 0) await sleep(20);
      const readings = Array.from({ length: 31 }, (_, n) =>
        reading(n, { device: `flood/${n % 10}`, value: '\u{4e00}'.repeat(4096) }),
      );
      const flood = setInterval(
        () => ingest.offer({ id: '1', readings: readings.map(toReadingDocument) }),
        10,
      );
      try {
        await sleep(4000);
        // The stalled streams must not slow the stream that reads.
        const before = events;
        while (events < before + 10) await sleep(20);
      } finally {
        clearInterval(flood);
      }
    },
    4,
  );

  attack('a device with as many metrics as it may have, and one with 100,000 from before', async () => {
    const paths = [`/v1/readings?device=${WIDE}&limit=1`, `/v1/readings/latest?device=${WIDE}`];
    for (const path of [...paths, ...paths, ...paths]) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(path, 'attacker')));
      for (const { status } of answers) assert.equal(status, 200);
    }
    const { status, text } = await ask(`/v1/readings?device=${LEGACY}&limit=1`, 'attacker');
    assert.equal(status, 422);
    assert.match(text, /more than 1000 metrics. name one metric/);
    const one = await ask(`/v1/readings?device=${LEGACY}&metric=m77777&limit=1`, 'attacker');
    assert.deepEqual([one.status, JSON.parse(one.text).readings.length], [200, 1]);
  });

  attack('aggregates over 300,000 readings, and lists of devices and records with large fields', async () => {
    const paths = [
      `/v1/readings/aggregate?device=numbers&metric=temperature&from=2026-11-21T00:00:00Z&to=2026-12-01T00:00:00Z&bucket=2m`,
      '/v1/devices?site=large&limit=10000',
      '/v1/records/large?count=10000',
      '/v1/records/large/k1',
    ];
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        paths.map(async (path) => {
          const { status } = await ask(path, 'attacker');
          assert.equal(status, 200, path);
        }),
      );
    }
  });
});

/** Stores large texts, many metrics, many numbers, and large devices and records. */
async function fill(store: Store, file: string): Promise<void> {
  const text = '\u{4e00}'.repeat(4096);
  for (let start = 0; start < 2000; start += 250) {
    await store.readings.write(
      Array.from({ length: 250 }, (_, n) => reading(start + n, { device: TEXT, value: text })),
    );
  }
  const metrics = Array.from({ length: MAX_METRICS }, (_, n) => `m${n}`);
  await store.readings.write(
    metrics.map((metric) => reading(1, { device: WIDE, metric, value: text.slice(0, 2000) })),
  );
  for (let start = 0; start < 300_000; start += 20_000) {
    await store.readings.write(
      Array.from({ length: 20_000 }, (_, n) => reading(2 * (start + n), { device: 'numbers' })),
    );
  }
  await store.records.createTable('large', 2);
  for (let n = 0; n < 60; n += 1) {
    await store.records.insert('large', `k${n}`, { field0: 'x'.repeat(500_000), field1: 'y' });
    const attributes = { a: 'x'.repeat(4000), b: 'x'.repeat(4000), c: 'x'.repeat(4000), d: 'x'.repeat(4000) };
    for (let m = 0; m < 20; m += 1)
      await store.devices.put({
        name: `large/${n}/${m}`,
        site: 'large',
        city: null,
        kind: null,
        year: null,
        attributes,
      });
  }
  // More metrics than allowed, as an earlier version could store them.
  const db = new DatabaseSync(file);
  db.exec(`
    begin;
    with recursive n (n) as (select 0 union all select n + 1 from n where n < 99999)
    insert into series (device, metric) select '${LEGACY}', 'm' || n from n;
    insert into readings (series, time, value, received, quality)
    select id, 1795219200000000, 1.5, 0, 0 from series where device = '${LEGACY}';
    commit`);
  db.close();
}
