import { firstLevelOf, type GapDocument, now } from '@tidegauge/readings';
import { inTurns } from '@tidegauge/service';
import { copyString } from '@tidegauge/text';
import { DeviceShares } from '../device-shares.ts';
import { BOUNDS } from '../memory.ts';
import { RangeSet } from './range-set.ts';

/** Boots that are tracked for each device, including the current one. */
const BOOTS_KEPT = 3;
/** Earlier boots whose hashes are kept for each device, so that they do not count as new boots. */
const BOOTS_REMEMBERED = 8;
/** Memory of a client, without its name. */
const CLIENT_BYTES = 40;
/** Memory of a device with one boot, and of a boot, without their names. */
const DEVICE_BYTES = 140;
const BOOT_BYTES = 100;
/** Memory of the list of older boots of a device: V8 makes room for 17 at the first one. */
const OLDER_BYTES = 180;
/** Memory of the list of hashes of a device. */
const RETIRED_BYTES = 120;
/** A device that has been silent for so long is no longer tracked when the memory is needed for new devices. */
const SILENT_DAYS = 30;
/** Memory of a boot's set of missing ranges with what is gone of it, and of one range. */
const SET_BYTES = 320;
const RANGE_BYTES = 32;
/**
 * A number that is further away than this does not continue the sequence: a sensor does not lose 4 billion readings.
 */
export const MAX_JUMP = 2 ** 32;
const MAX_LISTED = 200;
const MAX_RANGES_LISTED = 64;
const NO_BOOTS: readonly OpenBoot[] = [];

interface Boot {
  readonly boot: string;
  lowest: number;
  highest: number;
  /** Numbers below it are not checked, because the details of what was missing there were dropped. */
  floor: number;
  /** The numbers missing between `lowest` and `highest`; null when none are missing. */
  gaps: RangeSet | null;
  /**
   * Numbers above `highest` may have been stored that were not recorded. A sensor counts up, so this ends with a number that
   * is above it and was not stored before: those below it are not judged.
   */
  isUncertain: boolean;
  /** The count of numbers that were missing below `floor`. */
  givenUp: number;
  duplicates: number;
}

interface Device {
  /** Identifies the device in the journal. Never used again for another device. */
  readonly id: number;
  /** The day of its last number, days since the epoch. */
  day: number;
  /** The newest boot. */
  newest: Boot;
  /** Earlier boots that are tracked, oldest first; null: none. */
  older: Boot[] | null;
  /** Hashes of boots that are no longer tracked, oldest first. */
  retired: number[] | null;
}

/** A boot with something to list. */
interface Found {
  readonly device: string;
  readonly entry: Boot;
  readonly missing: number;
}

/** The missing numbers of a boot that its sensor declared gone: those below `from`. */
interface Gone {
  from: number;
  /** How many. */
  numbers: number;
}

/** A boot with numbers that are missing and that its sensor may still have. */
export interface OpenBoot {
  readonly boot: string;
  /**
   * The highest of these numbers up to `most`, as inclusive ranges in ascending order: at most `ranges` of them, with at most
   * `numbers` numbers together.
   */
  between(most: number, ranges: number, numbers: number): readonly (readonly [from: number, to: number])[];
}

/** What is known about the numbers of a boot: those from `lowest` to `highest` arrived, unless they are missing. */
export interface TrackedBoot {
  readonly lowest: number;
  readonly highest: number;
  /** The missing numbers from `least` to `most`, as ascending ranges. */
  missing(least: number, most: number): readonly (readonly [from: number, to: number])[];
}

/** Receives what is recorded, so that the ledger can be restored. */
export interface Journal {
  /** A number of the newest boot of a known device. */
  number(id: number, seq: number): void;
  /** A number of a new device or of another boot, or one that may have been stored before. */
  named(id: number, device: string, boot: string, seq: number, isAgain: boolean): void;
  /** Numbers of a boot below `from` are gone. */
  gone(device: string, boot: string, from: number): void;
}

/** The state of a boot: name, lowest, highest, floor, given up, duplicates, then `from, to` of each missing range. */
type BootState = readonly [string, ...number[]];

