import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startEmbeddedBroker, startMosquitto } from '@tidegauge/lab';
import type { AnyBroker } from '@tidegauge/lab/any-broker';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { freePort, runProgram } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import { DEVICES, numberIn, type Payload } from './traffic.ts';

const DRAIN_MS = 120_000;
/** A broker that delivers nothing for this time does not have the rest of the messages. */
const SILENT_MS = 30_000;
const SESSION = { clientId: 'power-cuts', clean: false, reconnectPeriod: 0 } as const;
const TOPIC = 'sensors/power-cuts/#';
const END = 'end';

export interface Running {
  /** What sensors publish to. */
  readonly url: string;
  readonly pid: number;
  /** Ends the process with SIGKILL, which is sent before the first wait. */
  kill(): Promise<void>;
}

/** A process that is killed, or whose files are on a disk of which the power is cut. */
export interface CutTarget {
  readonly payload: Payload;
  /** Whether a loss is a failure. It is none where the program only measures what another one loses. */
  readonly mustKeep: boolean;
  /** Files that it writes in place, relative to its disk: any of these can get a torn write. */
  readonly files: readonly string[];
  /** Starts it on an empty disk. */
  start(disk: string, closers: Closers): Promise<Running>;
  /** The numbers of all messages that are found on a disk after the cut or the kill; null when the session is lost. */
  found(disk: string): Promise<ReadonlySet<number> | null>;
}

export const TARGETS = ['sqlite', 'json', 'spool', 'quarantine', 'mosquitto'] as const;
export type TargetName = (typeof TARGETS)[number];

/** @param conf further lines of mosquitto.conf */
export function cutTarget(name: TargetName, conf: readonly string[]): CutTarget {
  switch (name) {
    case 'sqlite':
      return storeTarget((disk) => `sqlite:${join(disk, 'readings.db')}`, ['readings.db', 'readings.db-wal']);
    case 'json':
      return storeTarget(
        (disk) => `json:${join(disk, 'readings')}`,
        ['readings/readings/2026-01-01.jsonl', 'readings/marks.jsonl', 'readings/series.jsonl'],
      );
    case 'spool':
      return SPOOL;
    case 'quarantine':
      return QUARANTINE;
    case 'mosquitto':
      return mosquittoTarget(conf);
  }
}

/** Ingest that listens for sensors. An acknowledged message is in the store, the spool or the quarantine. */
async function startIngest(store: string, disk: string, closers: Closers): Promise<Running> {
  const url = `mqtt://127.0.0.1:${await freePort()}`;
  const ingest = await startIngestProcess({ STORE: store, LISTEN: url, DATA_DIR: join(disk, 'data') });
  closers.add(() => ingest.stop());
  return { url, pid: ingest.pid, kill: () => ingest.kill() };
}

function storeTarget(storeOn: (disk: string) => string, files: readonly string[]): CutTarget {
  return {
    payload: 'reading',
    mustKeep: true,
    files,
    start: (disk, closers) => startIngest(storeOn(disk), disk, closers),
    found: (disk) => numbersIn(storeOn(disk)),
  };
}

/** The store is locked by another process, so that ingest acknowledges from the spool. */
const SPOOL: CutTarget = {
  payload: 'reading',
  mustKeep: true,
  files: [0, 1].map((number) => `data/spool/tidegauge-ingest/${String(number).padStart(12, '0')}.spool`),
  async start(disk, closers) {
    const file = join(provideFolder(closers), 'locked.db');
    const running = await startIngest(`sqlite:${file}?busy=200`, disk, closers);
    const lock = new DatabaseSync(file);
    lock.exec('begin immediate');
    closers.add(async () => lock.close());
    return running;
  },
  async found(disk) {
    const closers = new Closers();
    try {
      const store = `sqlite:${join(provideFolder(closers), 'replayed.db')}`;
      const broker = await startEmbeddedBroker({ port: 0 });
      closers.add(() => broker.close());
      const env = { STORE: store, BROKER: broker.url, DATA_DIR: join(disk, 'data') };
      // Ingest uses the new store as it is, so that it contains what the spool has kept.
      rmSync(join(disk, 'data', 'tidegauge-ingest.sqlite.identity'));
      const ingest = await startIngestProcess(env);
      closers.add(() => ingest.stop());
      await ingest.until(({ readings }) => readings.spooled === 0 && readings.inFlight === 0, DRAIN_MS);
      return await numbersIn(store);
    } finally {
      await closers.close();
    }
  },
};

