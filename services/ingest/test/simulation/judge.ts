import type { Reading } from '@tidegauge/readings';
import type { TrackedBoot } from '../../src/ledger/sequence-ledger.ts';
import type { IngestProcess } from './ingest-process.ts';
import { type ModelStore, numbersIn } from './model-store.ts';
import { type Sensors, withoutTime } from './sensors.ts';

/** Mistakes that are named at most. */
const MOST_NAMED = 5;
/** Items of the quarantine that are compared: more than a schedule has. */
const MOST_ITEMS = 10_000;

/** What the faults of a schedule leave certain. */
export interface Certain {
  /** Whether the messages of a device are stored in their order. */
  readonly isOrdered: boolean;
  /** Whether the clocks of sensors were kept, so that a message that is received again has the time that it had. */
  readonly keepsClocks: boolean;
  /** Whether the system clock never went back. */
  readonly isSteady: boolean;
  /** Whether a reading is so old that it can have been deleted. */
  readonly mayBeDeleted: (reading: Pick<Reading, 'device' | 'time'>) => boolean;
}

/** A process, and what is certain about its ledger. */
export interface Judged {
  readonly process: IngestProcess;
  readonly store: ModelStore;
  /** Whether a device sends to it. */
  readonly has: (device: string) => boolean;
  /** As for `ledgerMistakes`; null: the ledger is not judged. */
  readonly mayMiss: boolean | null;
}

/** What must be true when all messages are acknowledged and nothing waits. Returns what is not. */
export function judge(sensors: Sensors, processes: readonly Judged[], certain: Certain): readonly string[] {
  const stores = new Set(processes.map(({ store }) => store));
  const all = [...quarantineMistakes(sensors, processes)];
  for (const store of stores) {
    const own = processes.filter((judged) => judged.store === store);
    const has = (device: string) => own.some((judged) => judged.has(device));
    all.push(...rowMistakes(sensors, store, has, certain), ...untimedMistakes(sensors, store, certain));
  }
  for (const judged of processes) all.push(...ledgerMistakes(sensors, judged));
  return all.slice(0, MOST_NAMED);
}

/**
 * Each acknowledged reading that no filter left out, and that is not too old, is there once, with its last correction, and nothing
 * else is.
 */
function* rowMistakes(
  sensors: Sensors,
  { name, rows }: ModelStore,
  has: (device: string) => boolean,
  { isOrdered, mayBeDeleted }: Certain,
): Generator<string> {
  const { expected, untimed } = sensors;
  for (const [identity, sent] of expected) {
    if (!has(sent.device)) continue;
    const { value } = sent;
    const found = rows.get(identity);
    if (found === undefined && (mayBeDeleted(sent) || sensors.mayLack(sent))) continue;
    if (found === undefined) yield `${identity} was acknowledged and is not in ${name}`;
    else if (found.value !== value && (isOrdered || !sensors.wasSent(sent, found.value)))
      yield `${identity} is ${found.value} in ${name}, and was corrected to ${value}`;
  }
  for (const [identity, row] of rows)
    if (!expected.has(identity) && !untimed.has(withoutTime(row)))
      yield `${identity} was never sent, and is in ${name}`;
}

/**
 * Each reading of a clock that was never set is there once, with a mark and a present time. The times of a device grow as it sent
 * its readings.
 */
function* untimedMistakes(
  sensors: Sensors,
  { rows }: ModelStore,
  { isOrdered, keepsClocks, isSteady }: Certain,
): Generator<string> {
  const { untimed } = sensors;
  const found = new Map<string, number>();
  const newest = new Map<string, number>();
  for (const row of [...rows.values()].toSorted((a, b) => a.time - b.time)) {
    const name = withoutTime(row);
    if (!untimed.has(name)) continue;
    found.set(name, (found.get(name) ?? 0) + 1);
    if (row.quality !== 'unsynced') yield `${name} has the time of a clock that was never set`;
    const last = newest.get(row.device) ?? 0;
    if (isOrdered && keepsClocks && isSteady && Number(row.value) < last)
      yield `${name} is later than ${last}, which was sent after it`;
    newest.set(row.device, Number(row.value));
  }
  for (const [name, sent] of untimed) {
    const count = found.get(name) ?? 0;
    if (count === 0 && !sensors.mayLack(sent)) yield `${name} was acknowledged and is not stored`;
    if (count > 1 && keepsClocks) yield `${name} is stored ${count} times`;
  }
}

