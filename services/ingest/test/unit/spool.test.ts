import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLogger } from '@tidegauge/service';
import fc from 'fast-check';
import { SOURCES } from '../../src/raw-message.ts';
import { Spool } from '../../src/spool.ts';
import { eachEntry, encodeEntry, type SpoolEntry, soundBytes } from '../../src/spool-entry.ts';

const logger = createLogger('test', 'silent');

async function directoryOf(context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-spool-'));
  context.after(() => rm(directory, { recursive: true }));
  return join(directory, 'spool');
}

function open(directory: string, maxBytes = 1e9): { spool: Spool; found: SpoolEntry[] } {
  const spool = new Spool(directory, maxBytes, logger);
  return { spool, found: [...spool.recover()].map(plain) };
}

const decodeEntries = (segment: Buffer) => ({
  entries: [...eachEntry(segment)],
  sound: soundBytes(segment),
});
const plain = (entry: SpoolEntry): SpoolEntry => ({ ...entry, payload: Uint8Array.from(entry.payload) });
const message = (received: number, size = 10): SpoolEntry => ({
  source: 'mqtt',
  part: null,
  topic: 'sensors/site-3/boiler/temperature',
  format: 'auto',
  payload: new Uint8Array(size).fill(received % 256),
  received,
});
const segments = (directory: string) => readdirSync(directory).filter((name) => name.endsWith('.spool'));

const part = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 70 })
  .map((meant) => ({ of: meant.length, places: [...meant.keys()].filter((place) => meant[place]) }));
const entry = fc.record(
  {
    topic: fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.toWellFormed()),
    format: fc.constantFrom('auto', 'plain', 'senml-json'),
    payload: fc.uint8Array({ maxLength: 200 }),
    received: fc.maxSafeNat(),
    source: fc.constantFrom(...SOURCES),
    part: fc.option(part),
  },
  { noNullPrototype: true },
);

test('entries are read back unchanged, and the complete ones of a segment that is cut anywhere', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const property = fc.property(fc.array(entry, { maxLength: 8 }), share, (entries, cut) => {
    const encoded = entries.map(encodeEntry);
    const segment = Buffer.concat(encoded);
    assert.deepEqual(decodeEntries(segment).entries.map(plain), entries);
    const length = Math.floor(segment.length * cut);
    const { entries: whole, sound } = decodeEntries(segment.subarray(0, length));
    assert.deepEqual(whole.map(plain), entries.slice(0, whole.length));
    assert.equal(sound, Buffer.concat(encoded.slice(0, whole.length)).length);
    const next = encoded[whole.length]?.length ?? Number.POSITIVE_INFINITY;
    assert.ok(sound <= length && sound + next > length);
  });
  fc.assert(property);
});

test('a segment of version 0.1.0 is read, and complete messages from the broker are still written in its format', () => {
  // received 5 (f64), format `auto`, topic `s/a/t`, payload `21.5`; made by that version.
  const old = Buffer.from('18000000a0168f2100000000000014400405006175746f732f612f7432312e35', 'hex');
  const { entries, sound } = decodeEntries(old);
  assert.equal(sound, old.length);
  const [entry] = entries.map(plain);
  const expected = { source: 'mqtt', topic: 's/a/t', format: 'auto', received: 5, part: null } as const;
  assert.deepEqual(entry, { ...expected, payload: Uint8Array.from(Buffer.from('21.5')) });
  assert.deepEqual(encodeEntry(entry!), old);
});

test('a flipped bit, or zeros where a write was torn, end the readable part', () => {
  const first = encodeEntry(message(1));
  const second = encodeEntry(message(2));
  for (let bit = 0; bit < second.length * 8; bit++) {
    const broken = Buffer.from(second);
    broken[bit >> 3]! ^= 1 << (bit & 7);
    const { entries, sound } = decodeEntries(Buffer.concat([first, broken]));
    assert.equal(entries.length, 1, `bit ${bit}`);
    assert.equal(sound, first.length);
  }
  assert.equal(decodeEntries(Buffer.concat([first, Buffer.alloc(4096)])).entries.length, 1);
});

