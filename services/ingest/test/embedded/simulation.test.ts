// First: modules of ingest take functions of Node when they are loaded.
import '../simulation/world.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '@tidegauge/service';
import { seeded } from '@tidegauge/workload';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import { Spool } from '../../src/spool.ts';
import { encodeEntry } from '../../src/spool-entry.ts';
import { DATA, Disk } from '../simulation/disk.ts';
import { explore, reportOf } from '../simulation/explore.ts';
import { SPOOL } from '../simulation/ingest-process.ts';
import { MUTANTS } from '../simulation/mutants.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import { realTurn, useWorld } from '../simulation/world.ts';

const SCHEDULES = 300;
const MOST_SECONDS = 60;

const ENTRY = { source: 'mqtt', part: null, topic: 't', format: 'auto', received: 1 } as const;
const entryOf = (text: string) => ({ ...ENTRY, payload: Buffer.from(text) });
const LOGGER = createLogger('test', 'silent');
const openSpool = () => new Spool(SPOOL, 10_000, LOGGER);
const openLedger = () => new LedgerFile(`${DATA}/ledger`, LOGGER, 'kernel');
type Work = (spool: Spool, disk: Disk) => Promise<void>;

/** Runs `work` until it ends, or until it freezes the disk, which kills the process. Returns whether it was killed. */
async function run(work: Work, time: VirtualTime, disk: Disk): Promise<boolean> {
  const spool = openSpool();
  assert.deepEqual([...spool.recover()], []);
  const end = work(spool, disk).then(() => true);
  await realTurn();
  for (let timer = time.next(); timer !== null && !disk.isFrozen; timer = time.next()) {
    timer.run();
    await realTurn();
  }
  const isKilled = disk.isFrozen;
  assert.ok(isKilled || (await end));
  disk.onOperation = () => {};
  disk.endProcess();
  return isKilled;
}

interface TestWorld {
  readonly time: VirtualTime;
  readonly disk: Disk;
}

/** Does work in several worlds, one after the other. Each has its seed, from 0 on. */
async function inWorlds(
  count: number,
  work: (world: TestWorld, seed: number) => Promise<void> | void,
): Promise<void> {
  for (let seed = 0; seed < count; seed++) {
    const random = seeded(seed);
    const time = new VirtualTime(0, random.double);
    const disk = new Disk(time, random);
    useWorld({ time, disk: () => disk, random: random.double });
    try {
      await work({ time, disk }, seed);
    } finally {
      useWorld(null);
    }
  }
}

/** Ends the process and the kernel. */
function losePower({ time, disk }: TestWorld): void {
  time.endProcess('process');
  disk.endProcess();
  disk.cutPower();
}

/** Does work on many disks, and asserts that no message is recovered after a kill and after a power cut. */
async function leavesNothing(work: Work): Promise<void> {
  await inWorlds(200, async ({ time, disk }, seed) => {
    // The next process stores corrections without the spool.
    if (await run(work, time, disk)) assert.deepEqual([...openSpool().recover()], []);
    disk.cutPower();
    disk.free = Number.POSITIVE_INFINITY;
    assert.deepEqual([...openSpool().recover()], [], `seed ${seed}`);
  });
}

test('a removed segment does not return, also when the process was killed before the removal was synced', async () => {
  await leavesNothing(async (spool, disk) => {
    await spool.append([entryOf('1')]);
    const segment = (await spool.oldest())!;
    disk.onOperation = (what) => {
      if (what.startsWith('sync')) disk.isFrozen = true;
    };
    await spool.remove(segment);
  });
});

test('a segment is removed by the next call when the sync of its removal failed', async () => {
  await inWorlds(1, async ({ time, disk }) => {
    const work: Work = async (spool) => {
      await spool.append([entryOf('1')]);
      const segment = (await spool.oldest())!;
      disk.failsSync = true;
      await assert.rejects(spool.remove(segment), /EIO/);
      disk.failsSync = false;
      await spool.remove(segment);
      assert.ok(spool.empty);
    };
    assert.equal(await run(work, time, disk), false);
  });
});

test('messages of a new spool are in it after a power cut', async () => {
  await inWorlds(20, async ({ time, disk }, seed) => {
    await run(async (spool) => void (await spool.append([entryOf('1')])), time, disk);
    disk.cutPower();
    assert.equal([...openSpool().recover()].length, 1, `seed ${seed}`);
  });
});

test('a device that is new while the file of the ledger is replaced is in it after a power cut', async () => {
  await inWorlds(20, async ({ time, disk }, seed) => {
    const until = async (operation: string) => {
      let isDone = false;
      disk.onOperation = (what) => {
        isDone ||= what === operation;
      };
      for (; !isDone; await realTurn()) time.next()!.run();
    };
    const file = openLedger();
    file.recover();
    file.start(0);
    file.checked();
    await until('sync ledger.new');
    file.ledger.record('d', 'b', 1);
    file.flush(0);
    await until('rename ledger.new');
    losePower({ time, disk });
    const next = openLedger();
    next.recover();
    assert.deepEqual([...next.ledger.names()], ['d'], `seed ${seed}`);
  });
});

test('after a power cut, a file of the ledger that could not be written is known to be incomplete', async () => {
  await inWorlds(20, ({ time, disk }, seed) => {
    const file = openLedger();
    file.recover();
    file.start();
    disk.free = 0;
    file.ledger.record('d', 'b', 1);
    file.flush(0);
    losePower({ time, disk });
    assert.equal(openLedger().recover().isIncomplete, true, `seed ${seed}`);
  });
});

test('the new name of such a file is synced as soon as syncs succeed again', async () => {
  await inWorlds(20, ({ time, disk }, seed) => {
    const file = openLedger();
    file.recover();
    file.start();
    disk.failsSync = true;
    file.ledger.record('d', 'b', 1);
    file.flush(0);
    disk.failsSync = false;
    file.ledger.record('d', 'b', 2);
    file.flush(0);
    losePower({ time, disk });
    assert.equal(openLedger().recover().isIncomplete, true, `seed ${seed}`);
  });
});

test('messages that a full disk did not take do not return', async () => {
  await leavesNothing(async (spool, disk) => {
    disk.free = encodeEntry(entryOf('1')).length + 1;
    const kept = await Promise.all(['1', '2'].map((text) => spool.append([entryOf(text)])));
    assert.deepEqual(kept, [false, false]);
  });
});

test(`${SCHEDULES} schedules keep what ingest promises`, async () => {
  const found = await explore(1, { seconds: MOST_SECONDS, schedules: SCHEDULES });
  assert.equal(found.failure, null, await reportOf(found));
  assert.ok(found.schedules > 100, `${found.schedules} schedules`);
});

test('a seed gives the same trace again', async () => {
  const mutant = MUTANTS[0]!;
  const runs = [];
  for (let run = 0; run < 2; run++) runs.push(await explore(1, { seconds: MOST_SECONDS }, mutant));
  const [first, second] = runs.map(({ failure }) => failure);
  assert.ok((first?.lines.length ?? 0) > 0);
  assert.deepEqual(first, second);
});

for (const mutant of MUTANTS) {
  test(`a planted mistake is found: ${mutant.name}`, async () => {
    const { failure } = await explore(mutant.firstSeed ?? 1, { seconds: MOST_SECONDS }, mutant);
    assert.notEqual(failure, null, `not found in ${MOST_SECONDS} s`);
  });
}