/**
 * The state of a device: id, name, day, a bit for each uncertain boot (1: the newest one), hashes of retired boots, boots with the oldest first, and for each
 * boot the number below which missing ones are gone. The last one is left out when none are gone.
 */
export type DeviceState = readonly [
  number,
  string,
  number,
  number,
  readonly number[],
  readonly BootState[],
  (readonly number[])?,
];

/** Counts that do not follow from the states of the devices. */
export interface LedgerTotals {
  /** When the ledger began, microseconds since the epoch. */
  readonly since: number;
  readonly gapsOpened: number;
  readonly givenUp: number;
  readonly unjudged: number;
  /** A file of an earlier version has none. */
  readonly healed?: number;
  /** The id of the next new device. */
  readonly nextId: number;
}

/**
 * Tracks the sequence numbers of devices that send `boot` and `seq`: for each device and boot, the numbers missing
 * between the lowest and the highest stored number, and the numbers seen more than once. Numbers below the first one
 * seen do not count as missing, because ingest may have started later than the device.
 *
 * Memory is bounded in bytes. `missing` and `duplicates` are exact for all that is tracked. `givenUp` counts numbers
 * that were missing when their details were dropped. `unjudged` counts readings that could not be checked. When
 * ranges take too much memory, the clients with the most lose theirs: the boots with the most ranges their oldest ones.
 * When the devices of a client take too much memory, devices that have been silent for 30 days are no longer tracked, and
 * then its new devices are not tracked.
 *
 * A sensor can declare which of its numbers it cannot send again. They stay missing, and count as gone too.
 *
 * A journal receives every number. `states` and `totals` are the state that `restore` and `restoreTotals` take.
 */
export class SequenceLedger {
  /** Null: numbers are not kept. */
  journal: Journal | null = null;
  /** Whether it may lack devices of an earlier process, whose messages can be in the spool. */
  isPartial = false;
  /**
   * Whether numbers of an earlier process have yet to be completed from the store. Missing ones can be stored then. No number
   * counts as a duplicate, because the one before can be of that comparison.
   */
  isUnchecked = false;
  /** The present day, days since the epoch. */
  today = 0;
  readonly #devices = new Map<string, Device>();
  /** Memory of devices and boots. */
  readonly #shares = new DeviceShares(BOUNDS.sequences, (client) => CLIENT_BYTES + textBytes(client));
  #since = now();
  #nextId = 0;
  #lastExpiry = 0;
  #gapBytes = 0;
  #gapsOpened = 0;
  #missing = 0;
  #duplicates = 0;
  #givenUp = 0;
  #unjudged = 0;
  #healed = 0;
  #gone = 0;
  /** Of boots with missing numbers only, so it is a part of the memory of their ranges. */
  readonly #goneOf = new WeakMap<Boot, Gone>();

  /** When the ledger began, microseconds since the epoch. */
  get since(): number {
    return this.#since;
  }

  /** Sequence numbers skipped since it began, including those that arrived later. */
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

  /** Sequence numbers that were missing and arrived later. */
  get healed(): number {
    return this.#healed;
  }

  /** Sequence numbers that are missing, and that their sensors declared gone. */
  get gone(): number {
    return this.#gone;
  }

  get devices(): number {
    return this.#devices.size;
  }

  /** Approximate bytes of memory in use; bounded. */
  get bytes(): number {
    return this.#shares.all + this.#gapBytes;
  }

  /**
   * Counts one stored sequence number.
   *
   * @param isAgain whether it may have been stored before, because its message was sent again
   */
  record(device: string, boot: string, seq: number, isAgain = false): void {
    const known = this.#devices.get(device);
    if (known === undefined) {
      this.#begin(device, boot, seq, false);
      return;
    }
    const { newest } = known;
    const isNewest = newest.boot === boot;
    if (isNewest && !(isAgain && newest.isUncertain)) this.journal?.number(known.id, seq);
    else this.journal?.named(known.id, device, boot, seq, isAgain);
    known.day = this.today;
    const entry = isNewest ? newest : this.#enter(device, known, boot, seq, isAgain);
    if (entry !== null) this.#place(entry, seq, isAgain);
  }