const QUARANTINE: CutTarget = {
  payload: 'undecodable',
  mustKeep: true,
  files: ['data/tidegauge-ingest.quarantine.db', 'data/tidegauge-ingest.quarantine.db-wal'],
  start: (disk, closers) => startIngest(`sqlite:${join(disk, 'readings.db')}`, disk, closers),
  async found(disk) {
    const quarantine = new DatabaseSync(join(disk, 'data', 'tidegauge-ingest.quarantine.db'));
    try {
      const rows = quarantine.prepare('select payload from quarantine').all();
      return new Set(rows.map(({ payload }) => numberIn(Buffer.from(payload as Uint8Array))));
    } finally {
      quarantine.close();
    }
  },
};

/** @param conf further lines of mosquitto.conf */
export function mosquittoTarget(conf: readonly string[]): CutTarget {
  return brokerTarget((directory) => startMosquitto({ directory, persistence: true, conf }));
}

/**
 * A broker whose subscriber is not connected, so that it keeps all messages.
 *
 * @param launch starts it with its data in a directory, which can be missing
 */
export function brokerTarget(launch: (directory: string) => Promise<AnyBroker>): CutTarget {
  const launchOn = (disk: string): Promise<AnyBroker> => launch(join(disk, 'broker'));
  return {
    payload: 'reading',
    mustKeep: false,
    files: [],
    async start(disk, closers) {
      const broker = await launchOn(disk);
      closers.add(() => broker.stop());
      const subscriber = await mqtt.connectAsync(broker.url, SESSION);
      await subscriber.subscribeAsync(TOPIC, { qos: 1 });
      await subscriber.endAsync();
      // A stop saves the session. mosquitto does not sync the directory after that.
      await broker.restart();
      await runProgram('sync', ['-f', disk]);
      return { url: broker.url, pid: broker.pid, kill: () => broker.kill() };
    },
    async found(disk) {
      const broker = await launchOn(disk);
      try {
        return await queuedAt(broker.url);
      } finally {
        await broker.stop();
      }
    },
  };
}

/**
 * Takes all messages of the session. They come in their order, so the last one is the one that is published here. A
 * broker that has lost the session has none of them: the result is null.
 */
async function queuedAt(url: string): Promise<ReadonlySet<number> | null> {
  const numbers = new Set<number>();
  let hasSession = true;
  const ended = Promise.withResolvers<void>();
  const subscriber = mqtt.connect(url, SESSION);
  const silence = setTimeout(() => {
    if (subscriber.connected) ended.resolve();
    else ended.reject(new Error('the broker did not accept its subscriber'));
  }, SILENT_MS);
  subscriber.on('message', (_topic, payload) => {
    silence.refresh();
    const text = payload.toString();
    if (text === END) ended.resolve();
    else numbers.add((JSON.parse(text) as { readonly v: number }).v);
  });
  subscriber.on('error', ended.reject);
  subscriber.on('close', () => ended.reject(new Error('the broker closed the connection')));
  subscriber.on('connect', ({ sessionPresent }) => {
    hasSession = sessionPresent;
    if (sessionPresent) subscriber.publish(TOPIC.replace('#', END), END, { qos: 1 });
    else ended.resolve();
  });
  try {
    await ended.promise;
    return hasSession ? numbers : null;
  } finally {
    clearTimeout(silence);
    await subscriber.endAsync(true);
  }
}

async function numbersIn(url: string): Promise<ReadonlySet<number>> {
  const numbers = new Set<number>();
  const store = await openStore(url);
  try {
    for (const device of DEVICES) {
      for await (const { value } of store.readings.range({
        device,
        order: 'asc',
        limit: Number.MAX_SAFE_INTEGER,
      })) {
        numbers.add(numberIn(value));
      }
    }
    return numbers;
  } finally {
    await store.close();
  }
}
