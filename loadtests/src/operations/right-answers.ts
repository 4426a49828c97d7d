import { dayOf, type QueryName, type ReadLoad } from './read-load.ts';

/** A reading of an answer. */
export interface AnsweredReading {
  readonly device: string;
  /** Microseconds. */
  readonly time: number;
  readonly value: number;
}

/** A group of an answer, by device, day or metric. */
export interface AnsweredGroup {
  readonly key: string;
  readonly count: number;
  readonly sum: number;
  readonly mean: number;
}

/** What a read found. Queries without groups have no groups, and so on. */
export interface Answer {
  /** The site of the device. */
  readonly site?: string | null;
  readonly readings?: readonly AnsweredReading[];
  readonly groups?: readonly AnsweredGroup[];
}

/** By which figure the groups of a query are ordered, the largest first. null: by key, ascending. */
type Figure = 'sum' | 'mean' | 'count' | null;

/** Devices in the answer of `q5`. */
export const TOP = 100;
/** Stores may round a mean in different ways. */
const MEAN_ERROR = 1e-9;

/** The right answer of one query, computed from the generator. */
export class RightAnswer {
  readonly #check: (answer: Answer) => boolean;

  /** @throws {Error} when the load is too small for the query */
  constructor(load: ReadLoad, query: QueryName) {
    this.#check = checkOf(load, query);
  }

  /** Whether an answer is complete and right. */
  accepts(answer: Answer): boolean {
    return this.#check(answer);
  }
}

function checkOf(load: ReadLoad, query: QueryName): (answer: Answer) => boolean {
  const { device, names, from, to } = load.asked;
  const whole = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  switch (query) {
    case 'q1':
      load.firstOfAsked();
      return ({ site }) => site === device.site;
    case 'q2': {
      const [newest] = readingsOf(load, [device.name], whole).slice(-1);
      return ({ readings = [] }) => readings.length === 1 && isSame(readings[0]!, newest);
    }
    case 'q3': {
      const expected = readingsOf(load, [device.name], { from, to }).reverse();
      return ({ site, readings = [] }) => site === device.site && areSame(readings, expected);
    }
    case 'q4': {
      const expected = readingsOf(load, [device.name], whole).reverse();
      return ({ readings = [] }) => areSame(readings, expected);
    }
    case 'q5':
      return groupsCheck(groupsOf(load, 'device'), 'sum', TOP);
    case 'q6':
      return groupsCheck(groupsOf(load, 'device'), 'mean');
    case 'q7':
      return groupsCheck(groupsOf(load, 'day'), null);
    case 'q8':
      return groupsCheck(groupsOf(load, 'metric'), 'count');
    case 'q9':
      return groupsCheck(groupsOf(load, 'metric'), 'sum');
    case 'q10': {
      const expected = readingsOf(load, names, whole);
      // By device first; the order of time is that of the generator, so it identifies a reading.
      return ({ readings = [] }) =>
        areSame(
          readings.toSorted((a, b) => a.time - b.time),
          expected,
        );
    }
  }
}

/** Readings of some devices in [from, to), by time. */
function readingsOf(
  load: ReadLoad,
  names: readonly string[],
  { from, to }: { readonly from: number; readonly to: number },
): AnsweredReading[] {
  const wanted = new Set(names);
  const found: AnsweredReading[] = [];
  for (let number = 0; number < load.readings; number += 1) {
    const reading = load.reading(number);
    if (reading.time >= from && reading.time < to && wanted.has(reading.device)) found.push(reading);
  }
  return found;
}

type Totals = ReadonlyMap<string, { readonly count: number; readonly sum: number }>;

function groupsOf(load: ReadLoad, by: 'device' | 'day' | 'metric'): Totals {
  const totals = new Map<string, { count: number; sum: number }>();
  for (let number = 0; number < load.readings; number += 1) {
    const { device, metric, time, value } = load.reading(number);
    const key = by === 'device' ? device : by === 'metric' ? metric : dayOf(time);
    const total = totals.get(key);
    if (total === undefined) totals.set(key, { count: 1, sum: value });
    else {
      total.count += 1;
      total.sum += value;
    }
  }
  return totals;
}

/** Each group must have its exact count and sum, and the order must be that of the figure. */
function groupsCheck(totals: Totals, figure: Figure, most = totals.size): (answer: Answer) => boolean {
  const expected = Math.min(most, totals.size);
  const top =
    expected === totals.size
      ? totals
      : new Map(
          [...totals].toSorted(([a, x], [b, y]) => y.sum - x.sum || (a < b ? -1 : 1)).slice(0, expected),
        );
  return ({ groups = [] }) =>
    groups.length === expected &&
    new Set(groups.map(({ key }) => key)).size === expected &&
    groups.every((group) => isRight(group, top)) &&
    isOrdered(groups, figure);
}

function isRight({ key, count, sum, mean }: AnsweredGroup, totals: Totals): boolean {
  const total = totals.get(key);
  if (total === undefined || total.count !== count || total.sum !== sum) return false;
  return Math.abs(mean - sum / count) <= MEAN_ERROR * Math.abs(mean);
}

function isOrdered(groups: readonly AnsweredGroup[], figure: Figure): boolean {
  for (let index = 1; index < groups.length; index += 1) {
    const [before, after] = [groups[index - 1]!, groups[index]!];
    const isRising =
      figure === null ? before.key >= after.key : after[figure] > before[figure] * (1 + MEAN_ERROR);
    if (isRising) return false;
  }
  return true;
}

function areSame(found: readonly AnsweredReading[], expected: readonly AnsweredReading[]): boolean {
  return found.length === expected.length && found.every((each, index) => isSame(each, expected[index]));
}

function isSame(one: AnsweredReading, other: AnsweredReading | undefined): boolean {
  return one.device === other?.device && one.time === other.time && one.value === other.value;
}