  /**
   * Counts a stored sequence number that may have been counted already, such as one of a message in the spool. It is
   * no duplicate then. One below the lowest counts too: a file that lacks the last numbers can lack those of a backfill.
   *
   * @returns whether it was new
   */
  confirm(device: string, boot: string, seq: number): boolean {
    const known = this.#devices.get(device);
    if (known === undefined) {
      this.#begin(device, boot, seq, this.isPartial);
      return true;
    }
    const entry = bootsOf(known).find((each) => each.boot === boot);
    if (entry === undefined && known.retired?.includes(hash(boot))) return false;
    if (entry !== undefined && seq <= entry.highest && !lacks(entry, seq)) return false;
    this.record(device, boot, seq, true);
    return true;
  }

  /**
   * Takes a sensor's declaration that it cannot send the numbers of a boot below `kept` again, up to the highest that
   * arrived.
   *
   * @param kept null: none of its numbers
   * @returns whether missing numbers became gone by it
   */
  declare(device: string, boot: string, kept: number | null): boolean {
    const known = this.#devices.get(device);
    const entry = known === undefined ? undefined : bootsOf(known).find((each) => each.boot === boot);
    if (entry === undefined || entry.gaps === null) return false;
    const from = Math.min(kept ?? Number.MAX_SAFE_INTEGER, entry.highest);
    if (this.#setGone(entry, from) === 0) return false;
    this.journal?.gone(device, boot, from);
    return true;
  }

  /** The boots of a device with numbers that are missing and not gone, the newest first. */
  open(device: string): readonly OpenBoot[] {
    const known = this.#devices.get(device);
    if (known === undefined || (known.newest.gaps === null && known.older === null)) return NO_BOOTS;
    return bootsOf(known)
      .filter((entry) => (entry.gaps?.size ?? 0) > this.#numbersGone(entry))
      .map((entry) => {
        const least = this.#goneOf.get(entry)?.from ?? 0;
        const between: OpenBoot['between'] = (most, ranges, numbers) =>
          entry.gaps!.between(least, most, ranges, numbers);
        return { boot: entry.boot, between };
      })
      .reverse();
  }

  /** How many numbers of a boot are missing from `least` to `most`, and not gone. */
  openBetween(device: string, boot: string, least: number, most: number): number {
    const known = this.#devices.get(device);
    const entry = known === undefined ? undefined : bootsOf(known).find((each) => each.boot === boot);
    if (entry === undefined || entry.gaps === null) return 0;
    return entry.gaps.sizeBetween(Math.max(least, this.#goneOf.get(entry)?.from ?? 0), most);
  }

  /** What is known about a boot; null when it is not tracked. */
  tracked(device: string, boot: string): TrackedBoot | null {
    const known = this.#devices.get(device);
    const entry = known === undefined ? undefined : bootsOf(known).find((each) => each.boot === boot);
    if (entry === undefined) return null;
    const all = Number.POSITIVE_INFINITY;
    const missing: TrackedBoot['missing'] = (least, most) => entry.gaps?.between(least, most, all, all) ?? [];
    return { lowest: Math.max(entry.lowest, entry.floor), highest: entry.highest, missing };
  }

  /** The highest number of the newest boot of a device; -1 for a device that is not tracked. */
  highest(device: string): number {
    return this.#devices.get(device)?.newest.highest ?? -1;
  }

  /**
   * The state of every device, in a stable order. Devices can be recorded between two of them: a state includes all
   * numbers that were recorded before it.
   */
  *states(): Generator<DeviceState> {
    for (const [device, known] of this.#devices) {
      const boots = bootsOf(known).map(
        ({ boot, lowest, highest, floor, givenUp, duplicates, gaps }): BootState => {
          return [boot, lowest, highest, floor, givenUp, duplicates, ...(gaps?.flat() ?? [])];
        },
      );
      const gone = bootsOf(known).map((entry) => this.#goneOf.get(entry)?.from ?? 0);
      const uncertain = bootsOf(known).reduce((bits, { isUncertain }) => 2 * bits + (isUncertain ? 1 : 0), 0);
      const { id, day, retired } = known;
      const state = [id, device, day, uncertain, retired ?? [], boots] as const;
      yield gone.some((from) => from > 0) ? [...state, gone] : state;
    }
  }

  totals(): LedgerTotals {
    return {
      since: this.#since,
      gapsOpened: this.#gapsOpened,
      givenUp: this.#givenUp,
      unjudged: this.#unjudged,
      healed: this.#healed,
      nextId: this.#nextId,
    };
  }

  /** Takes a state of `states`, and replaces what is known about the device. */
  restore([id, device, day, uncertain, retired, boots, gone]: DeviceState): void {
    this.#remove(device);
    const older = boots.map(toBoot);
    const newest = older.pop()!;
    const known: Device = {
      id,
      day,
      newest,
      older: older.length === 0 ? null : older,
      retired: retired.length === 0 ? null : [...retired],
    };
    this.#devices.set(copyString(device), known);
    this.#shares.add(device, deviceBytes(device, known));
    this.#nextId = Math.max(this.#nextId, id + 1);
    for (const [index, entry] of bootsOf(known).entries()) {
      const { gaps, duplicates } = entry;
      entry.isUncertain = ((uncertain >> (boots.length - 1 - index)) & 1) === 1;
      this.#gapBytes += gapBytes(gaps);
      this.#missing += gaps?.size ?? 0;
      this.#duplicates += duplicates;
      if (gaps !== null) this.#setGone(entry, gone?.[index] ?? 0);
    }
  }

  restoreTotals({ since, gapsOpened, givenUp, unjudged, healed = 0, nextId }: LedgerTotals): void {
    this.#since = since;
    this.#gapsOpened = gapsOpened;
    this.#givenUp = givenUp;
    this.#unjudged = unjudged;
    this.#healed = healed;
    this.#nextId = Math.max(this.#nextId, nextId);
  }

  /**
   * Records a number of a journal again.
   *
   * @param boot null: the newest one of the device
   */
  replay(id: number, device: string, boot: string | null, seq: number, isAgain = false): void {
    const known = this.#devices.get(device);
    if (known !== undefined) this.record(device, boot ?? known.newest.boot, seq, isAgain);
    else if (boot !== null) this.#follow(id, device, boot, seq, isAgain);
  }

  /** The names of the devices that are tracked. */
  names(): Iterable<string> {
    return this.#devices.keys();
  }

  /**
   * Numbers of this device may have been stored without being recorded. For each of its boots, the numbers up to the next one
   * that was not stored before are not counted as missing, because they cannot be judged.
   */
  doubt(device: string): void {
    const known = this.#devices.get(device);
    if (known === undefined) return;
    for (const entry of bootsOf(known)) {
      entry.isUncertain = true;
      entry.floor = entry.lowest;
    }
  }

  /**
   * The boots with missing or repeated numbers, worst first; of too many, those of each client that are worst. `truncated` is
   * true when the list was cut, or details were dropped or did not fit.
   */
  list(): { readonly list: readonly GapDocument[]; readonly truncated: boolean } {
    const found: Found[] = [];
    for (const [device, known] of this.#devices) {
      for (const entry of bootsOf(known)) {
        const missing = entry.gaps?.size ?? 0;
        if (missing > 0 || entry.duplicates > 0 || entry.givenUp > 0) found.push({ device, entry, missing });
      }
    }
    const worstFirst = (a: Found, b: Found) =>
      b.missing - a.missing || b.entry.duplicates - a.entry.duplicates;
    found.sort(worstFirst);
    const listed = inTurns(found, MAX_LISTED, ({ device }) => firstLevelOf(device)).toSorted(worstFirst);
    const truncated =
      this.#givenUp > 0 ||
      this.#unjudged > 0 ||
      found.length > MAX_LISTED ||
      listed.some(({ entry }) => (entry.gaps?.ranges ?? 0) > MAX_RANGES_LISTED);
    const list = listed.map(({ device, entry }) => gapDocument(device, entry, this.#numbersGone(entry)));
    return { list, truncated };
  }

  #numbersGone(entry: Boot): number {
    return this.#goneOf.get(entry)?.numbers ?? 0;
  }

  /** Has the missing numbers below `from` be gone. Returns how many became gone by it. */
  #setGone(entry: Boot, from: number): number {
    const before = this.#goneOf.get(entry) ?? { from: 0, numbers: 0 };
    if (from <= before.from) return 0;
    const added = entry.gaps!.sizeBetween(before.from, from - 1);
    if (added === 0) return 0;
    this.#goneOf.set(entry, { from, numbers: before.numbers + added });
    this.#gone += added;
    return added;
  }

  /** Has fewer missing numbers of a boot be gone, because some arrived or are no longer tracked. */
  #lessGone(entry: Boot, numbers: number): void {
    const known = this.#goneOf.get(entry);
    if (known === undefined) return;
    const less = Math.min(numbers, known.numbers);
    known.numbers -= less;
    this.#gone -= less;
    if (entry.gaps === null) this.#goneOf.delete(entry);
  }

  #begin(device: string, boot: string, seq: number, isUncertain: boolean): void {
    const id = this.#nextId;
    if (this.#follow(id, device, boot, seq, isUncertain))
      this.journal?.named(id, device, boot, seq, isUncertain);
  }

  /** Starts to track a new device. Returns false when its client has no memory for it. */
  #follow(id: number, device: string, boot: string, seq: number, isUncertain: boolean): boolean {
    const newest = newBoot(boot, seq, isUncertain, isUncertain);
    const known: Device = { id, day: this.today, newest, older: null, retired: null };
    const bytes = deviceBytes(device, known);
    if (!this.#shares.hasRoom(device, bytes)) this.#expire();
    if (!this.#shares.take(device, bytes)) {
      this.#unjudged++;
      return false;
    }
    this.#devices.set(copyString(device), known);
    this.#nextId = Math.max(this.#nextId, id + 1);
    return true;
  }

  /** Stops tracking devices that have been silent for long. Once a day, because it reads all devices. */
  #expire(): void {
    if (this.#lastExpiry === this.today) return;
    this.#lastExpiry = this.today;
    for (const [device, { day }] of this.#devices) {
      if (this.today - day < SILENT_DAYS) continue;
      this.#givenUp += this.#remove(device);
    }
  }

  /** Removes a device. Returns the count of its missing numbers. */
  #remove(device: string): number {
    const known = this.#devices.get(device);
    if (known === undefined) return 0;
    this.#devices.delete(device);
    this.#shares.add(device, -deviceBytes(device, known));
    let missing = 0;
    for (const entry of bootsOf(known)) {
      const { gaps, duplicates } = entry;
      this.#gapBytes -= gapBytes(gaps);
      missing += gaps?.size ?? 0;
      this.#duplicates -= duplicates;
      this.#gone -= this.#numbersGone(entry);
    }
    this.#missing -= missing;
    return missing;
  }

  /** Counts a number of a boot that is tracked. */
  #place(entry: Boot, seq: number, isAgain: boolean): void {
    if (seq > entry.highest) {
      this.#advance(entry, seq);
      entry.isUncertain &&= isAgain;
    } else if (seq >= entry.lowest) {
      this.#fill(entry, seq);
    } else if (!mayPrecede(entry, seq)) {
      this.#unjudged++;
    } else {
      this.#miss(entry, seq + 1, entry.lowest - 1);
      entry.lowest = seq;
    }
  }

  /** A number above the highest one: those between them are missing, unless they cannot be judged. */
  #advance(entry: Boot, seq: number): void {
    if (entry.isUncertain && seq > entry.highest + 1) this.#skip(entry, seq);
    else if (seq - entry.highest > MAX_JUMP) this.#unjudged++;
    else {
      this.#miss(entry, entry.highest + 1, seq - 1);
      entry.highest = seq;
    }
  }

  /** Continues a sequence after numbers that cannot be judged. Gaps below them cannot be judged either. */
  #skip(entry: Boot, seq: number): void {
    this.#unjudged++;
    if (entry.gaps !== null) this.#giveUpOldest(entry, 0);
    entry.lowest = seq;
    entry.floor = seq;
    entry.highest = seq;
  }

