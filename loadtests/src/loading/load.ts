import { setTimeout as sleep } from 'node:timers/promises';
import { isRetryable } from '@tidegauge/storage';
import { type HttpAnswer, refusalIn } from '../drivers/http-client.ts';
import { type Outcome, outcomeOf } from '../operations/outcome.ts';
import { Progress } from './progress.ts';

/**
 * Size of a batch. A batch starts when the previous one is complete. An existing item therefore shows that all batches
 * before its own are complete, and an interrupted load can continue without a record of its progress.
 */
const STRETCH = 1000;
const ATTEMPTS = 4;
const PAUSE_MS = 250;
const SAMPLES = 20;
const CONTINUE = 'The same command goes on from here.';

/** Items that must exist before a run. They are numbered from 0. */
export interface Items {
  readonly name: string;
  readonly count: number;
  readonly isThere: (number: number) => Promise<boolean>;
  readonly insert: (number: number) => Promise<void>;
  /** Inserts many items at once. Without it, they are inserted one by one. */
  readonly bulk?: Bulk;
}

export interface Bulk {
  /** Items in one call: a whole number from 1 to `MAX_BATCH`, so that their size is bounded. */
  readonly batch: number;
  readonly isEmpty: () => Promise<boolean>;
  /** Inserts items that do not exist. An item that exists is no error. */
  readonly insert: (numbers: readonly number[]) => Promise<void>;
}

/** The largest `batch`. */
export const MAX_BATCH = 500;
/** Batches that are inserted at the same time. */
export const BATCHES_AT_ONCE = 4;
/**
 * A batch starts when all items that are this far before its end exist. An existing item therefore shows that all items
 * this far before it exist, whatever the size of the batches was.
 */
const WINDOW = BATCHES_AT_ONCE * MAX_BATCH;
/** Items that are checked at the same time where a load continues. */
const CHECKS_AT_ONCE = 16;

export interface Loaded {
  /** Items that existed already. */
  readonly found: number;
  readonly inserted: number;
  readonly perSecond: number;
}

/** The store does not contain what a run reads. */
export class NotLoadedError extends Error {}

/**
 * Inserts the missing items, and shows the progress. Items without `bulk` are inserted one by one, `threads` at once.
 */
export async function load(items: Items, threads: number, signal: AbortSignal): Promise<Loaded> {
  if (items.bulk !== undefined) return loadBatches(items, items.bulk, signal);
  const { name, count, isThere, insert } = items;
  const stretches = Math.ceil(count / STRETCH);
  const first = await firstToLoad(stretches, (stretch) => isThere(stretch * STRETCH));
  let done = first * STRETCH;
  let found = done;
  const progress = new Progress(`loading ${name}`, count, done);
  for (let stretch = first; stretch < stretches; stretch += 1) {
    const end = Math.min(count, (stretch + 1) * STRETCH);
    let next = stretch * STRETCH;
    let stopped = false;
    const work = async (): Promise<void> => {
      while (next < end && !stopped) {
        signal.throwIfAborted();
        const number = next++;
        // The first batch to load may be partly loaded. So may the next one, if only its first item is missing. Items
        // that exist stay unchanged.
        if (stretch <= first + 1 && (await isThere(number))) found += 1;
        else await insert(number);
        progress.at(++done);
      }
    };
    const worker = () =>
      work().catch((error: unknown) => {
        stopped = true;
        throw error;
      });
    const ended = await Promise.allSettled(Array.from({ length: Math.min(threads, end - next) }, worker));
    for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  }
  return { found, inserted: count - found, perSecond: progress.end(count) };
}

