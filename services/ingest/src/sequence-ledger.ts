import type { GapDocument } from '@tidegauge/readings';

const MAX_DEVICES = 100_000;
const BOOTS_KEPT = 3;
const MAX_RANGES = 64;
const MAX_LISTED = 200;

interface Boot {
  readonly boot: string;
  lowest: number;
  highest: number;
  /** Missing sequence numbers, inclusive ranges, ascending. */
  readonly missing: [number, number][];
  /** Missing numbers in ranges no longer listed, because there were too many. */
  forgotten: number;
  duplicates: number;
}

/**
 * What stamping devices did not deliver, by name: for each (device, boot), the sequence numbers that are
 * missing between the lowest and the highest stored, and those seen more than once. Numbers below the first
 * one seen are not missed: ingest may have joined late. Bounded: devices, boots per device and ranges per boot.
 */
export class SequenceLedger {
  readonly #devices = new Map<string, Boot[]>();
  #untracked = false;
  #gapsOpened = 0;
  #missing = 0;
  #duplicates = 0;

  /** Sequence numbers ever skipped over; those that came later are still counted. */
  get gapsOpened(): number {
    return this.#gapsOpened;
  }

  /** Sequence numbers missing now. */
  get missing(): number {
    return this.#missing;
  }

  get duplicates(): number {
    return this.#duplicates;
  }

  get devices(): number {
    return this.#devices.size;
  }

  /** Counts one stored sequence number. */
  record(device: string, boot: string, seq: number): void {
    const boots = this.#devices.get(device);
    const newest = boots?.[boots.length - 1];
    const entry =
      newest !== undefined && newest.boot === boot ? newest : this.#enter(device, boots, boot, seq);
    if (entry === null) return;
    if (seq === entry.highest + 1) {
      entry.highest = seq;
    } else if (seq > entry.highest) {
      this.#miss(entry, entry.highest + 1, seq - 1);
      entry.highest = seq;
    } else if (seq < entry.lowest) {
      this.#miss(entry, seq + 1, entry.lowest - 1);
      entry.lowest = seq;
    } else {
      this.#fill(entry, seq);
    }
  }

  /** The boots that miss or repeat something, worst first; `truncated` when the list or the tracking was cut. */
  list(): { readonly list: readonly GapDocument[]; readonly truncated: boolean } {
    const found: GapDocument[] = [];
    let truncated = this.#untracked;
    for (const [device, boots] of this.#devices) {
      for (const { boot, highest, missing, forgotten, duplicates } of boots) {
        const count = missing.reduce((sum, [from, to]) => sum + to - from + 1, forgotten);
        if (count === 0 && duplicates === 0) continue;
        truncated ||= forgotten > 0;
        const ranges = missing.map(([from, to]) => [from, to] as const);
        found.push({ device, boot, highest, missing: count, ranges, duplicates });
      }
    }
    found.sort((a, b) => b.missing - a.missing || b.duplicates - a.duplicates);
    return { list: found.slice(0, MAX_LISTED), truncated: truncated || found.length > MAX_LISTED };
  }

  /** Finds an older boot (backfill after a restart) or begins a new one; null when `seq` was its beginning. */
  #enter(device: string, known: Boot[] | undefined, boot: string, seq: number): Boot | null {
    const older = known?.find((entry) => entry.boot === boot);
    if (older !== undefined) return older;
    if (known === undefined && this.#devices.size >= MAX_DEVICES) {
      this.#untracked = true;
      return null;
    }
    const boots = known ?? [];
    if (known === undefined) this.#devices.set(device, boots);
    boots.push({ boot, lowest: seq, highest: seq, missing: [], forgotten: 0, duplicates: 0 });
    if (boots.length > BOOTS_KEPT) boots.shift();
    return null;
  }

  #miss(entry: Boot, from: number, to: number): void {
    if (from > to) return;
    this.#missing += to - from + 1;
    this.#gapsOpened += to - from + 1;
    const at = entry.missing.findIndex(([start]) => start > from);
    entry.missing.splice(at === -1 ? entry.missing.length : at, 0, [from, to]);
    if (entry.missing.length > MAX_RANGES) {
      const [start, end] = entry.missing.shift()!;
      entry.forgotten += end - start + 1;
    }
  }

  /** A number inside the range seen: it closes a gap, or was here before. */
  #fill(entry: Boot, seq: number): void {
    const at = entry.missing.findIndex(([from, to]) => seq >= from && seq <= to);
    if (at === -1) {
      entry.duplicates++;
      this.#duplicates++;
      return;
    }
    const [from, to] = entry.missing[at]!;
    const rest: [number, number][] = [];
    if (seq > from) rest.push([from, seq - 1]);
    if (seq < to) rest.push([seq + 1, to]);
    entry.missing.splice(at, 1, ...rest);
    this.#missing--;
  }
}
