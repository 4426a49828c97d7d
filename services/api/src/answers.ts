import type { ServerResponse } from 'node:http';
import type { Reading } from '@tidegauge/readings';
import { AnswerMemory, Turns, tooManyAnswers } from '@tidegauge/service';
import type { YcsbRecord } from '@tidegauge/storage';
import { endOfTurn } from './end-of-turn.ts';
import { beginJson, sendJson } from './send-json.ts';

/** Approximate memory of one part of a list, bytes. A part is read, serialised and written at once. */
const PART_BYTES = 32 * 1024;
/** Memory reserved for a list of several parts, bytes: a part, a small page of the store, buffers of the connection. */
const STREAM_BYTES = 8 * PART_BYTES;
/** Approximate size at which a page of a list ends, bytes. Its `next` continues the list. */
const LIST_BYTES = 4 * 1024 * 1024;
/** Longest time for sending a list, milliseconds. Then the connection is closed. */
const LIST_MS = 120_000;

/** Queries over all readings of many series that are computed at once. One of them can have 100,000 figures in memory. */
const QUERIES = 2;

/**
 * What a read can cost, so that short reads never wait for long ones:
 * `page`: a page of one series or of names, some milliseconds.
 * `scan`: a part of a list or an export over many series, of which none may have readings, or one series as a whole.
 * `query`: figures of all readings of many series, up to half a minute. The first part of a list computes all of it.
 */
export type ReadCost = 'page' | 'scan' | 'query';

export interface AnswerLimits {
  /** Memory for large answers that are not yet sent, bytes. */
  readonly bytes: number;
  /** Largest number of concurrent reads of the cost `page`, and of the cost `scan`. */
  readonly reads: number;
}

/** For a process with 152 MiB of memory. */
export const LIMITS: AnswerLimits = { reads: 4, bytes: 8 * 2 ** 20 };

/** Items that are read in pages. A page can be empty. */
export class Pages<T> {
  readonly pages: AsyncIterable<readonly T[]>;

  constructor(pages: AsyncIterable<readonly T[]>) {
    this.pages = pages;
  }
}

export interface List<T> {
  /** The list's name in the answer. */
  readonly name: string;
  /** In order, read only as far as the answer needs. An item beyond `limit` means that there is a next page. */
  readonly items: AsyncIterable<T> | Pages<T>;
  readonly limit: number;
  /** What reading a part of it costs. Default: `page`. */
  readonly cost?: ReadCost;
  /** Approximate memory of an item, bytes. */
  sizeOf(item: T): number;
  toDocument(item: T): unknown;
  /** Called for each part before the documents of its items are made. */
  readonly prepare?: (part: readonly T[]) => Promise<void>;
  /** Memory of all items, if they stay in memory until the last one is sent, bytes. Called after the first part. */
  readonly held?: () => number;
  /** The cursor of the position after an item. Without it the list has no pages: it is sent completely or refused. */
  readonly next?: (last: T) => string;
  /** Further fields of the answer, known when all items were read. */
  readonly rest?: () => Readonly<Record<string, unknown>>;
}

/**
 * Sends answers within bounded memory, for any size of stored data and any speed of clients. Lists are read and sent in
 * parts, and the memory of large answers that are being sent is limited.
 */
export class Answers {
  readonly memory: AnswerMemory;
  /** Each cost has its own places, and each client a share of them. */
  readonly #turns: Readonly<Record<ReadCost, Turns>>;

  constructor(limits: Partial<AnswerLimits> = {}) {
    const { reads, bytes } = { ...LIMITS, ...limits };
    this.memory = new AnswerMemory(bytes);
    this.#turns = { page: new Turns(reads), scan: new Turns(reads), query: new Turns(QUERIES) };
  }

  /** Answers with `{ [name]: [...], next }` and the rest. */
  async list<T>(response: ServerResponse, list: List<T>): Promise<void> {
    const parts = new Parts(list);
    try {
      await this.#send(response, list, parts);
    } finally {
      await parts.close();
    }
  }

  /**
   * Reads a part of an answer in turn with the other answers. Resolves to null when the client leaves before its turn.
   */
  read<T>(response: ServerResponse, cost: ReadCost, part: () => Promise<T>): Promise<T | null> {
    return this.#turns[cost].run(response, part);
  }

  /**
   * Sends a text in pieces, as fast as the client receives it.
   *
   * @param bytes memory that the pieces are made from, reserved until the response closes
   * @throws {Problem} 503 when too many large answers are being sent
   */
  async text(response: ServerResponse, type: string, bytes: number, pieces: Iterable<string>): Promise<void> {
    this.memory.reserve(response, bytes);
    const late = setTimeout(() => response.destroy(), LIST_MS);
    response.once('close', () => clearTimeout(late));
    response.setHeader('Content-Type', type);
    for (const piece of pieces) {
      if (!response.write(piece)) await drained(response);
      if (response.destroyed) return;
    }
    response.end();
  }