/** The quarantine has what cannot be stored, and nothing else. */
function* quarantineMistakes({ quarantined }: Sensors, processes: readonly Judged[]): Generator<string> {
  const found = new Set<string>();
  for (const { quarantine } of processes.map(({ process }) => process))
    for (const { id } of quarantine.newest(MOST_ITEMS, null))
      found.add(Buffer.from(quarantine.entry(id)!.payload).toString());
  for (const text of quarantined)
    if (!found.has(text)) yield `${text} was acknowledged and is not in quarantine`;
  for (const text of found) if (!quarantined.has(text)) yield `${text} is in quarantine without a reason`;
}

/**
 * The ledger lists as missing what no sensor sent, and nothing that was stored.
 *
 * `mayMiss`: after a power cut, or when its file could not be written, the ledger is completed from the store. It can then
 * list the number of a reading that a correction replaced, and leave out gaps that it cannot judge. The same holds after any
 * restart when the store could not be compared
 */
function* ledgerMistakes(
  { sent, refused }: Sensors,
  { process, store: { accepted, rows }, has, mayMiss }: Judged,
): Generator<string> {
  if (mayMiss === null) return;
  const present = presentNumbers(rows.values());
  for (const [key, numbers] of accepted) {
    const [device = '', boot = ''] = key.split(' ');
    if (!has(device)) continue;
    const tracked = process.ledgerFile.ledger.tracked(device, boot);
    if (mayMiss) yield* falselyMissing(key, tracked, present.get(key) ?? new Set());
    else if (tracked === null) yield `the ledger lacks ${key}`;
    else {
      const own = sent.get(device)!.filter((reading) => reading.boot === boot);
      yield* bootMistakes(key, tracked, numbers, new Set(own.map(({ seq }) => seq)), refused.get(key));
    }
  }
}

/** The numbers of the readings that are in the store now, by device and boot. */
function presentNumbers(rows: Iterable<Reading>): ReadonlyMap<string, Set<number>> {
  const present = new Map<string, Set<number>>();
  for (const { device, boot, seq } of rows)
    if (boot !== null && seq !== null) numbersIn(present, device, boot).add(seq);
  return present;
}

function* falselyMissing(key: string, tracked: TrackedBoot | null, arrived: Set<number>): Generator<string> {
  if (tracked === null) return;
  for (const number of missingOf(tracked))
    if (arrived.has(number)) yield `the ledger misses number ${number} of ${key}, which arrived`;
}

function* bootMistakes(
  key: string,
  tracked: TrackedBoot,
  stored: Set<number>,
  sent: Set<number>,
  refused: Set<number> = new Set(),
): Generator<string> {
  // Numbers of readings that the store refused can be listed.
  yield* falselyMissing(key, tracked, new Set([...sent].filter((number) => !refused.has(number))));
  const { lowest, highest } = tracked;
  const missing = missingOf(tracked);
  for (const number of numbersOf([[lowest, highest]]))
    if (!sent.has(number) && !missing.has(number))
      yield `the ledger does not miss number ${number} of ${key}, which never arrived`;
  if (Math.min(...stored) < lowest || Math.max(...stored) > highest)
    yield `the ledger has only ${lowest} to ${highest} of ${key}`;
}

function missingOf(tracked: TrackedBoot): Set<number> {
  return new Set(numbersOf(tracked.missing(tracked.lowest, tracked.highest)));
}

function numbersOf(ranges: readonly (readonly [from: number, to: number])[]): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, step) => from + step));
}
