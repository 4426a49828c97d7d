import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import type { QuarantineDocument } from '@tidegauge/readings';
import { peakResidentBytes } from '@tidegauge/test-support/process-usage';
import { generate, type IConnectPacket, parser } from 'mqtt-packet';
import { type Bench, setUp } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const MIB = 1024 * 1024;
/** Memory limit of an ingest container on a board with 1 GB. Node gives its heap half of that. */
const LIMIT = memoryOf('INGEST_MEMORY');
/** How long a reading of one sensor may wait while another sensor misbehaves; the machine may be busy. */
const PROMPT_MS = 15_000;

function memoryOf(name: string): number {
  const profile = readFileSync(new URL('../../../../stacks/profiles/1gb.env', import.meta.url), 'utf8');
  return Number(new RegExp(`^${name}=(\\d+)M$`, 'm').exec(profile)![1]) * MIB;
}

interface Message {
  readonly topic: string;
  readonly payload: string;
}

/** Publishes as fast as the broker accepts, at most 200 messages ahead of the acknowledgements. */
async function flood(port: number, messages: Iterable<Message>): Promise<void> {
  const socket: Socket = connect(port, '127.0.0.1');
  const protocol = { protocolVersion: 5 } as const;
  const hello: IConnectPacket = {
    cmd: 'connect',
    protocolId: 'MQTT',
    ...protocol,
    clean: true,
    clientId: 'flood',
    keepalive: 0,
  };
  let acknowledged = 0;
  let wake = () => {};
  const reader = parser(protocol);
  reader.on('packet', ({ cmd }) => {
    if (cmd === 'puback') acknowledged++;
    wake();
  });
  socket.on('data', (chunk) => reader.parse(chunk));
  socket.write(generate(hello, protocol));
  await once(reader, 'packet');
  let sent = 0;
  for (const message of messages) {
    const messageId = (sent % 65_535) + 1;
    const publish = { cmd: 'publish', qos: 1, dup: false, retain: false, messageId, ...message } as const;
    if (!socket.write(generate(publish, protocol))) await once(socket, 'drain');
    sent++;
    while (sent - acknowledged > 200) await new Promise<void>((resolve) => (wake = resolve));
  }
  while (acknowledged < sent) await new Promise<void>((resolve) => (wake = resolve));
  socket.destroy();
}

/**
 * Publishes a reading of a sensor now and then.
 *
 * @returns a function that stops it and returns the longest time until a reading was stored
 */
async function watchSensor(context: TestContext, bench: Bench, url: string): Promise<() => Promise<number>> {
  const client = await bench.client();
  const waiting = new Map<number, number>();
  let longest = 0;
  const abort = new AbortController();
  const feed = await fetch(`${url}/live`, { signal: abort.signal });
  const listening = (async () => {
    let rest = '';
    for await (const chunk of feed.body!) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        for (const [number, since] of waiting) {
          if (!line.includes(`"value":${number}.5,`)) continue;
          longest = Math.max(longest, performance.now() - since);
          waiting.delete(number);
        }
      }
    }
  })().catch(() => {});
  let number = 0;
  const publish = () => {
    waiting.set(++number, performance.now());
    client.publish('sensors/normal/temperature', `${number}.5`, { qos: 1 });
  };
  const timer = setInterval(publish, 100);
  context.after(() => clearInterval(timer));
  return async () => {
    clearInterval(timer);
    const deadline = performance.now() + PROMPT_MS;
    while (waiting.size > 0 && performance.now() < deadline) await sleep(50);
    abort.abort();
    await listening;
    assert.equal(waiting.size, 0, `${waiting.size} of ${number} readings were not stored`);
    return longest;
  };
}

function* repeat<T>(times: number, make: (index: number) => T): Generator<T> {
  for (let index = 0; index < times; index++) yield make(index);
}

const tooLong = /the topic has \d+ bytes, and at most 1024 are taken.*shorter topic/;
const floods: Record<string, { readonly messages: () => Iterable<Message>; readonly detail: RegExp }> = {
  'long topics of one length': {
    messages: () => repeat(3000, (n) => ({ topic: `sensors/${n}-`.padEnd(65_000, 'x'), payload: '1' })),
    detail: tooLong,
  },
  'long topics in several scripts': {
    messages: () =>
      repeat(2500, (n) => {
        const topic = `sensors/${n}`.padEnd(18_000 + n, n % 2 === 0 ? 'ж' : '山');
        return { topic, payload: '1' };
      }),
    detail: tooLong,
  },
  'payloads of millions of values': {
    messages: () =>
      repeat(50, (n) => ({
        topic: `sensors/${n}/m`,
        payload: `{"a":[${(n % 2 === 0 ? '{},' : '[],').repeat(340_000)}0]}`,
      })),
    detail: /more than 120000 values in one payload/,
  },
  'lines of a hundred thousand fields': {
    messages: () => {
      const fields = Array.from({ length: 100_000 }, (_, index) => `f${index}=1`).join();
      return repeat(50, (n) => ({ topic: `sensors/${n}/m`, payload: `m ${fields}` }));
    },
    detail: /10001 readings in one payload/,
  },
};

for (const [name, { messages, detail }] of Object.entries(floods)) {
  test(`ingest stays within its memory limits while it receives ${name}`, {
    timeout: 240_000,
  }, async (context) => {
    const bench = await setUp(context);
    const ingest = await bench.start({ NODE_OPTIONS: `--max-old-space-size=${LIMIT / MIB / 2}` });
    const end = await watchSensor(context, bench, ingest.url);
    await flood(bench.broker.port, messages());
    const longest = await end();
    const ledger = await ingest.until(({ readings }) => readings.inFlight === 0, 60_000);
    assert.ok(ledger.balanced);
    const files = readdirSync(bench.directory).filter((file) => file.includes('.quarantine.db'));
    const disk = files.reduce((sum, file) => sum + statSync(join(bench.directory, file)).size, 0);
    const memory = peakResidentBytes(ingest.pid);
    context.diagnostic(
      `${(memory / MIB).toFixed()} MiB of memory, ${(disk / MIB).toFixed()} MiB of quarantine, a reading waited ${longest.toFixed()} ms`,
    );
    assert.ok(memory < LIMIT, `${memory} bytes of memory, ${LIMIT} allowed`);
    assert.ok(disk <= 64 * MIB, `${disk} bytes of quarantine`);
    assert.ok(longest < PROMPT_MS, `a reading waited ${longest} ms`);
    const { items } = (await (await fetch(`${ingest.url}/quarantine?limit=1000`)).json()) as {
      items: QuarantineDocument[];
    };
    const last = items[0]!;
    assert.match(last.detail, detail);
    if (detail !== tooLong) return;
    assert.match(last.topic, /^.{170,513}…$/);
    assert.equal(last.size, 1);
  });
}
