import type { GapDocument } from '@tidegauge/readings';
import { copyString } from './copy-string.ts';
import { RangeSet } from './range-set.ts';

/** Boots that are tracked for each device, including the current one. */
const BOOTS_KEPT = 3;
/** Earlier boots whose hashes are kept for each device, so that they do not count as new boots. */
const BOOTS_REMEMBERED = 8;
/** Memory for devices and boots, and for their missing ranges. */
const MAX_DEVICE_BYTES = 16 * 1024 * 1024;
const MAX_GAP_BYTES = 8 * 1024 * 1024;
/**
 * Memory of a device with one boot, without the device name, and of each further boot. The name of a boot has at most
 * 64 characters.
 */
const DEVICE_BYTES = 560;
const BOOT_BYTES = 288;
/** Memory of a boot's set of missing ranges, and of one range. */
const SET_BYTES = 160;
const RANGE_BYTES = 32;
/**
 * A number that is further away than this does not continue the sequence: a sensor does not lose 4 billion readings.
 */
const MAX_JUMP = 2 ** 32;
const MAX_LISTED = 200;
const MAX_RANGES_LISTED = 64;

interface Boot {
  readonly boot: string;
  lowest: number;
  highest: number;
  /** Numbers below it are not checked, because the details of what was missing there were dropped. */
  floor: number;
  /** The numbers missing between `lowest` and `highest`; null when none are missing. */
  gaps: RangeSet | null;
  /** The count of numbers that were missing below `floor`. */
  givenUp: number;
  duplicates: number;
}

interface Device {
  /** The newest boot. */
  newest: Boot;
  /** Earlier boots that are tracked, oldest first. */
  readonly older: Boot[];
  /** Hashes of boots that are no longer tracked, oldest first. */
  retired: number[] | null;
}

/**
 * Tracks the sequence numbers of devices that send `boot` and `seq`: for each device and boot, the numbers missing
 * between the lowest and the highest stored number, and the numbers seen more than once. Numbers below the first one
 * seen do not count as missing, because ingest may have started later than the device.
 *
 * Memory is bounded in bytes. `missing` and `duplicates` are exact for all that is tracked. `givenUp` counts numbers
 * that were missing when their details were dropped. `unjudged` counts readings that could not be checked. When
 * ranges take too much memory, the boots with the most ranges lose their oldest ones. When devices take too much
 * memory, new devices are not tracked.
 */
export class SequenceLedger {
  readonly #devices = new Map<string, Device>();
  #deviceBytes = 0;
  #gapBytes = 0;
  #gapsOpened = 0;
  #missing = 0;
  #duplicates = 0;
  #givenUp = 0;
  #unjudged = 0;

  /** Sequence numbers skipped since the start, including those that arrived later. */
  get gapsOpened(): number {
    return this.#gapsOpened;
  }

  /** Sequence numbers missing now, of the boots that are tracked. */
  get missing(): number {
    return this.#missing;
  }

  /** Sequence numbers seen again, of the boots that are tracked. */
  get duplicates(): number {
    return this.#duplicates;
  }

  /** Sequence numbers that were missing when their details were dropped. Some may have arrived since. */
  get givenUp(): number {
    return this.#givenUp;
  }

  /** Stored readings that could not be checked, because details were dropped or did not fit. */
  get unjudged(): number {
    return this.#unjudged;
  }

  get devices(): number {
    return this.#devices.size;
  }

  /** Approximate bytes of memory in use; bounded. */
  get bytes(): number {
    return this.#deviceBytes + this.#gapBytes;
  }

  /** Counts one stored sequence number. */
  record(device: string, boot: string, seq: number): void {
    const known = this.#devices.get(device);
    if (known === undefined) {
      this.#follow(device, boot, seq);
      return;
    }
    const entry = known.newest.boot === boot ? known.newest : this.#enter(known, boot, seq);
    if (entry === null) return;
    if (seq === entry.highest + 1) {
      entry.highest = seq;
    } else if (seq > entry.highest) {
      if (seq - entry.highest > MAX_JUMP) this.#unjudged++;
      else {
        this.#miss(entry, entry.highest + 1, seq - 1);
        entry.highest = seq;
      }
    } else if (seq >= entry.lowest) {
      this.#fill(entry, seq);
    } else if (seq < entry.floor || entry.lowest - seq > MAX_JUMP) {
      this.#unjudged++;
    } else {
      this.#miss(entry, seq + 1, entry.lowest - 1);
      entry.lowest = seq;
    }
  }

  /**
   * The boots with missing or repeated numbers, worst first. `truncated` is true when the list was cut, or details
   * were dropped or did not fit.
   */
  list(): { readonly list: readonly GapDocument[]; readonly truncated: boolean } {
    const found: { device: string; entry: Boot; missing: number }[] = [];
    for (const [device, known] of this.#devices) {
      for (const entry of bootsOf(known)) {
        const missing = entry.gaps?.size ?? 0;
        if (missing > 0 || entry.duplicates > 0 || entry.givenUp > 0) found.push({ device, entry, missing });
      }
    }
    found.sort((a, b) => b.missing - a.missing || b.entry.duplicates - a.entry.duplicates);
    const listed = found.slice(0, MAX_LISTED);
    const truncated =
      this.#givenUp > 0 ||
      this.#unjudged > 0 ||
      found.length > MAX_LISTED ||
      listed.some(({ entry }) => (entry.gaps?.ranges ?? 0) > MAX_RANGES_LISTED);
    return { list: listed.map(({ device, entry }) => gapDocument(device, entry)), truncated };
  }

