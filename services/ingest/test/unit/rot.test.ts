import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createLogger, type Logger } from '@tidegauge/service';
import fc from 'fast-check';
import { FRAME_HEADER, sealFrame } from '../../src/frames.ts';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import type { SequenceLedger } from '../../src/ledger/sequence-ledger.ts';
import { Quarantine, type QuarantineEntry } from '../../src/quarantine.ts';
import { SensorClocksFile } from '../../src/sensor-clocks-file.ts';
import { Spool } from '../../src/spool.ts';
import { encodeEntry, type SpoolEntry } from '../../src/spool-entry.ts';
import { type Change, change, changed, PAGE } from '../rot.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-rot-'));
after(() => rmSync(folder, { recursive: true }));
let folders = 0;

function freshPath(name: string): string {
  folders += 1;
  return join(folder, `${folders}-${name}`);
}

/** A logger, and the messages of its warnings and errors. */
function recordingLogger(): { logger: Logger; messages: string[] } {
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

/** A cut between two frames looks like a file to which less was appended: nothing in the file shows it. */
function isShorterFile({ kind, at }: Change, frames: readonly Buffer[]): boolean {
  if (kind !== 'cut') return false;
  const left = Math.floor(at * Buffer.concat(frames).length);
  let end = 0;
  for (const frame of frames) {
    if (end === left) return true;
    end += frame.length;
  }
  return false;
}

const MESSAGES: readonly SpoolEntry[] = Array.from({ length: 60 }, (_, index) => ({
  source: 'mqtt',
  part: null,
  topic: `sensors/site-${index % 5}/boiler/temperature`,
  format: 'auto',
  payload: Uint8Array.from(Buffer.from(`${'21.5 '.repeat(index % 40)}${index}`)),
  received: 1_795_000_000_000_000 + index,
}));
const plain = (entry: SpoolEntry): SpoolEntry => ({ ...entry, payload: Uint8Array.from(entry.payload) });

test('for any change of a spool segment, its other messages are used, and the change is reported', async () => {
  const frames = MESSAGES.map(encodeEntry);
  const sound = Buffer.concat(frames);
  const earlier = Buffer.concat(frames.slice(0, 30));
  const property = fc.asyncProperty(change, async (each) => {
    const directory = freshPath('spool');
    const { logger, messages } = recordingLogger();
    const first = new Spool(directory, 1e9, logger);
    for (const _ of first.recover()) assert.fail('a new spool is empty');
    assert.equal(await first.append(MESSAGES), true);
    await first.close();
    const file = join(directory, '000000000000.spool');
    assert.deepEqual(readFileSync(file), sound);
    const data = changed(sound, earlier, each);
    writeFileSync(file, data);

    const second = new Spool(directory, 1e9, logger);
    const found = [...second.recover()].map(plain);
    const known = new Set(found.map(({ received }) => received));
    assert.deepEqual(
      found,
      MESSAGES.filter(({ received }) => known.has(received)),
      'no message differs from the one that was written',
    );
    const isReported = messages.length === 1 && existsSync(`${file}.damaged`);
    assert.ok(found.length === MESSAGES.length || isReported || isShorterFile(each, frames));
    if (each.kind === 'bit' || each.kind === 'byte') assert.ok(found.length > 0 || each.at < 0.01);
    assert.equal(await second.append([MESSAGES[0]!]), true);
    await second.close();

    const third = new Spool(directory, 1e9, logger);
    assert.deepEqual([...third.recover()].map(plain), [...found, MESSAGES[0]!]);
    assert.ok(messages.length <= 1, 'the damage is removed at once');
    await third.close();
  });
  await fc.assert(property, { numRuns: 100, seed: 1 });
});

test('a damaged message in the middle of a spool segment does not take the later ones with it', () => {
  const directory = freshPath('spool');
  mkdirSync(directory);
  const { logger } = recordingLogger();
  const frames = MESSAGES.map(encodeEntry);
  // The body of one message, and then also of the next one.
  for (const damaged of [[7], [7, 8]]) {
    const file = join(directory, '000000000000.spool');
    const rotten = frames.map((frame, index) => {
      const copy = Buffer.from(frame);
      if (damaged.includes(index)) copy[copy.length - 1]! ^= 4;
      return copy;
    });
    writeFileSync(file, Buffer.concat(rotten));
    const found = [...new Spool(directory, 1e9, logger).recover()].map(plain);
    assert.deepEqual(
      found,
      MESSAGES.filter((_, index) => !damaged.includes(index)),
    );
    const kept = Buffer.concat(rotten.filter((_, index) => damaged.includes(index)));
    assert.deepEqual(readFileSync(`${file}.damaged`), kept);
  }
});

test('a frame inside the payload of a damaged message is not taken for a message', () => {
  const directory = freshPath('spool');
  mkdirSync(directory);
  const { logger } = recordingLogger();
  const forged = encodeEntry({ ...MESSAGES[0]!, topic: 'sensors/of-another/door' });
  const carrier = encodeEntry({ ...MESSAGES[1]!, payload: forged });
  // The length of the carrier is damaged, so nothing shows where the next message begins.
  carrier.writeUInt32LE(carrier.length * 1000, 0);
  writeFileSync(
    join(directory, '000000000000.spool'),
    Buffer.concat([encodeEntry(MESSAGES[2]!), carrier, encodeEntry(MESSAGES[3]!)]),
  );
  const found = [...new Spool(directory, 1e9, logger).recover()].map(plain);
  assert.deepEqual(found, [MESSAGES[2]]);
});

test('for any change of a ledger file, the ledger is the same, or the change is reported, and ingest can start', async () => {
  const path = freshPath('ledger');
  const { logger } = recordingLogger();
  const file = new LedgerFile(path, logger, 'boot');
  file.recover();
  file.start();
  for (let seq = 0; seq < 400; seq++) {
    if (seq % 7 === 0) continue;
    file.ledger.record(`site/sensor-${seq % 20}`, 'b', seq);
    file.flush(1_795_000_000_000_000);
  }
  const earlier = readFileSync(path);
  for (let seq = 400; seq < 800; seq++) file.ledger.record(`site/sensor-${seq % 20}`, 'b', seq);
  const whole = shown(file.ledger);
  await file.close();
  const sound = readFileSync(path);
  const frames = framesOf(sound);
  const property = fc.asyncProperty(change, async (each) => {
    writeFileSync(path, changed(sound, earlier, each));
    rmSync(`${path}.damaged`, { force: true });
    const recording = recordingLogger();
    const next = new LedgerFile(path, recording.logger, 'boot');
    next.recover();
    const isSame = shown(next.ledger) === whole;
    const isReported = recording.messages.length === 1 && existsSync(`${path}.damaged`);
    assert.ok(isSame || isReported || isShorterFile(each, frames));
    next.start();
    await next.close();
  });
  await fc.assert(property, { numRuns: 100, seed: 2 });
});

/** What operators see of a ledger. */
function shown(ledger: SequenceLedger): string {
  const { devices, missing, duplicates } = ledger;
  const list = ledger.list().list.toSorted((a, b) => (a.device < b.device ? -1 : 1));
  return JSON.stringify({ devices, missing, duplicates, list });
}

/** The frames of a file without damage. */
function framesOf(data: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < data.length; ) {
    const end = at + FRAME_HEADER + data.readUInt32LE(at);
    frames.push(data.subarray(at, end));
    at = end;
  }
  return frames;
}