  /**
   * Finds an older boot (backfill after a restart) or adds a new one. Returns null when there is nothing to compare.
   */
  #enter(device: string, known: Device, boot: string, seq: number, isAgain: boolean): Boot | null {
    const older = known.older?.find((entry) => entry.boot === boot);
    if (older !== undefined) return older;
    if (known.retired?.includes(hash(boot))) {
      this.#unjudged++;
      return null;
    }
    const before = deviceBytes(device, known);
    const list = known.older ?? [];
    known.older = list;
    list.push(known.newest);
    const { isUncertain } = known.newest;
    known.newest = newBoot(boot, seq, isUncertain, isAgain);
    const added = () => deviceBytes(device, known) - before;
    while (list.length === BOOTS_KEPT || (list.length > 0 && !this.#shares.hasRoom(device, added())))
      this.#retire(known, list);
    if (list.length === 0) known.older = null;
    this.#shares.add(device, added());
    return null;
  }

  /** Stops tracking an older boot: the oldest without missing numbers, or else the oldest. */
  #retire(known: Device, older: Boot[]): void {
    const complete = older.findIndex(({ gaps }) => gaps === null);
    const [entry] = older.splice(Math.max(complete, 0), 1);
    const { boot, gaps, duplicates } = entry!;
    if (gaps !== null) {
      this.#gapBytes -= gapBytes(gaps);
      this.#gone -= this.#numbersGone(entry!);
      this.#moveToGivenUp(gaps.size);
    }
    this.#duplicates -= duplicates;
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
    const gone = this.#goneOf.get(entry);
    if (gone !== undefined && from < gone.from) {
      const added = Math.min(to + 1, gone.from) - from;
      gone.numbers += added;
      this.#gone += added;
    }
    this.#resize(entry, before);
  }