  /** Starts to track a new device. */
  #follow(device: string, boot: string, seq: number): void {
    const bytes = DEVICE_BYTES + 2 * device.length;
    if (this.#deviceBytes + bytes > MAX_DEVICE_BYTES) {
      this.#unjudged++;
      return;
    }
    this.#deviceBytes += bytes;
    this.#devices.set(copyString(device), { newest: newBoot(boot, seq), older: [], retired: null });
  }

  /**
   * Finds an older boot (backfill after a restart) or adds a new one. Returns null when there is nothing to compare.
   */
  #enter(known: Device, boot: string, seq: number): Boot | null {
    const older = known.older.find((entry) => entry.boot === boot);
    if (older !== undefined) return older;
    if (known.retired?.includes(hash(boot))) {
      this.#unjudged++;
      return null;
    }
    known.older.push(known.newest);
    known.newest = newBoot(boot, seq);
    this.#deviceBytes += BOOT_BYTES;
    const isFull = () => known.older.length === BOOTS_KEPT || this.#deviceBytes > MAX_DEVICE_BYTES;
    while (known.older.length > 0 && isFull()) this.#retire(known);
    return null;
  }

  /** Stops tracking an older boot: the oldest without missing numbers, or else the oldest. */
  #retire(known: Device): void {
    const complete = known.older.findIndex(({ gaps }) => gaps === null);
    const [entry] = known.older.splice(Math.max(complete, 0), 1);
    const { boot, gaps, duplicates } = entry!;
    if (gaps !== null) {
      this.#gapBytes -= gapBytes(gaps);
      this.#moveToGivenUp(gaps.size);
    }
    this.#duplicates -= duplicates;
    this.#deviceBytes -= BOOT_BYTES;
    known.retired ??= [];
    known.retired.push(hash(boot));
    if (known.retired.length > BOOTS_REMEMBERED) known.retired.shift();
  }

  #miss(entry: Boot, from: number, to: number): void {
    if (from > to) return;
    const numbers = to - from + 1;
    this.#missing += numbers;
    this.#gapsOpened = Math.min(this.#gapsOpened + numbers, Number.MAX_SAFE_INTEGER);
    const before = gapBytes(entry.gaps);
    entry.gaps ??= new RangeSet();
    if (from > entry.highest) entry.gaps.addLast(from, to);
    else entry.gaps.addFirst(from, to);
    this.#resize(entry, before);
  }

  /** A number within the range seen: it closes a gap or is a duplicate. */
  #fill(entry: Boot, seq: number): void {
    const before = gapBytes(entry.gaps);
    if (entry.gaps === null || !entry.gaps.remove(seq)) {
      entry.duplicates++;
      this.#duplicates++;
      return;
    }
    this.#missing--;
    this.#resize(entry, before);
  }

  #resize(entry: Boot, before: number): void {
    if (entry.gaps?.ranges === 0) entry.gaps = null;
    this.#gapBytes += gapBytes(entry.gaps) - before;
    if (this.#gapBytes > MAX_GAP_BYTES) this.#shrinkGaps();
  }

  /**
   * Halves the memory of ranges: boots with the most ranges lose theirs first, then the boots that were added last.
   */
  #shrinkGaps(): void {
    const all = [...this.#devices.values()].flatMap(bootsOf).filter(({ gaps }) => gaps !== null);
    let most = all.reduce((largest, { gaps }) => Math.max(largest, gaps!.ranges), 0);
    const bytesAt = (limit: number) =>
      all.reduce((sum, { gaps }) => sum + bytesOf(Math.min(gaps!.ranges, limit)), 0);
    while (most > 1 && bytesAt(most) > MAX_GAP_BYTES / 2) most >>= 1;
    for (const entry of all) if (entry.gaps!.ranges > most) this.#giveUpOldest(entry, most);
    for (const entry of all.reverse()) {
      if (this.#gapBytes <= MAX_GAP_BYTES / 2) break;
      this.#giveUpOldest(entry, 0);
    }
  }

  /** Drops all but the newest ranges of a boot. */
  #giveUpOldest(entry: Boot, keep: number): void {
    const gaps = entry.gaps!;
    const before = gapBytes(gaps);
    const missing = gaps.size;
    entry.floor = gaps.removeLowest(gaps.ranges - keep) + 1;
    entry.lowest = entry.floor;
    entry.givenUp += missing - gaps.size;
    this.#moveToGivenUp(missing - gaps.size);
    if (gaps.ranges === 0) entry.gaps = null;
    this.#gapBytes += gapBytes(entry.gaps) - before;
  }

  #moveToGivenUp(numbers: number): void {
    this.#missing -= numbers;
    this.#givenUp = Math.min(this.#givenUp + numbers, Number.MAX_SAFE_INTEGER);
  }
}

function gapDocument(device: string, { boot, highest, gaps, givenUp, duplicates }: Boot): GapDocument {
  const ranges = gaps?.highest(MAX_RANGES_LISTED) ?? [];
  return { device, boot, highest, missing: gaps?.size ?? 0, ranges, givenUp, duplicates };
}

function bootsOf({ older, newest }: Device): readonly Boot[] {
  return older.length === 0 ? [newest] : [...older, newest];
}

function newBoot(boot: string, seq: number): Boot {
  return {
    boot: copyString(boot),
    lowest: seq,
    highest: seq,
    floor: 0,
    gaps: null,
    givenUp: 0,
    duplicates: 0,
  };
}

function gapBytes(gaps: RangeSet | null): number {
  return gaps === null ? 0 : bytesOf(gaps.ranges);
}

function bytesOf(ranges: number): number {
  return ranges === 0 ? 0 : SET_BYTES + RANGE_BYTES * ranges;
}

/** A hash below 2^30, which V8 stores in an array without extra memory. */
function hash(text: string): number {
  let value = 0;
  for (let index = 0; index < text.length; index++) value = (value * 31 + text.charCodeAt(index)) | 0;
  return (value >>> 0) & 0x3fffffff;
}
