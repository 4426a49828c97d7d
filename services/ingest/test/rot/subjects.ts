import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Reading } from '@tidegauge/readings';
import { createLogger, type Logger } from '@tidegauge/service';
import { checkStore, openStore } from '@tidegauge/storage';
import { type Entries, entriesOf, identityOf, type RotSubject, type Use } from '@tidegauge/test-support/rot';
import { checkFiles } from '../../src/check/check-files.ts';
import { jsonEntry } from '../../src/ledger/ledger-entries.ts';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import { Quarantine } from '../../src/quarantine.ts';
import type { QuarantineEntry } from '../../src/quarantine-rows.ts';
import { RelayLog } from '../../src/relay/relay-log.ts';
import { encodeRelayed, RELAYED } from '../../src/relay/relayed-lines.ts';
import type { ClockState } from '../../src/sensor-clocks.ts';
import { SensorClocksFile } from '../../src/sensor-clocks-file.ts';
import { Spool } from '../../src/spool.ts';
import { encodeEntry, type SpoolEntry } from '../../src/spool-entry.ts';

/** 2026-11-18T11:06:40Z. */
const T0 = 1_795_000_000_000_000;
const SECOND = 1_000_000;
/** A device some of whose readings are deleted. */
const DELETED = 'site/sensor-3';
const NEW_TOPIC = 'sensors/new/boiler/temperature';

/**
 * All kinds of files of a data directory, each with some hundred entries.
 *
 * @param folder an empty directory for the files in use
 */
export async function rotSubjects(folder: string): Promise<readonly RotSubject[]> {
  return [
    // The newest 20,000 readings of all series stay where blocks are not made.
    await sqliteSubject(folder, 'SQLite store, blocks', readingsOf(22_000, 1), 21_000),
    await sqliteSubject(folder, 'SQLite store, rows', readingsOf(1000), 750),
    await jsonSubject(folder),
    spoolSubject(folder),
    relaySubject(folder),
    await ledgerSubject(folder),
    clocksSubject(folder),
    quarantineSubject(folder),
  ];
}

/** A logger, and the messages of its warnings and errors. */
export function recordingLogger(): { logger: Logger; messages: string[] } {
  const messages: string[] = [];
  const keep = (_: unknown, message: string) => {
    messages.push(message);
  };
  const logger: Logger = Object.assign(Object.create(createLogger('test', 'silent')), {
    warn: keep,
    error: keep,
  });
  return { logger, messages };
}

function readingsOf(count: number, devices = 4): Reading[] {
  return Array.from({ length: count }, (_, index) => ({
    device: `site/sensor-${index % devices}`,
    metric: 'temperature',
    time: T0 + index * SECOND,
    value: index % 50 === 0 ? `state ${index}` : Math.round(2000 + 300 * Math.sin(index / 90)) / 100,
    received: T0 + index * SECOND + 4000 + (index % 7) * 1000,
    boot: 'a1b2',
    seq: index,
    quality: 'ok',
  }));
}

/** @param first readings of the earlier version. With blocks, entries are the readings in them only */
async function sqliteSubject(
  folder: string,
  name: string,
  readings: readonly Reading[],
  first: number,
): Promise<RotSubject> {
  const file = join(folder, 'store.db');
  const url = `sqlite:${file}?synchronous=normal`;
  const earlierFile = join(folder, 'earlier.db');
  const add = async (part: readonly Reading[]) => {
    const store = await openStore(url);
    await store.readings.write(part);
    while (await store.compact());
    await store.close();
  };
  await add(readings.slice(0, first));
  copyFileSync(file, earlierFile);
  await add(readings);
  const sound = readFileSync(file);
  const earlier = readFileSync(earlierFile);
  const before = blocksEnd(file);
  const { entries } = await useStore(url, before);
  return {
    name,
    sound,
    earlier,
    entries,
    async use(data) {
      for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      writeFileSync(file, data);
      return useStore(url, before);
    },
    async check(data) {
      for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      writeFileSync(file, data);
      return isStoreDamaged(url);
    },
  };
}