  /** A number within the range seen: it closes a gap or is a duplicate. */
  #fill(entry: Boot, seq: number): void {
    const before = gapBytes(entry.gaps);
    if (entry.gaps === null || !entry.gaps.remove(seq)) {
      if (this.isUnchecked) return;
      entry.duplicates++;
      this.#duplicates++;
      return;
    }
    this.#missing--;
    this.#healed++;
    this.#resize(entry, before);
    this.#lessGone(entry, seq < (this.#goneOf.get(entry)?.from ?? 0) ? 1 : 0);
  }

  #resize(entry: Boot, before: number): void {
    if (entry.gaps?.ranges === 0) entry.gaps = null;
    this.#gapBytes += gapBytes(entry.gaps) - before;
    if (this.#gapBytes > BOUNDS.sequenceGaps) this.#shrinkGaps();
  }

  /** Halves the memory of ranges: the clients with the most lose theirs. */
  #shrinkGaps(): void {
    const clients = new Map<string, Boot[]>();
    for (const [device, known] of this.#devices) {
      const open = bootsOf(known).filter(({ gaps }) => gaps !== null);
      if (open.length === 0) continue;
      const client = firstLevelOf(device);
      const boots = clients.get(client);
      if (boots === undefined) clients.set(client, open);
      else boots.push(...open);
    }
    const largest = [...clients.values()]
      .map((boots) => ({ boots, bytes: bytesAt(boots, Number.POSITIVE_INFINITY) }))
      .reverse()
      .sort((a, b) => b.bytes - a.bytes);
    const sumAt = (limit: number) => largest.reduce((sum, { bytes }) => sum + Math.min(bytes, limit), 0);
    let share = largest[0]!.bytes;
    while (sumAt(share) > BOUNDS.sequenceGaps / 2) share /= 2;
    for (const { boots } of largest) this.#shrinkTo(boots, share);
  }

  /**
   * Bounds the ranges of a client, unless all have half of their memory: boots with the most ranges lose theirs first, then
   * the boots that were added last.
   */
  #shrinkTo(boots: Boot[], bytes: number): void {
    if (this.#gapBytes <= BOUNDS.sequenceGaps / 2) return;
    let most = boots.reduce((largest, { gaps }) => Math.max(largest, gaps!.ranges), 0);
    while (most > 1 && bytesAt(boots, most) > bytes) most >>= 1;
    for (const entry of boots) if (entry.gaps!.ranges > most) this.#giveUpOldest(entry, most);
    let left = bytesAt(boots, most);
    for (const entry of boots.reverse()) {
      if (left <= bytes || this.#gapBytes <= BOUNDS.sequenceGaps / 2) return;
      left -= gapBytes(entry.gaps);
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
    // The lowest numbers are gone first.
    this.#lessGone(entry, missing - gaps.size);
    this.#gapBytes += gapBytes(entry.gaps) - before;
  }

  #moveToGivenUp(numbers: number): void {
    this.#missing -= numbers;
    this.#givenUp = Math.min(this.#givenUp + numbers, Number.MAX_SAFE_INTEGER);
  }
}

