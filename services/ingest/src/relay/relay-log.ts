import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DecodeError, isTable, now } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { replaceFile } from '../replace-file.ts';
import { type Segment, Spool } from '../spool.ts';
import type { SpoolEntry } from '../spool-entry.ts';
import { dayOf } from './day-digest.ts';
import { decodeRelayed } from './relayed-lines.ts';

/** UTC days, both inclusive, counted since the epoch. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/** Ranges of lost days that are kept apart. Of more, the closest are joined. */
const MOST_RANGES = 16;

/** The days from the first to the last one of both ranges. */
export function unite(one: DayRange | null, other: DayRange): DayRange {
  if (one === null) return other;
  return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };
}

/** What a restart needs besides the segments. */
interface State {
  /** The centre, without secrets. For people. */
  readonly centre: string;
  /** Days with readings that were dropped, apart and in order. An earlier version wrote one range or null. */
  readonly lost: readonly DayRange[];
  /** The newest day that was compared with the centre; at first the last one before the log was made. */
  readonly compared: number;
}

/**
 * What one centre does not have yet, on the board's disk: a spool of relayed lines. At its bound, or while its disk cannot
 * be written, readings are dropped, the oldest first, and their days are kept in a file `state.json` beside the segments.
 */
export class RelayLog {
  /** How often readings were dropped since the start. */
  drops = 0;
  readonly #spool: Spool;
  readonly #file: string;
  readonly #logger: Logger;
  #state: State;
  /** The number of the newest segment that was dropped. */
  #dropped = -1;
  /** Serializes removals. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Opens the log of an earlier process.
   *
   * @param centre its URL without secrets
   * @throws {ConfigError} when the directory cannot be used
   */
  constructor(directory: string, maxBytes: number, centre: string, logger: Logger) {
    this.#spool = new Spool(directory, maxBytes, logger);
    this.#file = join(directory, 'state.json');
    this.#logger = logger;
    let waiting = 0;
    for (const _ of this.#spool.recover()) waiting++;
    if (waiting > 0)
      logger.info({ bytes: this.#spool.bytes }, 'readings of an earlier process wait for the centre');
    this.#state = { ...this.#readState(), centre };
    this.#keepState();
  }

  /** Bytes that wait on the disk. */
  get bytes(): number {
    return this.#spool.bytes;
  }

  get isEmpty(): boolean {
    return this.#spool.empty;
  }

  /** When the oldest readings that wait were committed, microseconds since the epoch; null when nothing waits. */
  get since(): number | null {
    return this.#spool.since;
  }

  /** Days with readings that were dropped, in ranges that are apart: another object for a range after each drop in it. */
  get lost(): readonly DayRange[] {
    return this.#state.lost;
  }

  get compared(): number {
    return this.#state.compared;
  }

  /** Keeps entries, and drops older ones for them. Resolves when they are fsynced, or when their days are noted as lost. */
  async append(entries: readonly SpoolEntry[]): Promise<void> {
    while (!(await this.#spool.append(entries))) {
      if (this.#spool.trouble === null && (await this.#makeRoom())) continue;
      this.#lose(daysOf(entries));
      return;
    }
  }

  /** The oldest segment with its entries; null when nothing waits. A segment that cannot be read is dropped. */
  async oldest(): Promise<{ readonly segment: Segment; readonly entries: readonly SpoolEntry[] } | null> {
    return this.#inTurn(async () => {
      for (let segment = await this.#spool.oldest(); segment !== null; segment = await this.#spool.oldest()) {
        const entries = await this.#read(segment);
        if (entries !== null) return { segment, entries };
        await this.#drop(segment, null);
      }
      return null;
    });
  }

  /** Deletes the oldest segment, after the centre has all of it. */
  remove(segment: Segment): Promise<void> {
    return this.#inTurn(async () => {
      // It can have been dropped while it was sent.
      if (segment.number > this.#dropped) await this.#spool.remove(segment);
    });
  }

  /**
   * Notes that days were compared.
   *
   * @param lost their range of `lost` when the comparison began, if it was about one. What was dropped since has to be
   *   compared again
   */
  wasCompared(days: DayRange, lost: DayRange | null): void {
    const { lost: left, compared } = this.#state;
    this.#state = {
      ...this.#state,
      lost: left.filter((range) => range !== lost),
      compared: lost === null ? Math.max(compared, days.to) : compared,
    };
    this.#keepState();
  }

  close(): Promise<void> {
    return this.#spool.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #read(segment: Segment): Promise<readonly SpoolEntry[] | null> {
    try {
      return [...(await this.#spool.read(segment))];
    } catch (error) {
      this.#logger.error({ err: error }, 'a segment of the relay cannot be read and is dropped');
      return null;
    }
  }

  /** Drops the oldest segment. @returns whether one was dropped */
  async #makeRoom(): Promise<boolean> {
    try {
      return await this.#inTurn(async () => {
        const segment = await this.#spool.oldest();
        if (segment !== null) await this.#drop(segment, await this.#read(segment));
        return segment !== null;
      });
    } catch (error) {
      this.#logger.error({ err: error }, 'a segment of the relay cannot be removed');
      return false;
    }
  }