async function isStoreDamaged(url: string): Promise<boolean> {
  for await (const _ of (await checkStore(url, async () => {}))!) return true;
  return false;
}

/** @param name of the file, whose end shows what it is */
async function isFileDamaged(folder: string, name: string, data: Buffer): Promise<boolean> {
  const directory = join(folder, 'checked');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  writeFileSync(join(directory, name), data);
  for await (const _ of checkFiles(
    directory,
    async () => {},
    () => {},
  ))
    return true;
  return false;
}

/** The time up to which all readings are in blocks; infinite without blocks. */
function blocksEnd(file: string): number {
  const db = new DatabaseSync(file);
  const { before } = db
    .prepare(
      'select min(last) + 1 as before from (select max(last) as last from tidegauge_blocks group by series)',
    )
    .get()!;
  db.close();
  return before === null ? Number.POSITIVE_INFINITY : Number(before);
}

async function jsonSubject(folder: string): Promise<RotSubject> {
  const [kept, used] = [join(folder, 'kept'), join(folder, 'used')];
  const store = await openStore(`json:${kept}`);
  const readings = readingsOf(1500);
  const corrected = readings.slice(20, 40).filter(({ device }) => device !== DELETED);
  for (let start = 0; start < 1000; start += 100)
    await store.readings.write(readings.slice(start, start + 100));
  const [day] = readdirSync(join(kept, 'readings'));
  const earlier = readFileSync(join(kept, 'readings', day!));
  await store.readings.write(readings.slice(1000));
  await store.readings.write(corrected.map((reading) => ({ ...reading, value: -1 })));
  await store.readings.delete({ device: DELETED, from: T0, to: T0 + 100 * SECOND });
  const entries = await entriesOf(store);
  await store.close();
  const sound = readFileSync(join(kept, 'readings', day!));
  return {
    name: 'JSON store',
    sound,
    earlier,
    entries,
    earlierEntries: new Map(readings.map((reading) => [identityOf(reading), JSON.stringify(reading)])),
    async use(data) {
      rmSync(used, { recursive: true, force: true });
      cpSync(kept, used, { recursive: true });
      writeFileSync(join(used, 'readings', day!), data);
      return useStore(`json:${used}`);
    },
    async check(data) {
      writeFileSync(join(used, 'readings', day!), data);
      return isStoreDamaged(`json:${used}`);
    },
  };
}

async function useStore(url: string, before?: number): Promise<Use> {
  const { logger, messages } = recordingLogger();
  const store = await openStore(url, { logger });
  try {
    return { entries: await entriesOf(store, before), isReported: messages.length > 0 };
  } finally {
    await store.close();
  }
}

export const MESSAGES: readonly SpoolEntry[] = Array.from({ length: 500 }, (_, index) => ({
  source: 'mqtt',
  part: null,
  topic: `sensors/site-${index % 5}/boiler/temperature`,
  format: 'auto',
  payload: Uint8Array.from(Buffer.from(`${'21.5 '.repeat(index % 40)}${index}`)),
  received: T0 + index,
}));

function textOf({ source, part, topic, format, payload, received }: SpoolEntry): string {
  return JSON.stringify([source, part, topic, format, Buffer.from(payload).toString('base64'), received]);
}

function mapOf(messages: Iterable<SpoolEntry>): Entries {
  return new Map(Array.from(messages, (entry) => [String(entry.received), textOf(entry)]));
}

/** A directory with one segment. */
function placeSegment(folder: string, data: Buffer): { directory: string; file: string } {
  const directory = join(folder, 'spool');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  const file = join(directory, '000000000000.spool');
  writeFileSync(file, data);
  return { directory, file };
}