function gapDocument(
  device: string,
  { boot, highest, gaps, givenUp, duplicates }: Boot,
  gone: number,
): GapDocument {
  const ranges = gaps?.highest(MAX_RANGES_LISTED) ?? [];
  const missing = gaps?.size ?? 0;
  return { device, boot, highest, missing, ranges, givenUp, duplicates, ...(gone === 0 ? {} : { gone }) };
}

function bootsOf({ older, newest }: Device): readonly Boot[] {
  return older === null ? [newest] : [...older, newest];
}

/** Whether a number up to the highest one is not among those that arrived, and can be judged. */
function lacks(entry: Boot, seq: number): boolean {
  return entry.gaps?.has(seq) || (seq < entry.lowest && mayPrecede(entry, seq));
}

/** Whether a number below the lowest one can be judged. */
function mayPrecede({ lowest, floor }: Boot, seq: number): boolean {
  return seq >= floor && lowest - seq <= MAX_JUMP;
}

function toBoot([boot, ...numbers]: BootState): Boot {
  const [lowest, highest, floor, givenUp, duplicates, ...ranges] = numbers as [
    number,
    number,
    number,
    number,
    number,
    ...number[],
  ];
  const gaps = ranges.length === 0 ? null : new RangeSet();
  for (let index = 0; index < ranges.length; index += 2) gaps!.addLast(ranges[index]!, ranges[index + 1]!);
  return { boot: copyString(boot), lowest, highest, floor, gaps, isUncertain: false, givenUp, duplicates };
}

