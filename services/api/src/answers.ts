import type { ServerResponse } from 'node:http';
import type { Reading } from '@tidegauge/readings';
import { clientOf, Problem } from '@tidegauge/service';
import type { YcsbRecord } from '@tidegauge/storage';
import type { Response } from 'express';
import { Turns } from './turns.ts';

/** Memory of one part of a list, about: what is read, serialised and written at once. */
const PART_BYTES = 32 * 1024;
/** What a list that is longer than one part holds until it is sent: a part, a page of the store, a full connection. */
const STREAM_BYTES = 8 * PART_BYTES;
/** A list ends here, and its `next` goes on. */
const LIST_BYTES = 4 * 1024 * 1024;
/** A list that its client reads more slowly is cut. */
const LIST_MS = 120_000;

export interface AnswerLimits {
  /** Reads of lists at once. */
  readonly reads: number;
  /** Memory of answers larger than one part that are under way: in total, and of one client. */
  readonly bytes: number;
  readonly clientBytes: number;
}

/** For an API with 128 MiB. */
const LIMITS: AnswerLimits = { reads: 4, bytes: 8 * 2 ** 20, clientBytes: 4 * 2 ** 20 };

export interface List<T> {
  /** The list's name in the answer. */
  readonly name: string;
  /** In order; read as far as the answer goes. One item beyond `limit` tells that there is a next page. */
  readonly items: AsyncIterable<T>;
  readonly limit: number;
  /** Memory of an item, about, bytes. */
  sizeOf(item: T): number;
  toDocument(item: T): unknown;
  /** The cursor behind an item; without it the list has no pages, and is sent whole or not at all. */
  readonly next?: (last: T) => string;
}

/**
 * Sends answers within a bounded memory, whatever the size of what is stored and however slow a client reads: lists
 * in parts, read as they are sent, and only so many large answers at once.
 */
export class Answers {
  readonly #limits: AnswerLimits;
  readonly #turns: Turns;
  readonly #clients = new Map<string, number>();
  #bytes = 0;

  constructor(limits: Partial<AnswerLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    this.#turns = new Turns(this.#limits.reads);
  }

  /** Answers with `{ [name]: [...], next }`. */
  async list<T>(response: Response, list: List<T>): Promise<void> {
    const parts = new Parts(list);
    try {
      await this.#send(response, list, parts);
    } finally {
      await parts.close();
    }
  }

  /**
   * Takes memory for an answer of `bytes` until it is sent. Small answers need none.
   *
   * @throws {Problem} 503 when too many large answers are under way
   */
  reserve(response: ServerResponse, bytes: number): void {
    if (!this.fits(response, bytes)) throw busy();
  }

  /** The same, as an answer. */
  fits(response: ServerResponse, bytes: number): boolean {
    return bytes <= PART_BYTES || this.#take(response, bytes);
  }

  async #send<T>(response: Response, { name, toDocument, next }: List<T>, parts: Parts<T>): Promise<void> {
    const read = () => this.#turns.run(response, () => parts.read());
    let part = await read();
    if (part === null || response.destroyed) return;
    const cursor = () => (parts.last === null || !parts.more ? null : next!(parts.last));
    const paged = next !== undefined;
    const goesOn = parts.goesOn && this.#take(response, STREAM_BYTES);
    if (!goesOn) {
      if (parts.goesOn && !paged) throw busy();
      response.json({ [name]: part.map(toDocument), ...(paged ? { next: cursor() } : {}) });
      return;
    }
    const late = setTimeout(() => response.destroy(), LIST_MS);
    response.once('close', () => clearTimeout(late));
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    for (let before = `{${JSON.stringify(name)}:[`; ; before = ',') {
      const text = before + JSON.stringify(part.map(toDocument)).slice(1, -1);
      if (!parts.goesOn) {
        response.end(`${text}]${paged ? `,"next":${JSON.stringify(cursor())}` : ''}}`);
        return;
      }
      if (!response.write(text)) await drained(response);
      part = await read();
      if (part === null || response.destroyed) return;
    }
  }

  #take(response: ServerResponse, bytes: number): boolean {
    const client = clientOf(response.req.socket.remoteAddress);
    const own = this.#clients.get(client) ?? 0;
    // One that is larger than the bound can go when it is alone.
    if (own > 0 && own + bytes > this.#limits.clientBytes) return false;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#limits.bytes) return false;
    this.#bytes += bytes;
    this.#clients.set(client, own + bytes);
    response.once('close', () => {
      this.#bytes -= bytes;
      const rest = this.#clients.get(client)! - bytes;
      if (rest > 0) this.#clients.set(client, rest);
      else this.#clients.delete(client);
    });
    return true;
  }
}

/** A list in parts. */
class Parts<T> {
  readonly #list: List<T>;
  readonly #items: AsyncIterator<T>;
  #ahead: IteratorResult<T> | null = null;
  #left: number;
  #bytes = 0;
  /** The last item read. */
  last: T | null = null;
  /** Whether there is an item behind the last one. */
  more = true;

  constructor(list: List<T>) {
    this.#list = list;
    this.#items = list.items[Symbol.asyncIterator]();
    this.#left = list.limit;
  }

  /** Whether the answer can have another part. */
  get goesOn(): boolean {
    return this.more && this.#left > 0 && (this.#bytes < LIST_BYTES || this.#list.next === undefined);
  }

  async read(): Promise<readonly T[]> {
    const part: T[] = [];
    for (let bytes = 0; bytes < PART_BYTES && this.#left > 0; ) {
      const { done, value } = this.#ahead ?? (await this.#items.next());
      this.#ahead = null;
      if (done) {
        this.more = false;
        return part;
      }
      part.push(value);
      this.last = value;
      this.#left -= 1;
      const size = this.#list.sizeOf(value);
      bytes += size;
      this.#bytes += size;
    }
    this.#ahead = await this.#items.next();
    this.more = this.#ahead.done !== true;
    return part;
  }

  async close(): Promise<void> {
    await this.#items.return?.();
  }
}

/** Resolves when the connection takes more, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    if (response.destroyed) resolve();
    else response.on('drain', done).on('close', done);
  });
}

function busy(): Problem {
  const detail = 'Too many large answers are under way: ask again later, or for less.';
  return new Problem(503, 'Too many large answers at once', detail, { retryAfter: 1 });
}

/** An object with a few short fields and texts of up to two bytes per character. */
export function sizeOfReading({ device, metric, value, boot }: Reading): number {
  const text = typeof value === 'string' ? value.length : 0;
  return 200 + 2 * (device.length + metric.length + text + (boot?.length ?? 0));
}

export function sizeOfRecord({ key, fields }: YcsbRecord): number {
  let size = 200 + 2 * key.length;
  for (const value of Object.values(fields)) size += 50 + 2 * value.length;
  return size;
}