  /** @param entries null when they are not known: readings of the day before, and later ones, are assumed then */
  async #drop(segment: Segment, entries: readonly SpoolEntry[] | null): Promise<void> {
    this.#lose(
      entries === null
        ? [{ from: Math.max(0, dayOf(segment.since) - 1), to: dayOf(now()) }]
        : daysOf(entries),
    );
    await this.#spool.remove(segment);
    this.#dropped = segment.number;
  }

  #lose(days: readonly DayRange[]): void {
    if (days.length === 0) return;
    this.drops++;
    const { lost: before } = this.#state;
    const lost = joined([...before, ...days]);
    this.#state = { ...this.#state, lost };
    if (isDeepStrictEqual(before, lost)) return;
    this.#logger.warn(
      { days: lost },
      'readings for the centre were dropped: their days will be compared and sent again',
    );
    this.#keepState();
  }

  #readState(): Omit<State, 'centre'> {
    const before = dayOf(now()) - 1;
    try {
      const state: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      if (isTable(state)) return { lost: rangesOf(state.lost), compared: countOf(state.compared) ?? before };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#logger.error({ err: error }, 'the state of the relay cannot be read: it begins again');
    }
    return { lost: [], compared: before };
  }

  #keepState(): void {
    try {
      replaceFile(this.#file, `${JSON.stringify(this.#state)}\n`);
    } catch (error) {
      // In memory it is complete. The daily comparison covers the last days after a crash.
      this.#logger.error({ err: error, file: this.#file }, 'the state of the relay cannot be written');
    }
  }
}

/** The days of the readings of some entries, in any order. */
function daysOf(entries: readonly SpoolEntry[]): readonly DayRange[] {
  const days = new Set<number>();
  for (const { payload } of entries) {
    const readings = decodeRelayed(payload);
    if (readings instanceof DecodeError) continue;
    for (const { time } of readings) days.add(dayOf(time));
  }
  return Array.from(days, (day) => ({ from: day, to: day }));
}

/**
 * The days of ranges in at most `MOST_RANGES`, apart and in order, with days between them only where there are more. A range
 * that overlaps no other one stays the same object.
 */
function joined(ranges: readonly DayRange[]): readonly DayRange[] {
  const apart: DayRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1);
    if (last !== undefined && range.from <= last.to + 1) apart.splice(-1, 1, unite(last, range));
    else apart.push(range);
  }
  while (apart.length > MOST_RANGES) {
    const gaps = apart.slice(1).map(({ from }, index) => from - apart[index]!.to);
    const closest = gaps.indexOf(Math.min(...gaps));
    apart.splice(closest, 2, unite(apart[closest]!, apart[closest + 1]!));
  }
  return apart;
}

function rangesOf(value: unknown): readonly DayRange[] {
  const ranges = (Array.isArray(value) ? value : [value]).map(rangeOf);
  return joined(ranges.filter((range) => range !== null));
}

function rangeOf(value: unknown): DayRange | null {
  if (!isTable(value)) return null;
  const [from, to] = [countOf(value.from), countOf(value.to)];
  return from === null || to === null ? null : { from, to };
}

function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}