function deviceBytes(device: string, known: Device): number {
  const lists = (known.older === null ? 0 : OLDER_BYTES) + (known.retired === null ? 0 : RETIRED_BYTES);
  return bootsOf(known).reduce(
    (sum, boot) => sum + bootBytes(boot),
    DEVICE_BYTES + textBytes(device) + lists,
  );
}

function bootBytes({ boot }: Boot): number {
  return BOOT_BYTES + textBytes(boot);
}

/** Memory of a string: V8 stores characters of Latin 1 in one byte each, and others in two. */
function textBytes(text: string): number {
  return 16 + 2 * text.length;
}

/**
 * @param isDoubted whether numbers of it may have been stored that were not recorded
 * @param isAgain whether this number may have been one of them
 */
function newBoot(boot: string, seq: number, isDoubted: boolean, isAgain: boolean): Boot {
  return {
    boot: copyString(boot),
    lowest: seq,
    highest: seq,
    floor: isDoubted ? seq : 0,
    gaps: null,
    isUncertain: isDoubted && isAgain,
    givenUp: 0,
    duplicates: 0,
  };
}

function gapBytes(gaps: RangeSet | null): number {
  return gaps === null ? 0 : bytesOf(gaps.ranges);
}

/** Memory of the ranges of boots that have some, with at most `limit` ranges each. */
function bytesAt(boots: readonly Boot[], limit: number): number {
  return boots.reduce((sum, { gaps }) => sum + bytesOf(Math.min(gaps!.ranges, limit)), 0);
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
