import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { now, type Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { DAMAGED, openStore, type Store, StoreError } from '@tidegauge/storage';
import fc from 'fast-check';
import { LedgerCheck, recoverLedger } from '../../src/ledger/check-ledger.ts';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import { SequenceLedger } from '../../src/ledger/sequence-ledger.ts';

const logger = createLogger('test', 'silent');
const HOUR = 3_600_000_000;
const NO_CHECK = { checkFrom: null, late: new Map(), isIncomplete: false, wasUnused: false };

type Arrival = readonly [device: string, boot: string, seq: number, isAgain?: boolean];

function directory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'tidegauge-ledger-'));
  context.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** A file that was opened as ingest opens it. The processes of one kernel boot lose nothing when they are killed. */
function open(path: string, kernel: string | null = 'boot-1') {
  const file = new LedgerFile(path, logger, kernel);
  const recovery = file.recover();
  file.start();
  return { file, recovery };
}

function record(file: LedgerFile, arrivals: readonly Arrival[], oldest = now()): void {
  for (const each of arrivals) file.ledger.record(...each);
  file.flush(oldest);
}

/** What operators see of a ledger. */
function shown(ledger: SequenceLedger) {
  const { devices, missing, duplicates, givenUp, unjudged, gapsOpened } = ledger;
  const { list, truncated } = ledger.list();
  const sorted = list.toSorted((a, b) => `${a.device} ${a.boot}`.localeCompare(`${b.device} ${b.boot}`));
  return { devices, missing, duplicates, givenUp, unjudged, gapsOpened, list: sorted, truncated };
}

const arrivals = fc.array(
  fc.tuple(
    fc.constantFrom('a', 'b/ж', 'c'),
    fc.constantFrom('1', '2', '3', '4', '5'),
    fc.oneof(fc.integer({ min: 0, max: 30 }), fc.maxSafeNat()),
    fc.boolean(),
  ),
  { maxLength: 30 },
);

