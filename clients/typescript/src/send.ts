import type { Client } from 'openapi-fetch';
import type { components, paths } from './generated/api.ts';
import type { Declaration, KeptReadings } from './kept-readings.ts';
import type { NewReading } from './new-reading.ts';
import { dataOf } from './problem-error.ts';
import { type RetryOptions, retry } from './retry.ts';
import { timeText } from './time.ts';

/** What happened to readings: received = stored + duplicate + quarantined. */
export type Delivery = components['schemas']['Delivery'];

export interface SendOptions extends RetryOptions {
  /** The device of readings that name none. */
  readonly device?: string;
  /** The metric of readings that name none. */
  readonly metric?: string;
  /** Most bytes of JSON in a request, unless one reading is larger. Less than the API's BODY_LIMIT. Default: 512 KiB. */
  readonly batchBytes?: number;
  /** Keeps the readings, to send those again that are missing: see `sendMissing`. */
  readonly keep?: KeptReadings;
}

export interface SendMissingOptions extends RetryOptions {
  /** Only this device and all devices below it. */
  readonly device?: string;
}

/** Readings could not be sent. `delivery` counts those before, and `rest` are the others, with their times. */
export class SendError extends Error {
  override readonly name = 'SendError';
  readonly delivery: Delivery;
  /** Send these again: readings that were stored in the failed request are then counted as duplicates. */
  readonly rest: readonly NewReading[];

  constructor(cause: unknown, delivery: Delivery, rest: readonly NewReading[]) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${rest.length} readings were not sent: ${reason}`, { cause });
    this.delivery = delivery;
    this.rest = rest;
  }
}

const BATCH_BYTES = 512 * 1024;
/** The API accepts 10,000 readings in a payload. */
const BATCH_READINGS = 5000;
const encoder = new TextEncoder();

/**
 * Sends readings in batches, and repeats a batch until the API has answered. Each reading gets its time before the first
 * try, so that a repeated reading is a duplicate and is stored once.
 *
 * @throws {TypeError} for a value that JSON cannot hold, before anything is sent
 * @throws {SendError} when a batch is refused, or no try succeeded in time
 */
export async function send(
  api: Client<paths>,
  readings: readonly NewReading[],
  options: SendOptions = {},
): Promise<Delivery> {
  const { device, metric, batchBytes = BATCH_BYTES } = options;
  const timed = withTimes(readings);
  if (options.keep !== undefined) for (const reading of timed) options.keep.add(reading, device, metric);
  const texts = timed.map((reading) => JSON.stringify(reading));
  const sum = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };
  for (let first = 0; first < texts.length; ) {
    const end = endOfBatch(texts, first, batchBytes);
    const body = `[${texts.slice(first, end).join(',')}]`;
    try {
      const delivery = await retry(
        async (signal) =>
          dataOf(
            await api.POST('/v1/readings', {
              params: { query: { ...(device && { device }), ...(metric && { metric }) } },
              // The types of the body describe the parsed JSON.
              body: body as never,
              bodySerializer: String,
              signal,
            }),
          ),
        options,
      );
      for (const key of ['received', 'stored', 'duplicate', 'quarantined'] as const)
        sum[key] += delivery[key];
    } catch (error) {
      throw new SendError(error, sum, timed.slice(first));
    }
    first = end;
  }
  return sum;
}

/**
 * Sends readings again that the API lacks and that were kept. Declares the others gone, so that they are not requested again.
 * Call it from time to time, for example once a minute.
 *
 * @returns what happened to the readings that were sent
 * @throws {ProblemError} when the API refuses the query
 * @throws {SendError} as `send`
 */
export async function sendMissing(
  api: Client<paths>,
  kept: KeptReadings,
  { device, ...retries }: SendMissingOptions = {},
): Promise<Delivery> {
  const query = { limit: 1000, ...(device && { device }) };
  const { missing } = await retry(
    async (signal) => dataOf(await api.GET('/v1/ledger/missing', { params: { query }, signal })),
    retries,
  );
  const answers = missing.map((each) => kept.answer(each)).filter((answer) => answer !== null);
  const delivery = await send(
    api,
    answers.flatMap(({ readings }) => readings),
    retries,
  );
  const declarations = answers.map(({ declaration }) => declaration).filter((each) => each !== null);
  if (declarations.length > 0) await declare(api, declarations, retries);
  return delivery;
}

async function declare(
  api: Client<paths>,
  declarations: readonly Declaration[],
  options: RetryOptions,
): Promise<void> {
  const body = JSON.stringify(declarations);
  await retry(
    async (signal) =>
      dataOf(await api.POST('/v1/readings', { body: body as never, bodySerializer: String, signal })),
    options,
  );
}

/** The index after the last text of the batch that begins at `first`. */
function endOfBatch(texts: readonly string[], first: number, maxBytes: number): number {
  let bytes = 2;
  let end = first;
  while (end < texts.length && end - first < BATCH_READINGS) {
    bytes += encoder.encode(texts[end]).length + 1;
    if (bytes > maxBytes && end > first) break;
    end += 1;
  }
  return end;
}

let lastMicroseconds = 0;

/** The readings with a time each. No two readings of this process get the same time, because a time identifies a reading. */
function withTimes(readings: readonly NewReading[]): NewReading[] {
  return readings.map((reading, index) => {
    const { t, v } = reading;
    if (!['number', 'boolean', 'string'].includes(typeof v) || (typeof v === 'number' && !Number.isFinite(v)))
      throw new TypeError(
        `readings[${index}].v is ${v}: a value is a finite number, true, false or a text. Leave the reading out instead`,
      );
    if (t instanceof Date) return { ...reading, t: timeText(t) };
    if (t !== undefined) return reading;
    lastMicroseconds = Math.max(lastMicroseconds + 1, Date.now() * 1000);
    return { ...reading, t: lastMicroseconds };
  });
}
