import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { createLogger } from '@tidegauge/service';
import { RelayLog } from '../../src/relay/relay-log.ts';
import { encodeRelayed, RELAYED } from '../../src/relay/relayed-lines.ts';
import type { SpoolEntry } from '../../src/spool-entry.ts';
import { series } from '../relay-node.ts';

const DAY_US = 86_400_000_000;
const DAY = 20_000;
const logger = createLogger('test', 'silent');

function directoryOf(context: TestContext): string {
  const folder = temporaryDirectory('relay-log');
  context.after(() => folder.remove());
  return join(folder.path, 'log');
}

/** Entries of about 64 KiB with readings of one day. */
const entriesOf = (day: number, count = 2000): SpoolEntry[] =>
  [...encodeRelayed(series('a', count, day * DAY_US))].map((payload) => ({
    source: 'http',
    topic: '',
    format: RELAYED,
    payload,
    part: null,
    received: day * DAY_US,
  }));

test('what waits is there for the next process, in order, until it is removed', async (context) => {
  const directory = directoryOf(context);
  const first = new RelayLog(directory, 1e9, 'http://centre', logger);
  for (const day of [DAY, DAY + 1]) await first.append(entriesOf(day));
  assert.equal(first.since, DAY * DAY_US);
  await first.close();
  const second = new RelayLog(directory, 1e9, 'http://centre', logger);
  const oldest = await second.oldest();
  assert.ok(oldest !== null);
  assert.deepEqual([...new Set(oldest.entries.map(({ received }) => received / DAY_US))], [DAY, DAY + 1]);
  await second.remove(oldest.segment);
  assert.equal(await second.oldest(), null);
  assert.deepEqual(second.lost, []);
  await second.close();
  assert.deepEqual(readdirSync(directory), ['state.json']);
});

test('beyond its bound the oldest readings are dropped, and their days are known until they were compared', async (context) => {
  const directory = directoryOf(context);
  const log = new RelayLog(directory, 1024 * 1024, 'http://centre', logger);
  for (let day = DAY; day < DAY + 12; day++) await log.append(entriesOf(day));
  assert.ok(log.bytes <= 1024 * 1024 && log.drops > 0);
  const [lost] = log.lost;
  assert.equal(lost?.from, DAY);
  const oldest = await log.oldest();
  // Nothing is in neither of them.
  assert.ok(oldest !== null && lost.to >= oldest.entries[0]!.received / DAY_US - 1);
  await log.close();
  const next = new RelayLog(directory, 1024 * 1024, 'http://centre', logger);
  assert.deepEqual(next.lost, [lost]);
  const begun = next.lost[0]!;
  for (let count = 0; count < 12; count++) await next.append(entriesOf(DAY));
  next.wasCompared(lost, begun);
  const [again] = next.lost;
  assert.ok(again !== undefined, 'readings of the same days were dropped meanwhile');
  next.wasCompared(again, again);
  assert.deepEqual(next.lost, []);
  await next.close();
});

test('dropped readings of a clock that is years behind do not have all days since compared', async (context) => {
  const directory = directoryOf(context);
  const log = new RelayLog(directory, 1024 * 1024, 'http://centre', logger);
  // Each third part has readings of an old day, the last ones of many.
  for (let count = 0; count < 12; count++) await log.append(entriesOf(count % 3 === 0 ? DAY - 3000 : DAY));
  const days = ({ from, to }: { from: number; to: number }) => [from, to];
  assert.deepEqual(log.lost.map(days), [
    [DAY - 3000, DAY - 3000],
    [DAY, DAY],
  ]);
  for (let count = 0; count < 40; count++) await log.append(entriesOf(DAY - 2000 + count ** 2));
  assert.equal(log.lost.length, 16);
  assert.deepEqual(days(log.lost[0]!), [DAY - 3000, DAY - 3000]);
  assert.equal(log.lost[1]!.from, DAY - 2000);
  await log.close();
  const file = join(directory, 'state.json');
  writeFileSync(file, '{"centre":"http://centre","lost":{"from":7,"to":9},"compared":9}');
  const next = new RelayLog(directory, 1024 * 1024, 'http://centre', logger);
  assert.deepEqual(next.lost, [{ from: 7, to: 9 }], 'as an earlier version wrote it');
  await next.close();
});

test('a segment that is dropped while it is sent is not removed a second time', async (context) => {
  const log = new RelayLog(directoryOf(context), 1024 * 1024, 'http://centre', logger);
  await log.append(entriesOf(DAY));
  const sending = await log.oldest();
  for (let day = DAY + 1; day < DAY + 12; day++) await log.append(entriesOf(day));
  const { bytes } = log;
  await log.remove(sending!.segment);
  assert.equal(log.bytes, bytes);
  await log.close();
});