test('a damaged part of the file of clocks is reported, and the file is usable again', () => {
  const path = freshPath('clocks');
  const frame = Buffer.concat([Buffer.alloc(8), Buffer.from([1]), Buffer.from('{}')]);
  const damaged = sealFrame(Buffer.from(frame));
  damaged[9]! ^= 1;
  writeFileSync(path, damaged);
  const { logger, messages } = recordingLogger();
  new SensorClocksFile(path, logger).close();
  assert.deepEqual(
    messages.map((message) => message.includes('torn or damaged')),
    [true],
  );
  new SensorClocksFile(path, logger).close();
  assert.equal(messages.length, 1);
});

const item = (topic: string, size: number): QuarantineEntry => ({
  source: 'mqtt',
  topic,
  part: null,
  payload: Buffer.alloc(size, 0xff),
  format: 'auto',
  received: 1_795_000_000_000_001,
  reason: 'malformed',
  detail: 'no',
  position: 'byte 0',
  readings: 1,
});

/** A quarantine of some pages, closed, and its bytes. */
function writtenQuarantine(): { file: string; data: Buffer } {
  const file = freshPath('quarantine.db');
  const quarantine = new Quarantine(file, 'i', 1 << 22);
  quarantine.add(Array.from({ length: 200 }, (_, index) => item(`s/${index}`, (index % 20) * 300)));
  quarantine.close();
  return { file, data: readFileSync(file) };
}

/** Opens a quarantine as ingest does, and stores an item. Returns the reports. */
function use(file: string): string[] {
  const { logger, messages } = recordingLogger();
  const quarantine = new Quarantine(file, 'i', 1 << 22, logger);
  quarantine.add([item('new', 10)]);
  assert.equal(quarantine.newest(1, null)[0]?.document.topic, 'new');
  quarantine.close();
  return messages;
}

test('a quarantine takes new items, whichever of its pages is empty', () => {
  const { file, data } = writtenQuarantine();
  let reports = 0;
  for (let at = 0; at < data.length; at += PAGE) {
    const rotten = Buffer.from(data);
    rotten.fill(0, at, at + PAGE);
    writeFileSync(file, rotten);
    reports += use(file).length;
  }
  assert.ok(reports >= 3, `the schema, the items and their index are found damaged: ${reports}`);
});

test('a quarantine that cannot be opened is kept under another name, and no number is used twice', () => {
  const { file, data } = writtenQuarantine();
  const magic = Buffer.from(data);
  magic[0]! ^= 1;
  const readOnly = Buffer.from(data);
  readOnly[18] = 9;
  for (const rotten of [magic, readOnly, data.subarray(0, 3 * PAGE + 100)]) {
    writeFileSync(file, rotten);
    assert.equal(use(file).length, 1);
    assert.deepEqual(readFileSync(`${file}.damaged`).subarray(0, 16), rotten.subarray(0, 16));
    const again = new Quarantine(file, 'i', 1 << 22);
    assert.ok(again.newest(1, null)[0]!.id > 200);
    assert.equal(again.total, 1);
    again.close();
  }
});
