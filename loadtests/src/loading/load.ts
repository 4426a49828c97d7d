import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpAnswer } from '../drivers/http-client.ts';
import { outcomeOf } from '../operations/outcome.ts';
import { Progress } from './progress.ts';

/**
 * Size of a batch. A batch starts when the previous one is complete. An existing item therefore shows that all batches
 * before its own are complete, and an interrupted load can continue without a record of its progress.
 */
const STRETCH = 1000;
const ATTEMPTS = 4;
const PAUSE_MS = 250;
const SAMPLES = 20;

/** Items that must exist before a run. They are numbered from 0. */
export interface Items {
  readonly name: string;
  readonly count: number;
  readonly isThere: (number: number) => Promise<boolean>;
  readonly insert: (number: number) => Promise<void>;
}

export interface Loaded {
  /** Items that existed already. */
  readonly found: number;
  readonly inserted: number;
  readonly perSecond: number;
}

/** The store does not contain what a run reads. */
export class NotLoadedError extends Error {}

/** Inserts the missing items, `threads` at once, and shows the progress. */
export async function load(items: Items, threads: number, signal: AbortSignal): Promise<Loaded> {
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
 * @param fine outcomes that count as success, in addition to OK
 * @throws {Error} when the request fails; the message explains how to continue
 */
export async function insist(what: string, send: () => Promise<HttpAnswer>, ...fine: string[]) {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send();
    const outcome = outcomeOf(answer.status);
    if (outcome === 'OK' || fine.includes(outcome)) return answer;
    const passing = outcome === 'SERVICE_UNAVAILABLE' || outcome === 'TIMEOUT';
    if (!passing || attempt === ATTEMPTS) {
      throw new Error(`${what} failed: ${answer.status} ${answer.body}\nThe same command goes on from here.`);
    }
    await sleep(PAUSE_MS * 2 ** attempt);
  }
}
