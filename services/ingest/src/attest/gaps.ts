import { MAX_JUMP, type TrackedBoot } from '../ledger/sequence-ledger.ts';
import type { BootFacts, FoundDay, Range } from './day-facts.ts';

/** The gaps of one boot, by the day of the next number above each. */
export type GapsByDay = ReadonlyMap<number, readonly Range[]>;

/** The numbers of gaps, by what the ledger has about them. */
export interface JudgedNumbers {
  /** They never arrived, or are in quarantine. */
  readonly missing: readonly Range[];
  /** They arrived, and no stored reading has them: because of a correction, a filter, a deletion, or the spool. */
  readonly arrived: readonly Range[];
  /** The ledger has nothing about them. */
  readonly unjudged: readonly Range[];
}

interface Segment {
  readonly day: number;
  readonly range: Range;
}

/**
 * The gaps of each boot of a device in a period: the numbers between the lowest and the highest one that no reading of the
 * period has, on whatever day. A boot with a day whose numbers are not listed has none. As in the ledger, a number that is
 * more than 2^32 above the one before does not continue the sequence.
 *
 * @param before the highest number of a boot before the period: gaps begin above it, unless the period has lower numbers
 */
export function gapsOf(
  days: readonly FoundDay[],
  before: ReadonlyMap<string, number>,
): Map<string, GapsByDay> {
  const segments = new Map<string, Segment[] | null>();
  for (const { day, facts } of days) {
    for (const boot of facts?.boots ?? []) addSegments(segments, day, boot);
  }
  const gaps = new Map<string, GapsByDay>();
  for (const [boot, found] of segments)
    if (found !== null) gaps.set(boot, between(found, before.get(boot) ?? null));
  return gaps;
}

/** Adds the numbers of a boot on a day; null for a boot whose numbers are not all listed. */
function addSegments(
  segments: Map<string, Segment[] | null>,
  day: number,
  { boot, numbers }: BootFacts,
): void {
  const known = segments.get(boot);
  if (known === null) return;
  if (numbers === null) {
    segments.set(boot, null);
    return;
  }
  const list = known ?? [];
  for (const range of numbers) list.push({ day, range });
  segments.set(boot, list);
}

/** @param segments at least one */
function between(segments: readonly Segment[], before: number | null): GapsByDay {
  const sorted = segments.toSorted((a, b) => a.range[0] - b.range[0] || a.day - b.day);
  const gaps = new Map<number, Range[]>();
  const [lowest] = sorted[0]!.range;
  let covered = before === null ? lowest : Math.min(before, lowest);
  for (const { day, range } of sorted) {
    const [from, to] = range;
    if (from > covered + 1 && from - covered <= MAX_JUMP) {
      const list = gaps.get(day) ?? [];
      list.push([covered + 1, from - 1]);
      gaps.set(day, list);
    }
    covered = Math.max(covered, to);
  }
  return gaps;
}

/** @param known null: the ledger does not track the boot */
export function judge(ranges: readonly Range[], known: TrackedBoot | null): JudgedNumbers {
  if (known === null) return { missing: [], arrived: [], unjudged: ranges };
  const missing: Range[] = [];
  const arrived: Range[] = [];
  const unjudged: Range[] = [];
  const add = (list: Range[], from: number, to: number): void => {
    if (from <= to) list.push([from, to]);
  };
  for (const [from, to] of ranges) {
    const [least, most] = [Math.max(from, known.lowest), Math.min(to, known.highest)];
    add(unjudged, from, Math.min(to, known.lowest - 1));
    let next = least;
    for (const range of least <= most ? known.missing(least, most) : []) {
      add(arrived, next, range[0] - 1);
      missing.push(range);
      next = range[1] + 1;
    }
    add(arrived, next, most);
    add(unjudged, Math.max(from, known.highest + 1), to);
  }
  return { missing, arrived, unjudged };
}

/** How many numbers ranges have. */
export function sizeOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}