  async #send<T>(response: ServerResponse, list: List<T>, parts: Parts<T>): Promise<void> {
    const { name, cost = 'page', held, toDocument, prepare, next, rest } = list;
    const read = (cost: ReadCost) =>
      this.read(response, cost, async () => {
        const part = await parts.read();
        await prepare?.(part);
        return part;
      });
    const part = await read(cost);
    if (part === null || response.destroyed) return;
    const cursor = () => (parts.last === null || !parts.more ? null : next!(parts.last));
    const paged = next !== undefined;
    const end = () => ({ ...(paged ? { next: cursor() } : {}), ...rest?.() });
    const size = held?.() ?? parts.size;
    const goesOn = parts.goesOn && this.memory.fits(response, Math.max(STREAM_BYTES, size));
    if (!goesOn) {
      if (parts.goesOn && !paged) throw tooManyAnswers();
      // A part has one item more than fits, which can be large.
      if (size > 2 * PART_BYTES) this.memory.reserve(response, size);
      const text = JSON.stringify({ [name]: part.map(toDocument), ...end() });
      await endOfTurn();
      sendJson(response, text);
      return;
    }
    // The rest of a query is in memory, and must not wait for the queries of others.
    const readNext = () => read(cost === 'query' ? 'page' : cost);
    await this.#stream(response, list, parts, part, readNext, end);
  }

  /** @param end the fields after the list, when all parts are read */
  async #stream<T>(
    response: ServerResponse,
    { name, toDocument }: List<T>,
    parts: Parts<T>,
    first: readonly T[],
    readNext: () => Promise<readonly T[] | null>,
    end: () => object,
  ): Promise<void> {
    const late = setTimeout(() => response.destroy(), LIST_MS);
    response.once('close', () => clearTimeout(late));
    let part: readonly T[] | null = first;
    for (let before = `{${JSON.stringify(name)}:[`; ; before = ',') {
      const text = before + JSON.stringify(part.map(toDocument)).slice(1, -1);
      if (!response.headersSent) beginJson(response);
      if (!parts.goesOn) {
        const fields = JSON.stringify(end()).slice(1);
        response.end(`${text}]${fields === '}' ? '' : ','}${fields}`);
        return;
      }
      if (!response.write(text)) await drained(response);
      // A part can take milliseconds, and the next one can be there already.
      await endOfTurn();
      part = await readNext();
      if (part === null || response.destroyed) return;
    }
  }
}

/** Reads a list in parts. */
class Parts<T> {
  readonly #list: List<T>;
  readonly #pages: AsyncIterator<readonly T[]>;
  #page: readonly T[] = [];
  /** Index of the next item in the page. */
  #next = 0;
  #left: number;
  #bytes = 0;
  /** Approximate memory of the last part, bytes. */
  size = 0;
  /** The last item read. */
  last: T | null = null;
  /** Whether there is an item after the last one. */
  more = true;

  constructor(list: List<T>) {
    const { items } = list;
    this.#list = list;
    this.#pages = (items instanceof Pages ? items.pages : singly(items))[Symbol.asyncIterator]();
    this.#left = list.limit;
  }

  /** Whether the answer can have another part. */
  get goesOn(): boolean {
    return this.more && this.#left > 0 && (this.#bytes < LIST_BYTES || this.#list.next === undefined);
  }

  async read(): Promise<readonly T[]> {
    const part: T[] = [];
    this.size = 0;
    while (this.size < PART_BYTES && this.#left > 0) {
      if (this.#next === this.#page.length && !(await this.#turn())) return part;
      const value = this.#page[this.#next]!;
      this.#next += 1;
      part.push(value);
      this.last = value;
      this.#left -= 1;
      const size = this.#list.sizeOf(value);
      this.size += size;
      this.#bytes += size;
    }
    if (this.#next === this.#page.length) await this.#turn();
    return part;
  }

  /** Reads the next page with items. Resolves to whether there is one. */
  async #turn(): Promise<boolean> {
    this.#next = 0;
    do {
      const { done, value } = await this.#pages.next();
      this.more = done !== true;
      this.#page = done === true ? [] : value;
    } while (this.more && this.#page.length === 0);
    return this.more;
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }
}

/** Pages of one item, so that no more items are read than the answer needs. */
async function* singly<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  for await (const item of items) yield [item];
}

/** Resolves when the connection accepts more data or has closed. */
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

/** Approximate memory of a reading, bytes: an object with short fields, and texts of up to two bytes per character. */
export function sizeOfReading({ device, metric, value, boot }: Reading): number {
  const text = typeof value === 'string' ? value.length : 0;
  return 200 + 2 * (device.length + metric.length + text + (boot?.length ?? 0));
}

/** Approximate memory of a record, bytes. */
export function sizeOfRecord({ key, fields }: YcsbRecord): number {
  let size = 200 + 2 * key.length;
  for (const value of Object.values(fields)) size += 50 + 2 * value.length;
  return size;
}
