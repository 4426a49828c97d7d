import { AssertionError } from 'node:assert';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { seeded } from '@tidegauge/workload';

/** The unit that disks and SQLite write, bytes. */
export const PAGE = 4096;

const KINDS = ['bit', 'byte', 'page', 'cut', 'swap', 'old'] as const;

/** A change of a file on a disk that fails. Places are shares of the file, from 0 to 1. */
interface Change {
  readonly kind: (typeof KINDS)[number];
  readonly at: number;
  /** The other page of a swap. */
  readonly other: number;
  /** A bit or a byte. */
  readonly value: number;
}

/** Entries of a file by their identity, as text. */
export type Entries = ReadonlyMap<string, string>;

/** What a program made of a file. */
export interface Use {
  /** The entries that it delivers. */
  readonly entries: Entries;
  /** Whether it reported damage. */
  readonly isReported: boolean;
}

/** A kind of file that a disk can damage. */
export interface RotSubject {
  readonly name: string;
  readonly sound: Buffer;
  /** The file at an earlier time. */
  readonly earlier: Buffer;
  readonly entries: Entries;
  /** Values of entries that were replaced or deleted. */
  readonly earlierEntries?: Entries;
  /**
   * Uses a changed file as the program does after a start: all its entries, and a new one. An error is a report of damage;
   * an AssertionError is a failure of the test.
   */
  use(data: Buffer): Promise<Use>;
  /** Whether `tidegauge check` finds a changed file damaged. Absent: a use checks the whole file. */
  check?(data: Buffer): Promise<boolean>;
}

/** Changes of one kind of file by their outcome. */
export interface RotTally {
  readonly name: string;
  readonly changes: number;
  /** The damage was reported. All that was delivered was right. */
  readonly found: number;
  /** Everything was delivered. */
  readonly harmless: number;
  /** Entries are missing, or have an earlier value, without a report. By the kind of the change. */
  readonly older: Readonly<Record<string, number>>;
  /** An entry was delivered that was never written, by the kind of the change. */
  readonly wrong: Readonly<Record<string, number>>;
  /** Those of `older` and `wrong` that a check of all files finds. */
  readonly foundByCheck: number;
}

/** Changes a file many times, each time from its sound state, and uses it. The same seed makes the same changes. */
export async function tallyRot(subject: RotSubject, changes: number, seed: number): Promise<RotTally> {
  const { name, sound, earlier } = subject;
  const random = seeded(seed);
  let [found, harmless, foundByCheck] = [0, 0, 0];
  const older: Record<string, number> = {};
  const wrong: Record<string, number> = {};
  for (let done = 0; done < changes; ) {
    const change: Change = {
      kind: KINDS[random.below(KINDS.length)]!,
      at: random.double(),
      other: random.double(),
      value: random.below(256),
    };
    const data = changed(sound, earlier, change);
    if (data.equals(sound)) continue;
    done += 1;
    const outcome = await outcomeOf(subject, data);
    if (outcome === 'found') found += 1;
    else if (outcome === 'harmless') harmless += 1;
    else {
      const counts = outcome === 'older' ? older : wrong;
      counts[change.kind] = (counts[change.kind] ?? 0) + 1;
      if ((await subject.check?.(data)) === true) foundByCheck += 1;
    }
  }
  return { name, changes, found, harmless, older, wrong, foundByCheck };
}

/**
 * A program that writes the tallies of kinds of files as JSON.
 *
 * `node FILE --changes 1000 --seed 1 [--only NAME]`
 *
 * @param subjectsIn makes the kinds of files in an empty directory
 */
export async function rotMain(subjectsIn: (folder: string) => Promise<readonly RotSubject[]>): Promise<void> {
  const { values } = parseArgs({
    options: { changes: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
  });
  const folder = temporaryDirectory('rot');
  try {
    const tallies: RotTally[] = [];
    for (const subject of await subjectsIn(folder.path)) {
      if (!subject.name.startsWith(values.only ?? '')) continue;
      tallies.push(await tallyRot(subject, Number(values.changes), Number(values.seed)));
    }
    process.stdout.write(`${JSON.stringify(tallies)}\n`);
  } finally {
    folder.remove();
  }
}

/** The identity of a reading as an entry. */
export function identityOf({ device, metric, time }: Reading): string {
  return `${device} ${metric} ${time}`;
}

/** The part of a store that `entriesOf` reads. */
interface Readable {
  readonly readings: {
    devices(): AsyncIterable<string>;
    range(query: { device: string; order: 'asc'; limit: number }): AsyncIterable<Reading>;
  };
}

/** The readings of a store as entries. @param before only readings with earlier times */
export async function entriesOf(
  { readings }: Readable,
  before = Number.POSITIVE_INFINITY,
): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  for await (const device of readings.devices()) {
    for await (const reading of readings.range({ device, order: 'asc', limit: 1e6 }))
      if (reading.time < before) entries.set(identityOf(reading), JSON.stringify(reading));
  }
  return entries;
}

async function outcomeOf(
  { entries, earlierEntries, use }: RotSubject,
  data: Buffer,
): Promise<'found' | 'harmless' | 'older' | 'wrong'> {
  try {
    const used = await use(data);
    let isOlder = used.entries.size < entries.size;
    for (const [identity, text] of used.entries) {
      if (entries.get(identity) === text) continue;
      if (earlierEntries?.get(identity) !== text) return 'wrong';
      isOlder = true;
    }
    if (used.isReported) return 'found';
    return isOlder ? 'older' : 'harmless';
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    return 'found';
  }
}

/**
 * A changed copy of `data`: a bit or a byte differs, a page has one byte only, the end is missing, two pages are
 * exchanged, or a page is that of an earlier version of the file.
 */
function changed(data: Buffer, earlier: Buffer, { kind, at, other, value }: Change): Buffer {
  const copy = Buffer.from(data);
  const offset = Math.floor(at * data.length);
  const start = pageAt(offset);
  const end = Math.min(start + PAGE, data.length);
  switch (kind) {
    case 'bit':
      copy[offset]! ^= 1 << (value & 7);
      return copy;
    case 'byte':
      copy[offset] = value;
      return copy;
    case 'page':
      return copy.fill(value, start, end);
    case 'cut':
      return copy.subarray(0, offset);
    case 'swap': {
      // The last page can be shorter.
      const second = pageAt(Math.floor(other * data.length));
      const length = Math.min(PAGE, data.length - Math.max(start, second));
      data.copy(copy, start, second, second + length);
      data.copy(copy, second, start, start + length);
      return copy;
    }
    case 'old':
      copy.fill(0, start, end);
      if (start < earlier.length) earlier.copy(copy, start, start, Math.min(end, earlier.length));
      return copy;
  }
}

function pageAt(offset: number): number {
  return offset - (offset % PAGE);
}
