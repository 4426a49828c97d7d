import { setTimeout as sleep } from 'node:timers/promises';
import { initialRecords, keyName, type RecordWorkload } from '@tidegauge/workload';
import type { HttpClient } from './http-client.ts';
import { outcomeOf } from './outcome.ts';
import { Progress } from './progress.ts';
import { recordBody, recordsHttp } from './records-http.ts';

/**
 * Records are loaded in stretches, the next begun when the last is whole: so a record that is there says that all
 * stretches before its own are, and a load that was cut off goes on without a note of how far it came.
 */
const STRETCH = 1000;
const ATTEMPTS = 4;
const PAUSE_MS = 250;
const SAMPLES = 20;

export interface LoadOptions {
  readonly api: string;
  readonly client: HttpClient;
  readonly workload: RecordWorkload;
  readonly seed: number;
  readonly threads: number;
  readonly signal: AbortSignal;
}

export interface Loaded {
  /** Records that were there already. */
  readonly found: number;
  readonly inserted: number;
  readonly perSecond: number;
}

/** A table without the records that a workload asks for: nothing to measure. */
export class NotLoadedError extends Error {}

/** Makes the table and inserts those of the workload's records that are not there yet, `threads` at once, showing how far it is. */
export async function loadRecords(options: LoadOptions): Promise<Loaded> {
  const { workload, threads, signal } = options;
  const { insertStart, insertCount, table } = workload;
  await makeTable(options);
  const stretches = Math.ceil(insertCount / STRETCH);
  const first = await firstToLoad(stretches, (stretch) => isThere(options, insertStart + stretch * STRETCH));
  let done = first * STRETCH;
  let found = done;
  const insertOne = inserter(options);
  const progress = new Progress(`loading ${table}`, insertCount, done);
  for (let stretch = first; stretch < stretches; stretch += 1) {
    const end = Math.min(insertCount, (stretch + 1) * STRETCH);
    let next = stretch * STRETCH;
    const worker = async (): Promise<void> => {
      while (next < end) {
        signal.throwIfAborted();
        const number = insertStart + next++;
        // Only the first stretch can have some: they are left as they are, whatever a run has made of them.
        if (stretch === first && (await isThere(options, number))) found += 1;
        else await insertOne(number);
        progress.at(++done);
      }
    };
    await Promise.all(Array.from({ length: Math.min(threads, end - next) }, worker));
  }
  return { found, inserted: insertCount - found, perSecond: progress.end(insertCount) };
}

/** The last stretch that was begun: all before it are whole. 0 when none was. */
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

/** @throws {NotLoadedError} when one of some twenty records, the first and the last among them, is not there */
export async function requireLoaded(options: LoadOptions): Promise<void> {
  const { insertStart, insertCount, table, insertOrder, zeroPadding } = options.workload;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const number = insertStart + Math.round((sample * (insertCount - 1)) / (SAMPLES - 1));
    if (await isThere(options, number)) continue;
    const key = keyName(number, insertOrder, zeroPadding);
    const what = `${table} is not loaded: record ${number} of ${insertCount} (${key}) is not there`;
    throw new NotLoadedError(`${what}; load it with --phase load, or leave --phase out`);
  }
}

async function makeTable({ api, client, workload: { table, fieldCount } }: LoadOptions): Promise<void> {
  const url = recordsHttp(api, table).table;
  const { status, body } = await client.send('PUT', url, JSON.stringify({ fieldCount }));
  if (outcomeOf(status) !== 'OK') throw new Error(`${table} could not be made: ${status} ${body}`);
}

async function isThere({ api, client, workload }: LoadOptions, number: number): Promise<boolean> {
  const key = keyName(number, workload.insertOrder, workload.zeroPadding);
  const url = recordsHttp(api, workload.table).fields(key, ['field0']);
  const { status, body } = await insist(() => client.send('GET', url));
  if (status === 200) return true;
  // REJECTED: there is no such table, or it has no fields.
  if (status === 404 || outcomeOf(status) === 'REJECTED') return false;
  throw new Error(`record ${number} (${key}) could not be read: ${status} ${body}`);
}

function inserter({ api, client, workload, seed }: LoadOptions): (number: number) => Promise<void> {
  const recordOf = initialRecords(workload, seed);
  const urls = recordsHttp(api, workload.table);
  return async (number) => {
    const { key, values } = recordOf(number);
    const { status, body } = await insist(() => client.send('PUT', urls.record(key), recordBody(values)));
    const outcome = outcomeOf(status);
    // It exists when an attempt before was stored and its answer got lost.
    if (outcome === 'OK' || outcome === 'EXISTS') return;
    const what = `record ${number} (${key}) could not be inserted: ${status} ${body}`;
    throw new Error(`${what}\nThe same command goes on where this one stopped.`);
  };
}

/** Asks again where a store says that it cannot now. */
async function insist(send: () => Promise<{ status: number; body: string }>) {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send();
    const outcome = outcomeOf(answer.status);
    const passing = outcome === 'SERVICE_UNAVAILABLE' || outcome === 'TIMEOUT';
    if (!passing || attempt === ATTEMPTS) return answer;
    await sleep(PAUSE_MS * 2 ** attempt);
  }
}
