import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { PAGE, tallyRot } from '@tidegauge/test-support/rot';
import { sealFrame } from '../../src/frames.ts';
import { Quarantine } from '../../src/quarantine.ts';
import { SensorClocksFile } from '../../src/sensor-clocks-file.ts';
import { Spool } from '../../src/spool.ts';
import { encodeEntry, type SpoolEntry } from '../../src/spool-entry.ts';
import { MESSAGES, quarantined, recordingLogger, rotSubjects } from '../rot/subjects.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-rot-'));
after(() => rmSync(folder, { recursive: true }));
let folders = 0;

function freshPath(name: string): string {
  folders += 1;
  return join(folder, `${folders}-${name}`);
}

const plain = (entry: SpoolEntry): SpoolEntry => ({ ...entry, payload: Uint8Array.from(entry.payload) });

/** Of 1,000 changes, see `npm run bench -- rot`. */
const CHANGES = 40;
/** SQLite finds a damaged structure only. */
const UNPROTECTED = ['SQLite store, blocks', 'SQLite store, rows'];
/** Changes after which a file can look like one to which less was appended: the last line of JSON may be incomplete. */
const shortening = (name: string) => (name === 'JSON store' ? ['cut', 'old', 'page'] : ['cut']);

test('no change of a file becomes a wrong value without a report, and few an older state', async (context) => {
  const directory = join(folder, 'subjects');
  mkdirSync(directory);
  for (const subject of await rotSubjects(directory)) {
    if (UNPROTECTED.includes(subject.name)) continue;
    await context.test(subject.name, async () => {
      const { found, harmless, older, wrong } = await tallyRot(subject, CHANGES, 1);
      assert.deepEqual(wrong, {});
      const unexpected = Object.keys(older).filter((kind) => !shortening(subject.name).includes(kind));
      assert.deepEqual(unexpected, []);
      assert.ok(found + harmless > CHANGES / 2);
    });
  }
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

const item = (topic: string, size: number) => quarantined(topic, Buffer.alloc(size, 0xff));

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

test('a damaged item of the quarantine is not replayed, and the others are', () => {
  const { file } = writtenQuarantine();
  const db = new DatabaseSync(file);
  db.exec(
    "UPDATE quarantine SET topic = 's/of-another' WHERE id = 7; UPDATE quarantine SET crc = NULL WHERE id = 8",
  );
  db.close();
  const quarantine = new Quarantine(file, 'i', 1 << 22);
  assert.throws(() => quarantine.entry(7), /i\.7 is not what was stored/);
  assert.equal(quarantine.soundEntry(7), null);
  assert.equal(quarantine.soundEntry(6)?.topic, 's/5');
  assert.equal(quarantine.soundEntry(8)?.topic, 's/7', 'an item of version 0.2.0 has no checksum');
  quarantine.close();
});