test('appended entries are there for the next process, in order, also those of concurrent callers', async (context) => {
  const directory = await directoryOf(context);
  const { spool } = open(directory);
  const batches = Array.from({ length: 50 }, (_, batch) => [message(2 * batch), message(2 * batch + 1)]);
  const kept = await Promise.all(batches.map((batch) => spool.append(batch)));
  assert.ok(kept.every(Boolean));
  assert.equal(spool.since, 0);
  await spool.close();
  const next = open(directory);
  assert.deepEqual(next.found, batches.flat());
  assert.equal(next.spool.bytes, spool.bytes);
  await next.spool.close();
});

test('segments are returned oldest first, and none is left after all were removed', async (context) => {
  const directory = await directoryOf(context);
  const { spool } = open(directory);
  const big = Array.from({ length: 12 }, (_, index) => message(index, 1024 * 1024));
  for (const one of big) assert.equal(await spool.append([one]), true);
  assert.ok(segments(directory).length > 1);
  const read: SpoolEntry[] = [];
  for (let segment = await spool.oldest(); segment !== null; segment = await spool.oldest()) {
    assert.equal(spool.since, segment.since);
    read.push(...(await spool.read(segment)));
    await spool.remove(segment);
  }
  assert.deepEqual(
    read.map(({ received }) => received),
    big.map(({ received }) => received),
  );
  assert.equal(spool.bytes, 0);
  assert.ok(spool.empty);
  assert.deepEqual(readdirSync(directory), []);
});

test('a full spool refuses whole batches and keeps its entries', async (context) => {
  const directory = await directoryOf(context);
  const size = encodeEntry(message(1)).length;
  const { spool } = open(directory, 3 * size);
  assert.equal(await spool.append([message(1), message(2)]), true);
  assert.equal(await spool.append([message(3), message(4)]), false);
  const both = await Promise.all([spool.append([message(5)]), spool.append([message(6)])]);
  assert.deepEqual(both, [true, false]);
  await spool.close();
  assert.deepEqual(
    open(directory).found.map(({ received }) => received),
    [1, 2, 5],
  );
});

test('the bound counts what is being written', async (context) => {
  const directory = await directoryOf(context);
  const size = encodeEntry(message(1)).length;
  const { spool } = open(directory, size);
  const first = spool.append([message(1)]);
  // The write begins, and ends in a later turn of the event loop.
  await Promise.resolve();
  assert.deepEqual(await Promise.all([first, spool.append([message(2)])]), [true, false]);
  assert.equal(spool.bytes, size);
  await spool.close();
});

test('a torn tail is cut after the last complete entry and kept in a file, and later segments are read', async (context) => {
  const directory = await directoryOf(context);
  const first = open(directory).spool;
  await first.append([message(1), message(2)]);
  await first.close();
  const second = open(directory).spool;
  await second.append([message(3)]);
  await second.close();
  const [torn] = segments(directory);
  const file = join(directory, torn!);
  const whole = readFileSync(file).length;
  truncateSync(file, whole - 3);
  const again = open(directory);
  assert.deepEqual(
    again.found.map(({ received }) => received),
    [1, 3],
  );
  assert.equal(readFileSync(`${file}.damaged`).length, whole / 2 - 3);
  assert.equal(readFileSync(file).length, whole / 2);
  await again.spool.close();
});

test('a segment that another program damaged is an error, not a silent loss', async (context) => {
  const directory = await directoryOf(context);
  const { spool } = open(directory);
  await spool.append([message(1)]);
  const segment = (await spool.oldest())!;
  const file = join(directory, segment.file);
  const data = readFileSync(file);
  data[20]! ^= 1;
  writeFileSync(file, data);
  await assert.rejects(spool.read(segment), /000000000000\.spool is damaged at byte 0/);
  appendFileSync(file, 'more');
  await assert.rejects(spool.read(segment), /damaged/);
});

test('a directory that cannot be used is an error that names the setting', async (context) => {
  const directory = await directoryOf(context);
  writeFileSync(directory, 'a file');
  assert.throws(() => open(directory), /the spool .* cannot be opened: .*: check SPOOL_DIR and DATA_DIR/);
});