/** What a segment of messages is. @param first messages of the earlier version */
function segmentOf(
  folder: string,
  messages: readonly SpoolEntry[],
  first: number,
): Omit<RotSubject, 'name' | 'use'> {
  const frames = messages.map(encodeEntry);
  return {
    check: (data) => isFileDamaged(folder, '1.spool', data),
    sound: Buffer.concat(frames),
    earlier: Buffer.concat(frames.slice(0, first)),
    entries: mapOf(messages),
  };
}

function spoolSubject(folder: string): RotSubject {
  return {
    name: 'spool',
    ...segmentOf(folder, MESSAGES, 300),
    async use(data) {
      const { directory, file } = placeSegment(folder, data);
      const { logger, messages } = recordingLogger();
      const spool = new Spool(directory, 1e9, logger);
      const entries = mapOf(spool.recover());
      const added: SpoolEntry = { ...MESSAGES[0]!, topic: NEW_TOPIC, received: 1 };
      assert.equal(await spool.append([added]), true);
      await spool.close();
      assert.equal(messages.length > 0, existsSync(`${file}.damaged`), 'what is removed is kept');
      const next = new Spool(directory, 1e9, logger);
      assert.deepEqual(mapOf(next.recover()), new Map([...entries, ['1', textOf(added)]]));
      assert.ok(messages.length <= 1, 'the damage is removed at once');
      await next.close();
      return { entries, isReported: messages.length > 0 };
    },
  };
}

function relaySubject(folder: string): RotSubject {
  const readings = readingsOf(2000);
  const relayed = Array.from({ length: 200 }, (_, index) => {
    const [payload] = encodeRelayed(readings.slice(index * 10, index * 10 + 10));
    return {
      source: 'http',
      topic: '',
      format: RELAYED,
      payload: payload!,
      part: null,
      received: T0 + index,
    } as const;
  });
  return {
    name: 'log of the relay',
    ...segmentOf(folder, relayed, 120),
    async use(data) {
      const { directory } = placeSegment(folder, data);
      const { logger, messages } = recordingLogger();
      const log = new RelayLog(directory, 1e9, 'http://centre', logger);
      try {
        return { entries: mapOf((await log.oldest())?.entries ?? []), isReported: messages.length > 0 };
      } finally {
        await log.close();
      }
    },
  };
}

async function ledgerSubject(folder: string): Promise<RotSubject> {
  const path = join(folder, 'ledger');
  const { logger } = recordingLogger();
  const file = new LedgerFile(path, logger, 'boot');
  file.recover();
  file.start();
  for (let seq = 0; seq < 4000; seq++) {
    if (seq % 7 === 0) continue;
    file.ledger.record(`site/sensor-${seq % 200}`, 'b', seq);
    if (seq % 10 === 1) file.flush(T0);
  }
  file.flush(T0);
  const earlier = readFileSync(path);
  for (let seq = 4000; seq < 5000; seq++) {
    file.ledger.record(`site/sensor-${seq % 200}`, 'b', seq);
    file.flush(T0);
  }
  const entries = devicesOf(file);
  const highest = new Map(Array.from(file.ledger.names(), (name) => [name, file.ledger.highest(name)]));
  await file.close();
  const sound = readFileSync(path);
  return {
    name: 'ledger',
    check: (data) => isFileDamaged(folder, 'a.ledger', data),
    sound,
    earlier,
    entries,
    async use(data) {
      writeFileSync(path, data);
      rmSync(`${path}.damaged`, { force: true });
      const { logger: own, messages } = recordingLogger();
      const next = new LedgerFile(path, own, 'boot');
      next.recover();
      const found = devicesOf(next);
      // An earlier state of a device is completed from the store, or by what its sensor sends again.
      const isEarlier = (name: string) => next.ledger.highest(name) <= highest.get(name)!;
      const present = [...found].filter(([name, text]) => text === entries.get(name) || !isEarlier(name));
      next.start();
      await next.close();
      const isReported = messages.length > 0;
      assert.equal(isReported, existsSync(`${path}.damaged`), 'a damaged file is kept');
      return { entries: new Map(present), isReported };
    },
  };
}

