import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

export interface ClosedModelOptions {
  /** Operations of all threads together. The first threads also do the remainder. */
  readonly count: number;
  readonly threads: number;
  /**
   * Operations per second over all threads, as YCSB's `-target`. null: a thread starts an operation when its previous
   * one has ended.
   */
  readonly rate?: number | null;
  /** No operation starts later, a time of `performance.now()`. Default: none. */
  readonly deadline?: number;
  /** No operation starts after an abort. */
  readonly signal?: AbortSignal;
}

export interface ObservedRun {
  readonly seconds: number;
  /** Operations that succeeded; a read-modify-write counts once. */
  readonly done: number;
  /** Operations that were started. */
  readonly started: number;
}

/**
 * A timer of Node can fire this much late. When a thread was idle at the intended start and begins at most this much
 * later, the delay is that of the timer, and the operation is measured from its actual start. Milliseconds.
 */
const TIMER_MS = 2;
/** A store in this process can answer without a turn of the event loop. A signal waits for one, so there is one this often. */
const TURN_MS = 50;

/**
 * Runs operations in YCSB's closed model: each thread starts an operation when its previous one has ended.
 *
 * With a rate, each operation has an intended start. An operation that starts late because the previous one of its
 * thread took long is measured from the intended start, so a stall of the store counts for all operations that it
 * delays (no coordinated omission).
 *
 * @param perform does the next operation of a thread, and resolves to true if it succeeded. `due`: the intended start,
 * if it is in the past.
 */
export async function runClosedModel(
  perform: (thread: number, due: number | null) => Promise<boolean>,
  { count, threads, rate = null, deadline = Number.POSITIVE_INFINITY, signal }: ClosedModelOptions,
): Promise<ObservedRun> {
  const interval = rate === null ? 0 : (threads * 1000) / rate;
  let done = 0;
  let started = 0;
  const begun = performance.now();
  let turned = begun;
  await Promise.all(
    Array.from({ length: threads }, async (_, thread) => {
      const share = shareOf(count, threads, thread);
      // As in YCSB, the first operations of the threads are spread over one interval.
      const first = begun + (thread / threads) * interval;
      for (let number = 0; number < share; number += 1) {
        if (performance.now() - turned > TURN_MS) {
          turned = performance.now();
          await nextTurn();
        }
        const due = rate === null ? null : await dueAt(first + number * interval, deadline);
        if (due === 'over' || signal?.aborted || performance.now() > deadline) return;
        started += 1;
        if (await perform(thread, due)) done += 1;
      }
    }),
  );
  return { seconds: (performance.now() - begun) / 1000, done, started };
}

/** Operations of one thread, of `count` in total. The first threads also do the remainder. */
export function shareOf(count: number, threads: number, thread: number): number {
  return Math.floor(count / threads) + (thread < count % threads ? 1 : 0);
}

/**
 * Waits for the intended start, or for the deadline: the time until then is a part of the run. Resolves to the start if it is
 * in the past, to null if the operation is on time, and to `over` if it is after the deadline.
 */
async function dueAt(due: number, deadline: number): Promise<number | null | 'over'> {
  const wait = Math.min(due, deadline) - performance.now();
  if (wait > 0) await sleep(Math.ceil(wait));
  if (due > deadline) return 'over';
  if (wait <= 0) return due;
  return performance.now() - due > TIMER_MS ? due : null;
}