test('for any arrivals, a ledger that is killed or stopped between them is the same as one that runs on', async (context) => {
  const path = join(directory(context), 'l');
  const batches = fc.array(fc.tuple(arrivals, fc.constantFrom('go on', 'kill', 'stop', 'renew', 'doubt')), {
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(batches, async (steps) => {
      rmSync(path, { force: true });
      const expected = new SequenceLedger();
      let { file } = open(path);
      for (const [batch, then] of steps) {
        for (const each of batch) expected.record(...each);
        record(file, batch);
        if (then === 'stop') await file.close();
        if (then === 'doubt') for (const ledger of [expected, file.ledger]) ledger.doubt('a');
        if (then === 'renew' || then === 'doubt') file.start();
        if (then === 'go on') continue;
        const next = open(path);
        assert.deepEqual(next.recovery, NO_CHECK);
        file = next.file;
        assert.deepEqual(shown(file.ledger), shown(expected));
      }
      assert.deepEqual(shown(file.ledger), shown(expected));
    }),
    { numRuns: 60 },
  );
});

test('a file that is cut at any byte restores the ledger as it was after one of the numbers, and needs a check', (context) => {
  const path = join(directory(context), 'l');
  const { file } = open(path);
  const states = [shown(file.ledger)];
  const start = statSync(path).size;
  for (let seq = 0; seq < 12; seq++) {
    const batch: Arrival[] = [
      ['a', '1', 2 * seq],
      ['b', seq < 6 ? '1' : '2', seq],
    ];
    for (const each of batch) {
      file.ledger.record(...each);
      states.push(shown(file.ledger));
    }
    file.flush(now());
  }
  const bytes = readFileSync(path);
  for (let cut = start; cut < bytes.length; cut++) {
    for (const tail of [Buffer.alloc(0), Buffer.alloc(bytes.length - cut)]) {
      writeFileSync(path, Buffer.concat([bytes.subarray(0, cut), tail]));
      const { file: next, recovery } = open(path, 'boot-2');
      assert.notEqual(recovery.checkFrom, null);
      assert.ok(
        states.some((state) => JSON.stringify(state) === JSON.stringify(shown(next.ledger))),
        `cut at ${cut}`,
      );
    }
  }
});

test('what sensors declared gone is known after a kill, a stop and a new file', async (context) => {
  const path = join(directory(context), 'l');
  let { file } = open(path);
  record(file, [
    ['a', '1', 0],
    ['a', '1', 9],
    ['b', '1', 0],
  ]);
  assert.ok(file.ledger.declare('a', '1', 4));
  file.flush(Number.POSITIVE_INFINITY);
  for (const then of ['kill', 'stop', 'renew', 'kill']) {
    if (then === 'stop') await file.close();
    if (then === 'renew') file.start();
    else file = open(path).file;
    assert.deepEqual([file.ledger.missing, file.ledger.gone, file.ledger.healed], [8, 3, 0], then);
  }
  record(file, [['a', '1', 2]]);
  ({ file } = open(path));
  assert.deepEqual([file.ledger.missing, file.ledger.gone, file.ledger.healed], [7, 2, 1]);
});

for (const [what, damage] of [
  ['a changed byte in its beginning', (bytes: Buffer) => bytes.with(20, bytes[20]! ^ 1)],
  ['another kind of file', () => Buffer.from('SQLite format 3\0'.padEnd(4096))],
  ['no bytes', () => Buffer.alloc(0)],
  ['a cut state', (bytes: Buffer) => bytes.subarray(0, 60)],
] as const) {
  test(`a ledger with ${what} is kept as damaged, and the ledger begins again`, (context) => {
    const path = join(directory(context), 'l');
    const { file } = open(path);
    record(file, [
      ['a', '1', 0],
      ['a', '1', 5],
    ]);
    const bytes = damage(readFileSync(path));
    writeFileSync(path, bytes);
    const { file: next, recovery } = open(path);
    assert.deepEqual(recovery, NO_CHECK);
    assert.deepEqual(shown(next.ledger), shown(new SequenceLedger()));
    assert.deepEqual(readFileSync(`${path}.damaged`), Buffer.from(bytes));
    record(next, [
      ['a', '1', 7],
      ['a', '1', 9],
    ]);
    assert.equal(open(path).file.ledger.missing, 1);
  });
}

test('entries of a later format are not read, and the file is kept', (context) => {
  const path = join(directory(context), 'l');
  open(path);
  // {"format":1} becomes {"format":9}, with its checksum.
  const bytes = readFileSync(path);
  const at = bytes.indexOf('"format":1');
  bytes[at + 9] = '9'.charCodeAt(0);
  const { crc32 } = process.getBuiltinModule('node:zlib');
  bytes.writeUInt32LE(crc32(bytes.subarray(8, 8 + bytes.readUInt32LE(0))), 4);
  writeFileSync(path, bytes);
  open(path);
  assert.deepEqual(readFileSync(`${path}.damaged`), bytes);
});

test('the file is written again while numbers arrive, and stays bounded', async (context) => {
  const path = join(directory(context), 'l');
  const { file } = open(path);
  const expected = new SequenceLedger();
  let largest = 0;
  for (let round = 0; round < 500; round++) {
    const batch = Array.from(
      { length: 3000 },
      (_, device): Arrival => [`site/probe-${device}`, 'boot', 3 * round + (device % 3)],
    );
    for (const each of batch) expected.record(...each);
    record(file, batch);
    await nextTurn();
    largest = Math.max(largest, statSync(path).size);
  }
  assert.ok(largest < 5 * 1024 * 1024, `${largest} bytes`);
  assert.ok(statSync(path).size < largest, 'it was written again');
  assert.deepEqual(shown(open(path).file.ledger), shown(expected));
});

test('readings that are older than the file expects move the start of a check, before they are acknowledged', (context) => {
  const path = join(directory(context), 'l');
  const recover = () => new LedgerFile(path, logger, 'another').recover();
  const isUsual = (from: number) => from < now() - HOUR / 2 && from > now() - 2 * HOUR;
  const { file } = open(path);
  record(file, [['a', '1', 0]], now() - HOUR / 2);
  assert.ok(isUsual(recover().checkFrom!));
  file.ledger.record('a', '1', 1);
  file.flush(now(), new Map([['a', now() - 100 * HOUR]]));
  const { checkFrom, late } = recover();
  assert.ok(isUsual(checkFrom!), 'that of other devices stays');
  assert.deepEqual([...late.keys()], ['a']);
  assert.ok(late.get('a')! < now() - 700 * HOUR);
  record(file, [['a', '1', 2]], now() - 100 * HOUR);
  assert.ok(recover().checkFrom! < now() - 700 * HOUR);
});

test('a device is late until it sent no older reading between two syncs, and many lower the start of a check for all', async (context) => {
  const path = join(directory(context), 'l');
  const recover = () => new LedgerFile(path, logger, 'another').recover();
  const { file } = open(path);
  const old = now() - 100 * HOUR;
  const send = (devices: readonly string[]) => {
    for (const device of devices) file.ledger.record(device, '1', now());
    file.flush(now(), new Map(devices.map((device) => [device, old])));
  };
  send(['a', 'b']);
  await file.sync();
  send(['a']);
  await file.sync();
  assert.deepEqual([...recover().late.keys()], ['a']);
  assert.ok(recover().checkFrom! > old);
  send(Array.from({ length: 2100 }, (_, index) => `c${index}`));
  assert.ok(recover().checkFrom! < old);
});

test('a client with many late devices does not lower the start of a check for others', async (context) => {
  const path = directory(context);
  const store = await openStore(`sqlite:${join(path, 's.db')}`);
  context.after(() => store.close());
  const { file } = open(join(path, 'l'));
  const old = now() - 100 * HOUR;
  const devices = Array.from({ length: 3000 }, (_, index) => `greedy/${index}`);
  for (const device of [...devices, 'honest/a']) file.ledger.record(device, '1', 0);
  file.flush(now(), new Map(devices.map((device) => [device, old])));
  file.flush(now(), new Map([['honest/a', old]]));
  const before = new LedgerFile(join(path, 'l'), logger, 'another');
  const { checkFrom, late } = before.recover();
  assert.ok(checkFrom! > old);
  assert.deepEqual([late.size, late.has('honest/a')], [502, true]);
  // Numbers of a device that is not kept alone are found in the store too.
  await store.readings.write([{ ...reading(1), device: 'greedy/2999', time: old }]);
  copyFileSync(join(path, 'l'), join(path, 'copy'));
  const after = new LedgerFile(join(path, 'copy'), logger, 'another');
  await recoverLedger(after, store, false, logger);
  assert.equal(after.ledger.highest('greedy/2999'), 1);
  // Devices that are no longer late make room again.
  for (const seq of [1, 2]) {
    record(file, [['honest/a', '1', seq]]);
    await file.sync();
  }
  const more = Array.from({ length: 400 }, (_, index) => `greedy/more-${index}`);
  for (const device of more) file.ledger.record(device, '1', 0);
  file.flush(now(), new Map(more.map((device) => [device, old])));
  const { late: lateThen } = new LedgerFile(join(path, 'l'), logger, 'another').recover();
  assert.deepEqual(new Set(lateThen.keys()), new Set(more));
});

test('a file that could not be written is checked from a day earlier on, because it lacks the times of late readings', (context) => {
  const path = join(directory(context), 'l');
  record(open(path).file, [['a', '1', 0]]);
  const recover = () => new LedgerFile(path, logger, 'another').recover();
  const usual = recover().checkFrom!;
  renameSync(path, `${path}.incomplete`);
  assert.deepEqual(recover(), {
    ...{ checkFrom: usual - 24 * HOUR, late: new Map() },
    ...{ isIncomplete: true, wasUnused: false },
  });
});

test('devices that a file lacks because it could not be written are read from the store', async (context) => {
  const path = directory(context);
  const store = await openStore(`sqlite:${join(path, 's.db')}`);
  context.after(() => store.close());
  record(open(join(path, 'l')).file, []);
  renameSync(join(path, 'l'), join(path, 'l.incomplete'));
  // An answer to a request, number 2, is sent after all others.
  await store.readings.write([1, 4, 5].map((seq) => reading(seq)));
  const file = new LedgerFile(join(path, 'l'), logger, 'boot-1');
  await recoverLedger(file, store, false, logger);
  for (const seq of [2, 6]) file.ledger.record('a', '1', seq);
  assert.equal(file.ledger.missing, 0);
});

function reading(seq: number, boot = '1', age = 0): Reading {
  const time = now() - age + seq;
  return { device: 'a', metric: 'm', time, value: seq, received: now(), boot, seq, quality: 'ok' };
}

test('after a power cut, a number is missing only when the store does not have it', async (context) => {
  const path = directory(context);
  const store = await openStore(`sqlite:${join(path, 's.db')}`);
  context.after(() => store.close());
  const file = new LedgerFile(join(path, 'l'), logger, 'boot-1');
  file.start();
  record(file, [
    ['a', '1', 0],
    ['a', '1', 1],
    ['a', '1', 4],
    ['silent', '1', 7],
  ]);
  // Numbers 3, 5 to 8, 10 and two of the next boot were stored, and their entries are lost.
  const stored = [0, 1, 3, 4, 5, 6, 7, 8, 10].map((seq) => reading(seq));
  await store.readings.write([...stored, reading(100, '2'), reading(102, '2')]);
  const after = new LedgerFile(join(path, 'l'), logger, 'boot-2');
  const { checkFrom } = after.recover();
  await new LedgerCheck(
    after,
    store,
    { from: checkFrom!, late: new Map(), isFinal: true, wasUnused: false, lacksDevices: false },
    logger,
  ).start();
  record(after, [
    ['a', '2', 104],
    ['silent', '1', 9],
    ['a', '1', 12],
  ]);
  const ranges = Object.fromEntries(
    after.ledger.list().list.map((gap) => [`${gap.device} ${gap.boot}`, gap.ranges]),
  );
  assert.deepEqual(ranges, {
    'a 1': [
      [2, 2],
      [9, 9],
      [11, 11],
    ],
    'a 2': [
      [101, 101],
      [103, 103],
    ],
    'silent 1': [[8, 8]],
  });
  assert.equal(after.ledger.gapsOpened, 2 + 4);
  assert.equal(after.ledger.duplicates, 0);
});

test('a device of which a part is damaged is in doubt, and others are compared with the store', async (context) => {
  const path = directory(context);
  const sound = await openStore(`sqlite:${join(path, 's.db')}`);
  context.after(() => sound.close());
  await sound.readings.write([0, 1, 2].map((seq) => reading(seq)));
  const range: Store['readings']['range'] = (query) => {
    if (query.device === 'damaged') throw new StoreError('UNAVAILABLE', 'block 1', { hint: DAMAGED });
    return sound.readings.range(query);
  };
  const store = { ...sound, readings: { ...sound.readings, range } } as Store;
  record(open(join(path, 'l')).file, [
    ['damaged', '1', 0],
    ['a', '1', 0],
  ]);
  const after = new LedgerFile(join(path, 'l'), logger, 'boot-2');
  assert.notEqual(await recoverLedger(after, store, false, logger), null);
  assert.equal(after.ledger.isUnchecked, false);
  for (const device of ['damaged', 'a']) after.ledger.record(device, '1', 4);
  assert.deepEqual(
    after.ledger.list().list.map((gap) => [gap.device, ...gap.ranges.flat()]),
    [['a', 3, 3]],
  );
  assert.equal(after.ledger.unjudged, 1);
});

for (const [end, isFinal] of [
  ['stopped', true],
  ['stopped', false],
  ['killed', true],
  ['killed', false],
] as const) {
  test(`what another board stored is not missing when ingest was ${end} and comes back to its first board${isFinal ? '' : ', with filters'}`, async (context) => {
    const path = directory(context);
    const store = await openStore(`sqlite:${join(path, 's.db')}`);
    context.after(() => store.close());
    context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const { file } = open(join(path, 'l'));
    record(file, [
      ['a', '1', 0],
      ['a', '1', 2],
      ['quiet', '1', 0],
    ]);
    if (end === 'stopped') await file.close();
    assert.deepEqual(
      new LedgerFile(join(path, 'l'), logger, 'boot-1').recover(),
      NO_CHECK,
      'a short restart',
    );

    // The other board misses number 5, and everything while nobody runs.
    context.mock.timers.tick(60_000);
    await store.readings.write([3, 4, 6].map((seq) => reading(seq)));
    const back = new LedgerFile(join(path, 'l'), logger, 'boot-1');
    const { checkFrom, late, ...rest } = back.recover();
    assert.deepEqual(rest, { isIncomplete: false, wasUnused: true });
    await new LedgerCheck(
      back,
      store,
      { from: checkFrom!, late, isFinal, wasUnused: true, lacksDevices: false },
      logger,
    ).start();
    for (const [device, seq] of [
      ['a', 9],
      ['quiet', 2],
    ] as const)
      back.ledger.record(device, '1', seq);
    const ranges = back.ledger.list().list.map((gap) => [gap.device, ...gap.ranges.flat()]);
    // With filters, the store does not decide what else of device a the other board received, and no gap is judged.
    const ofA = isFinal ? ['a', 1, 1, 5, 5, 7, 8] : ['a'];
    assert.deepEqual(ranges.toSorted(), [ofA, ['quiet', 1, 1]]);
    assert.equal(back.ledger.unjudged, isFinal ? 0 : 1);
  });
}

test('where the store cannot decide, the next gap is counted as not judged, and later ones as missing', async (context) => {
  const path = directory(context);
  const store = await openStore(`sqlite:${join(path, 's.db')}`);
  context.after(() => store.close());
  const file = new LedgerFile(join(path, 'l'), logger);
  const { ledger } = file;
  for (const seq of [0, 1]) ledger.record('a', '1', seq);
  await new LedgerCheck(
    file,
    store,
    { late: new Map(), from: 0, isFinal: false, wasUnused: false, lacksDevices: false },
    logger,
  ).start();
  for (const seq of [5, 7]) ledger.record('a', '1', seq);
  const { missing, unjudged, givenUp } = ledger;
  assert.deepEqual({ missing, unjudged, givenUp }, { missing: 1, unjudged: 1, givenUp: 0 });
});

/** A store that does not answer while `state.isAway`. */
async function awayStore(context: TestContext, path: string) {
  const real = await openStore(`sqlite:${path}`);
  context.after(() => real.close());
  const state = { isAway: true };
  const range: Store['readings']['range'] = (query) => {
    if (state.isAway) throw new StoreError('UNAVAILABLE', 'away');
    return real.readings.range(query);
  };
  const readings = Object.assign(Object.create(real.readings), { range });
  return { state, store: Object.create(real, { readings: { value: readings } }) as Store };
}

for (const isFinal of [true, false])
  test(`a store that answers late is compared then, also after kills${isFinal ? '' : ', although it does not decide'}`, async (context) => {
    const path = directory(context);
    const { state, store } = await awayStore(context, join(path, 's.db'));
    const before = open(join(path, 'l'), 'boot-1').file;
    record(
      before,
      [0, 1, 4, 6].map((seq) => ['a', '1', seq]),
    );
    // Of these, 3 and 8 were not recorded before the power cut.
    await store.readings.write([0, 1, 3, 4, 6, 8].map((seq) => reading(seq)));

    const processes: LedgerCheck[] = [];
    context.after(() => {
      for (const check of processes) check.stop();
    });
    const next = async () => {
      const file = new LedgerFile(join(path, 'l'), logger, 'boot-2');
      const { checkFrom, late, wasUnused } = file.recover();
      assert.ok(checkFrom !== null, 'it must still be compared');
      const check = new LedgerCheck(
        file,
        store,
        { from: checkFrom, late, isFinal, wasUnused, lacksDevices: false },
        logger,
      );
      processes.push(check);
      await check.start();
      return { file, check };
    };
    await next();
    const { file, check } = await next();
    assert.match(check.trouble ?? '', /not compared/);
    record(file, [['a', '1', 9]]);
    assert.deepEqual(file.ledger.open('a').length, isFinal ? 1 : 0);

    state.isAway = false;
    while (check.trouble !== null) await sleep(5);
    // Where the store does not decide, no gap before the first number after the doubt is judged.
    const ranges = file.ledger.list().list.flatMap((gap) => gap.ranges);
    assert.deepEqual(
      ranges,
      isFinal
        ? [
            [2, 2],
            [5, 5],
            [7, 7],
          ]
        : [],
    );
    assert.equal(file.ledger.duplicates, 0);
    await file.close();
    assert.deepEqual(new LedgerFile(join(path, 'l'), logger, 'boot-2').recover(), NO_CHECK);
  });

test('a number from the spool that was recorded before is no duplicate', () => {
  const ledger = new SequenceLedger();
  for (const seq of [5, 6, 9]) ledger.record('a', '1', seq);
  for (const seq of [4, 6, 8, 9, 10]) ledger.confirm('a', '1', seq);
  ledger.confirm('b', '1', 0);
  const { missing, duplicates, devices } = ledger;
  assert.deepEqual({ missing, duplicates, devices }, { missing: 1, duplicates: 0, devices: 2 });
});

test('a device of the spool that a lost file had stays in doubt, also after a restart', (context) => {
  const path = join(directory(context), 'l');
  const { file } = open(path);
  file.ledger.confirm('a', '1', 2);
  file.flush(now());
  const { ledger } = open(path).file;
  assert.equal(ledger.isPartial, false);
  for (const seq of [5, 7]) ledger.record('a', '1', seq);
  assert.deepEqual(ledger.list().list[0]?.ranges, [[6, 6]]);
});
