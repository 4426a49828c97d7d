import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { freePort, runProgram } from '@tidegauge/process';
import type { MissingDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { mosquittoTarget } from './broker-target.ts';
import type { CutTarget, Running } from './cut-target.ts';
import { checkHistory, fillHistory } from './history.ts';
import { Rounds } from './rounds.ts';
import { DEVICES, deviceOf, numberIn, type Payload, sequenceOf, Traffic } from './traffic.ts';

const TIDEGAUGE = fileURLToPath(new URL('../../../apps/tidegauge/src/main.ts', import.meta.url));
const DRAIN_MS = 120_000;
/** Readings of each device that wait for compaction at the start: for all cuts, and at least so many. */
const READINGS_PER_CUT = 150;
const LEAST_HISTORY = 3000;

const PAUSE_MS = 500;
/** A backup or a copy takes half a second. */
const ROUND_PAUSE_MS = 3000;
/** Ingest moves some twenty blocks in a second. */
const COMPACTION_PAUSE_MS = 50;

export const TARGETS = [
  'sqlite',
  'compaction',
  'json',
  'spool',
  'quarantine',
  'ledger',
  'backup',
  'copy',
  'mosquitto',
] as const;
export type TargetName = (typeof TARGETS)[number];

/**
 * @param conf further lines of mosquitto.conf
 * @param cuts how many there will be
 */
export function cutTarget(name: TargetName, conf: readonly string[], cuts = 0): CutTarget {
  switch (name) {
    case 'sqlite':
      return storeTarget(sqliteOn, ['readings.db', 'readings.db-wal']);
    case 'compaction':
      return compactionTarget(cuts);
    case 'json':
      return storeTarget(
        (disk) => `json:${join(disk, 'readings')}`,
        ['readings/readings/2026-01-01.jsonl', 'readings/marks.jsonl', 'readings/series.jsonl'],
      );
    case 'spool':
      return SPOOL;
    case 'quarantine':
      return QUARANTINE;
    case 'ledger':
      return LEDGER;
    case 'backup':
      return BACKUP;
    case 'copy':
      return COPY;
    case 'mosquitto':
      return mosquittoTarget(conf);
  }
}

/** Ingest that listens for sensors. An acknowledged message is in the store, the spool or the quarantine. */
async function startIngest(
  store: string,
  disk: string,
  payload: Payload,
  closers: Closers,
): Promise<Running> {
  const url = `mqtt://127.0.0.1:${await freePort()}`;
  const ingest = await startIngestProcess({ STORE: store, LISTEN: url, DATA_DIR: join(disk, 'data') });
  closers.add(() => ingest.stop());
  const source = await Traffic.start(url, payload);
  closers.add(() => source.stop());
  return { source, pid: ingest.pid, kill: () => ingest.kill() };
}

function storeTarget(storeOn: (disk: string) => string, files: readonly string[]): CutTarget {
  return {
    mustKeep: true,
    files,
    pauseMs: PAUSE_MS,
    start: (disk, closers) => startIngest(storeOn(disk), disk, 'reading', closers),
    found: (disk) => numbersIn(storeOn(disk)),
  };
}

/** SQLite while ingest moves old readings to blocks: all of these must be found too. */
function compactionTarget(cuts: number): CutTarget {
  const readings = Math.max(LEAST_HISTORY, READINGS_PER_CUT * cuts);
  const rows: number[] = [];
  return {
    mustKeep: true,
    files: ['readings.db', 'readings.db-wal'],
    pauseMs: COMPACTION_PAUSE_MS,
    isHeld: true,
    async start(disk, closers) {
      await fillHistory(`${sqliteOn(disk)}?synchronous=normal`, readings);
      return startIngest(sqliteOn(disk), disk, 'reading', closers);
    },
    async found(disk) {
      await checkHistory(sqliteOn(disk), readings);
      const database = new DatabaseSync(join(disk, 'readings.db'));
      rows.push(database.prepare('select count(*) as rows from readings').get()!.rows as number);
      database.close();
      return await numbersIn(sqliteOn(disk));
    },
    remark: () => `readings that were not in blocks: ${rows[0]} at the first cut, ${rows.at(-1)} at the last`,
  };
}

/** The store is locked by another process, so that ingest acknowledges from the spool. */
const SPOOL: CutTarget = {
  mustKeep: true,
  pauseMs: PAUSE_MS,
  files: [0, 1].map((number) => `data/spool/tidegauge-ingest/${String(number).padStart(12, '0')}.spool`),
  async start(disk, closers) {
    const file = join(provideFolder(closers), 'locked.db');
    const running = await startIngest(`sqlite:${file}?busy=200`, disk, 'reading', closers);
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
  mustKeep: true,
  pauseMs: PAUSE_MS,
  files: ['data/tidegauge-ingest.quarantine.db', 'data/tidegauge-ingest.quarantine.db-wal'],
  start: (disk, closers) => startIngest(sqliteOn(disk), disk, 'undecodable', closers),
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

/** Some numbers are left out: after the cut the ledger must name them, and those that the store lost, and no others. */
const LEDGER: CutTarget = {
  mustKeep: true,
  pauseMs: PAUSE_MS,
  files: ['data/tidegauge-ingest.ledger'],
  start: (disk, closers) => startIngest(sqliteOn(disk), disk, 'numbered', closers),
  async found(disk) {
    const data = join(disk, 'data');
    // The kernel is the same one, so ingest takes this for a kill. A torn end makes it compare the store, as after a cut.
    appendFileSync(join(data, 'tidegauge-ingest.ledger'), '\0');
    const env = { STORE: sqliteOn(disk), LISTEN: `mqtt://127.0.0.1:${await freePort()}`, DATA_DIR: data };
    const ingest = await startIngestProcess(env);
    try {
      const answer = await fetchFor('list what is missing', `${ingest.url}/ledger/missing?limit=1000`, {
        timeoutMs: DRAIN_MS,
      });
      const { missing } = (await answer.json()) as MissingDocument;
      const stored = await numbersIn(sqliteOn(disk));
      assert.deepEqual(
        missing.flatMap(({ device, ranges }) => ranges.map((range) => [device, ...range])).toSorted(),
        gapsOf(stored).toSorted(),
        'the ledger does not name what is missing',
      );
      return stored;
    } finally {
      await ingest.stop();
    }
  },
};

/** A reading is acknowledged when a backup that was made after it has ended. The newest backup must be restored. */
const BACKUP: CutTarget = {
  mustKeep: true,
  pauseMs: ROUND_PAUSE_MS,
  files: [],
  start: (disk, closers) =>
    startRounds((store) => ['backup', '--store', store, '--to', join(disk, 'backups')], closers),
  async found(disk) {
    const closers = new Closers();
    try {
      const backups = join(disk, 'backups');
      const store = `sqlite:${join(provideFolder(closers), 'restored.db')}`;
      const hasOne = existsSync(backups) && readdirSync(backups).some((name) => !name.endsWith('.partial'));
      if (!hasOne) return new Set();
      await runProgram(process.execPath, [TIDEGAUGE, 'restore', '--from', backups, '--store', store]);
      return await numbersIn(store);
    } finally {
      await closers.close();
    }
  },
};

/** A reading is acknowledged when a copy that began after it was stored has ended. */
const COPY: CutTarget = {
  mustKeep: true,
  pauseMs: ROUND_PAUSE_MS,
  files: ['readings.db', 'readings.db-wal'],
  start: (disk, closers) =>
    startRounds((store) => ['copy', '--from', store, '--to', sqliteOn(disk)], closers),
  found: async (disk) => (existsSync(join(disk, 'readings.db')) ? numbersIn(sqliteOn(disk)) : new Set()),
};

/** Programs that save a store, one after the other. The store is on another disk, and gets a reading before each of them. */
async function startRounds(
  program: (store: string) => readonly string[],
  closers: Closers,
): Promise<Running> {
  const url = `sqlite:${join(provideFolder(closers), 'source.db')}`;
  const store = await openStore(url);
  closers.add(() => store.close());
  const source = new Rounds(store, [TIDEGAUGE, ...program(url)]);
  closers.add(() => source.stop());
  return { source, pid: null, kill: () => source.stop() };
}

const sqliteOn = (disk: string): string => `sqlite:${join(disk, 'readings.db')}`;

/** The numbers that their devices counted between the first and the last one that is stored, and that are not: device, from, to. */
function gapsOf(stored: ReadonlySet<number>): (readonly [device: string, from: number, to: number])[] {
  const gaps: (readonly [string, number, number])[] = [];
  const last = new Map<string, number>();
  for (const number of [...stored].toSorted((one, two) => one - two)) {
    const device = deviceOf(number);
    const seq = sequenceOf(number);
    const before = last.get(device);
    if (before !== undefined && seq > before + 1) gaps.push([device, before + 1, seq - 1]);
    last.set(device, seq);
  }
  return gaps;
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
