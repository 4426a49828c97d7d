import type { Client } from 'openapi-fetch';
import type { operations, paths } from './generated/api.ts';
import type { Reading } from './live.ts';
import { dataOf } from './problem-error.ts';
import { isTemporary, pause, type RetryOptions, waitBefore } from './retry.ts';
import { optionalTime, type Time } from './time.ts';

type Query = NonNullable<operations['exportReadings']['parameters']['query']>;

/** Which readings are exported: of devices, of a prefix, of the registered devices that match, or of all. */
export interface ExportQuery
  extends Omit<Query, 'format' | 'from' | 'to' | 'trailer' | 'afterDevice' | 'afterMetric' | 'afterTime'>,
    RetryOptions {
  /** Start, inclusive. */
  readonly from?: Time;
  /** End, exclusive. */
  readonly to?: Time;
}

/** An answer without its last line, or with one that reports a failure. */
class IncompleteError extends Error {
  override readonly name = 'IncompleteError';
}

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;

/**
 * All readings that match, by device, metric and time. After a broken connection it continues after the last reading.
 *
 * @throws {ProblemError} when the API refuses the request, or the last error when nothing arrives for `retryForMs`
 */
export async function* exportReadings(
  api: Client<paths>,
  { from, to, retryForMs = 60_000, signal, ...rest }: ExportQuery,
): AsyncGenerator<Reading, void> {
  const [start, end] = [optionalTime(from), optionalTime(to)];
  const query: Query = { ...rest, ...(start && { from: start }), ...(end && { to: end }) };
  let position: Query = {};
  let delayMs = FIRST_DELAY_MS;
  for (let deadline = performance.now() + retryForMs; ; ) {
    signal?.throwIfAborted();
    try {
      for await (const reading of part(api, { ...query, ...position }, signal)) {
        yield reading;
        const { device, metric, time } = reading;
        position = { afterDevice: device, afterMetric: metric, afterTime: time };
        delayMs = FIRST_DELAY_MS;
        deadline = performance.now() + retryForMs;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const waitMs = waitBefore(delayMs, error);
      const mayRetry = isTemporary(error) || error instanceof IncompleteError;
      if (!mayRetry || performance.now() + waitMs > deadline) throw error;
      await pause(waitMs, signal);
      delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
    }
  }
}

/** The readings of one answer. @throws {IncompleteError} when it is not complete */
async function* part(
  api: Client<paths>,
  query: Query,
  signal: AbortSignal | undefined,
): AsyncGenerator<Reading, void> {
  const body = dataOf(
    await api.GET('/v1/export', { params: { query }, parseAs: 'stream', ...(signal && { signal }) }),
  ) as unknown as ReadableStream<Uint8Array>;
  let rows = 0;
  for await (const line of linesOf(body)) {
    const document = JSON.parse(line);
    if (!('complete' in document)) {
      rows += 1;
      yield document as Reading;
    } else if (document.complete === true && document.rows === rows) return;
    else throw new IncompleteError(`the export failed after ${rows} readings: ${document.error}`);
  }
  throw new IncompleteError(`the export ended after ${rows} readings, without its last line`);
}

/** The complete lines of a text. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    // Closes the connection when the caller leaves its loop.
    await reader.cancel().catch(() => {});
  }
}