function devicesOf({ ledger }: LedgerFile): Entries {
  return new Map(Array.from(ledger.states(), (state) => [state[1], JSON.stringify(state)]));
}

function clocksSubject(folder: string): RotSubject {
  const path = join(folder, 'clocks');
  const states = Array.from({ length: 300 }, (_, index): ClockState => {
    const first = 100 * SECOND + index;
    const last = first + 60 * SECOND;
    const receipt = T0 + index;
    return {
      device: `site/sensor-${index}`,
      metric: 'temperature',
      boot: null,
      shift: receipt - first,
      epoch: 0,
      first,
      firstReceived: receipt,
      last,
      lastReceived: receipt + 60 * SECOND,
      contents: [[`${index}`, receipt - first]],
      receipts: [[receipt, receipt - first]],
    };
  });
  const frames = states.map((state) => jsonEntry(1, state));
  const clocks = (data: Buffer): Use => {
    writeFileSync(path, data);
    const { logger, messages } = recordingLogger();
    const file = new SensorClocksFile(path, logger);
    const entries = new Map(
      Array.from(file.clocks.states(), (state) => [state.device, JSON.stringify(state)]),
    );
    file.close();
    const again = recordingLogger();
    new SensorClocksFile(path, again.logger).close();
    assert.deepEqual(again.messages, [], 'the file is usable again');
    return { entries, isReported: messages.length > 0 };
  };
  const sound = Buffer.concat(frames);
  return {
    name: 'clocks',
    check: (data) => isFileDamaged(folder, 'a.clocks', data),
    sound,
    earlier: Buffer.concat(frames.slice(0, 200)),
    entries: clocks(sound).entries,
    use: async (data) => clocks(data),
  };
}

export const quarantined = (topic: string, payload: Uint8Array): QuarantineEntry => ({
  source: 'mqtt',
  topic,
  part: null,
  payload,
  format: 'auto',
  received: T0 + 1,
  reason: 'malformed',
  detail: 'no',
  position: 'byte 0',
  readings: 1,
});

function quarantineSubject(folder: string): RotSubject {
  const file = join(folder, 'quarantine.db');
  const items = Array.from({ length: 200 }, (_, index) =>
    quarantined(`s/${index}`, Buffer.alloc((index % 20) * 300, index)),
  );
  const add = (part: readonly QuarantineEntry[]) => {
    const quarantine = new Quarantine(file, 'i', 1 << 22);
    quarantine.add(part);
    const entries = itemsOf(quarantine);
    quarantine.close();
    return entries;
  };
  add(items.slice(0, 150));
  const earlier = readFileSync(file);
  const entries = add(items.slice(150));
  const sound = readFileSync(file);
  return {
    name: 'quarantine',
    check: (data) => isFileDamaged(folder, 'a.quarantine.db', data),
    sound,
    earlier,
    entries,
    async use(data) {
      for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      writeFileSync(file, data);
      const { logger, messages } = recordingLogger();
      const quarantine = new Quarantine(file, 'i', 1 << 22, logger);
      try {
        const found = itemsOf(quarantine);
        quarantine.add([quarantined(NEW_TOPIC, Buffer.alloc(10))]);
        assert.equal(quarantine.newest(1, null)[0]?.document.topic, NEW_TOPIC);
        return { entries: found, isReported: messages.length > 0 };
      } finally {
        quarantine.close();
      }
    },
  };
}

function itemsOf(quarantine: Quarantine): Entries {
  const items = new Map<string, string>();
  for (const { id } of quarantine.newest(1000, null)) {
    const { payload, ...entry } = quarantine.entry(id)!;
    items.set(String(id), JSON.stringify({ ...entry, payload: Buffer.from(payload).toString('base64') }));
  }
  return items;
}
