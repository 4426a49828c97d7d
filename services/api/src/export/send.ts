import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { Reading } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { Response } from 'express';
import { type Answers, sizeOfReading } from '../answers.ts';
import type { ReadingUnits } from '../reading-units.ts';
import type { ExportFormat, ExportWriter } from './format.ts';

/** Approximate memory of the readings of one part, bytes. */
const PART_BYTES = 64 * 1024;
/**
 * Time for a part. The memory of exports is limited, and a client that reads one byte from time to time would keep its
 * share for ever: the timeout of the server counts connections without any progress.
 */
const PATIENCE_MS = 60_000;

export interface SendOptions {
  readonly format: ExportFormat;
  readonly writer: ExportWriter;
  readonly gzip: boolean;
  readonly units: ReadingUnits;
  /** Whether the client may still read. */
  isCurrent(): boolean;
  /** How long the client may take to accept a part, milliseconds. Then the connection is closed. */
  readonly patienceMs?: number;
  /** The text for a failure after the answer has begun. The log of the service has the details. */
  explain(error: unknown): string;
}

/**
 * Sends an export in parts, as fast as the client receives them. A failure before the first part is thrown. After it,
 * the answer gets a last line with the reason, and the connection ends without the end of the body, so that the client
 * does not take the answer for complete.
 */
export async function sendExport(
  response: Response,
  answers: Answers,
  readings: AsyncIterator<Reading>,
  { format, writer, gzip, units, isCurrent, patienceMs = PATIENCE_MS, explain }: SendOptions,
): Promise<void> {
  const read = () =>
    answers.read(response, 'scan', async () => {
      const part = await partOf(readings);
      await units.prepare(part);
      return part;
    });
  // Before the first part is read: a refusal costs nothing then.
  answers.memory.reserve(response, format.bytes);
  let part = await read();
  if (part === null) return;
  const body = new Body(response, gzip, patienceMs);
  let count = 0;
  try {
    await body.write(writer.head());
    while (part !== null && part.length > 0 && !response.destroyed) {
      await body.write(writer.rows(part, units.unitOf));
      count += part.length;
      if (!isCurrent()) throw ended();
      part = await read();
    }
    if (part === null || response.destroyed) return;
    await body.write(writer.end(count));
    body.end();
  } catch (error) {
    await body.fail(writer.failure(count, explain(error)));
  }
}

function ended(): Problem {
  return new Problem(401, 'Unauthorized', 'The key has expired, or was revoked, during the export.');
}

/** The next readings, none at the end. */
async function partOf(readings: AsyncIterator<Reading>): Promise<readonly Reading[]> {
  const part: Reading[] = [];
  for (let bytes = 0; bytes < PART_BYTES; ) {
    const { done, value } = await readings.next();
    if (done === true) return part;
    part.push(value);
    bytes += sizeOfReading(value);
  }
  return part;
}

/** The body of an answer, compressed or not, with back-pressure. */
class Body {
  readonly #response: Response;
  readonly #gzip: Gzip | null;
  readonly #patienceMs: number;

  constructor(response: Response, gzip: boolean, patienceMs: number) {
    this.#response = response;
    this.#patienceMs = patienceMs;
    this.#gzip = gzip ? createGzip() : null;
    this.#gzip?.pipe(response);
  }

  /** Resolves when more can be written, or the client has left. */
  async write(data: string | Uint8Array): Promise<void> {
    if (data.length === 0 || this.#response.destroyed) return;
    const stream = this.#gzip ?? this.#response;
    if (stream.write(data)) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => this.#response.destroy(), this.#patienceMs);
      const done = () => {
        clearTimeout(late);
        stream.off('drain', done);
        this.#response.off('close', done);
        resolve();
      };
      stream.on('drain', done);
      this.#response.on('close', done);
    });
  }

  end(): void {
    (this.#gzip ?? this.#response).end();
  }

  /** Sends a last line and closes the connection, without the end of the body. */
  async fail(line: string): Promise<void> {
    await this.write(line);
    const gzip = this.#gzip;
    if (gzip !== null && !this.#response.destroyed) {
      await new Promise<void>((resolve) => {
        this.#response.once('close', resolve);
        gzip.flush(constants.Z_SYNC_FLUSH, resolve);
      });
      await nextTurn();
    }
    this.#response.socket?.destroySoon();
  }
}