async function loadBatches(items: Items, bulk: Bulk, signal: AbortSignal): Promise<Loaded> {
  const { name, count, isThere } = items;
  const [start, checkedTo] = (await bulk.isEmpty()) ? [0, 0] : await partlyLoaded(items);
  let done = start;
  let found = start;
  const progress = new Progress(`loading ${name}`, count, start);
  const insert = async (from: number, to: number): Promise<void> => {
    const numbers = Array.from({ length: to - from }, (_, index) => from + index);
    // Items that exist stay unchanged, also where an insert replaces them.
    const missing = from < checkedTo ? await missingOf(numbers, isThere) : numbers;
    found += numbers.length - missing.length;
    signal.throwIfAborted();
    if (missing.length > 0) await bulk.insert(missing);
    done += numbers.length;
    progress.at(done);
  };
  const running: Promise<void>[] = [];
  try {
    for (let from = start; from < count; from += bulk.batch) {
      signal.throwIfAborted();
      if (running.length === BATCHES_AT_ONCE) await running.shift();
      const batch = insert(from, Math.min(count, from + bulk.batch));
      // The loop or the end reports it.
      batch.catch(() => {});
      running.push(batch);
    }
  } finally {
    await Promise.allSettled(running);
  }
  await Promise.all(running);
  return { found, inserted: count - found, perSecond: progress.end(count) };
}

/** All items before the first number exist, and none from the second number on. */
async function partlyLoaded({ count, isThere }: Items): Promise<readonly [from: number, to: number]> {
  const last =
    STRETCH * (await firstToLoad(Math.ceil(count / STRETCH), (stretch) => isThere(stretch * STRETCH)));
  return [Math.max(0, last - WINDOW), Math.min(count, last + STRETCH + WINDOW)];
}

async function missingOf(
  numbers: readonly number[],
  isThere: (number: number) => Promise<boolean>,
): Promise<number[]> {
  const missing = new Set(numbers);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < numbers.length) {
      const number = numbers[next++]!;
      if (await isThere(number)) missing.delete(number);
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, work));
  return [...missing];
}

/** The number of the last batch that was started. All batches before it are complete. 0 if none was started. */
export async function firstToLoad(
  stretches: number,
  isBegun: (stretch: number) => Promise<boolean>,
): Promise<number> {
  let begun = 0;
  for (let missing = stretches; missing - begun > 1; ) {
    const middle = (begun + missing) >> 1;
    if (await isBegun(middle)) begun = middle;
    else missing = middle;
  }
  return begun;
}

/**
 * Checks that a sample of about twenty items exists, with the first and the last one.
 *
 * @throws {NotLoadedError} when one of them does not exist
 */
export async function requireLoaded({ name, count, isThere }: Items): Promise<void> {
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const number = Math.round((sample * (count - 1)) / (SAMPLES - 1));
    if (await isThere(number)) continue;
    const what = `${name} are not loaded: number ${number} of ${count} is not there`;
    throw new NotLoadedError(`${what}; load them with --phase load, or leave --phase out`);
  }
}

/**
 * Sends a request, and retries it up to three times while the store is unavailable.
 *
 * @param fine outcomes and HTTP statuses that count as success, in addition to OK
 * @throws {Error} when the request fails; the message explains how to continue
 */
export async function insist(
  what: string,
  send: () => Promise<HttpAnswer>,
  ...fine: readonly (Outcome | number)[]
): Promise<HttpAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send().catch((cause: Error) => {
      throw new Error(`${what} failed: ${cause.message}\n${CONTINUE}`, { cause });
    });
    const outcome = outcomeOf(answer.status);
    if (outcome === 'OK' || fine.includes(outcome) || fine.includes(answer.status)) return answer;
    const passing = outcome === 'SERVICE_UNAVAILABLE' || outcome === 'TIMEOUT';
    if (!passing || attempt === ATTEMPTS) {
      const advice =
        outcome === 'FORBIDDEN' ? 'Give a token that may do this: --api-token or API_TOKEN.' : CONTINUE;
      throw new Error(`${what} failed: ${refusalIn(answer)}\n${advice}`);
    }
    await sleep(PAUSE_MS * 2 ** attempt);
  }
}

/**
 * Calls a store, and repeats the call up to three times while the store is unavailable. The call must be repeatable.
 *
 * @throws {Error} when the call fails; the message explains how to continue
 */
export async function insistOnStore<T>(what: string, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (cause) {
      if (!isRetryable(cause) || attempt === ATTEMPTS) {
        throw new Error(`${what} failed: ${(cause as Error).message}\n${CONTINUE}`, { cause });
      }
    }
    await sleep(PAUSE_MS * 2 ** attempt);
  }
}
