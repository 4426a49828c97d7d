import { StoreError } from '../errors.ts';
import { kindOf, type TableKind } from '../tables.ts';
import { withChecksum } from './line-checksum.ts';
import { Log, type LogOwner } from './log.ts';
import { parseLine } from './mapping.ts';
import { lengthOf, offsetOf, type Place, placeOf } from './places.ts';
import type { SkippedLines } from './skipped-lines.ts';

/** The documents of a log. */
export interface Documents<T> {
  /** Whether a value is a valid document. */
  is(value: unknown): value is T;
  /** Called for every change, in the order of the file. Null: the document of that key was deleted. */
  changed(key: string, document: T | null): void;
  /** Called before the file is read again from the start: all documents are invalid. */
  reset(): void;
  /** The document if it is in memory. Otherwise undefined, and it is read from the file. */
  held(key: string): T | undefined;
}

/**
 * A change of some documents. It is evaluated again for documents that another process has changed in the
 * meantime.
 */
export interface Change<T> {
  /** Evaluated when all lines before this change are known. */
  keys(): Iterable<string>;
  /** Returns the new document, null to delete it, or `current` to keep it. Throws to refuse the change. */
  apply(key: string, current: T | null): T | null;
}

export interface Outcome<T> {
  readonly before: T | null;
  readonly after: T | null;
}

interface Pending<T> {
  readonly change: Change<T>;
  readonly outcomes: Map<string, Outcome<T>>;
  keys: readonly string[] | null;
  resolve(outcomes: ReadonlyMap<string, Outcome<T>>): void;
  reject(error: unknown): void;
}

/** The mark that Tidegauge created the file. `create` writes it as the first line. */
const MARK = { made: 'tidegauge' } as const;

const MAX_GROUP = 1000;
const MARK_LINE = `${JSON.stringify(MARK)}\n`;
const WORTH_COMPACTING = 1024 * 1024;
const LIVE_AT_ONCE = 1000;

/**
 * Documents by key in a log: `{"crc":...,"key":...,"base":...,"document":{...}}`, with null for a deleted document. `base`
 * is the offset of the line from which the document was changed. A line counts only if its base is the latest line
 * of the key. Otherwise another process was faster, and the writer repeats the change with the newer document. So
 * a change that reads and writes needs no lock.
 */
export class KeyedLog<T> implements LogOwner {
  readonly #log: Log;
  readonly #documents: Documents<T>;
  readonly #places = new Map<string, Place>();
  readonly #queue: Pending<T>[] = [];
  #draining = false;
  #live = 0;
  #isMarked = false;
  /** Lines that are neither documents nor the mark. */
  #strange = 0;

  constructor(folder: string, name: string, documents: Documents<T>, skipped: SkippedLines) {
    this.#log = new Log(folder, name, this, skipped);
    this.#documents = documents;
  }

  get exists(): boolean {
    return this.#log.exists;
  }

  /**
   * The kind of the file, as far as it was read. A file without documents is a table that version 0.1.0 created.
   */
  get kind(): TableKind {
    if (!this.exists) return 'absent';
    return kindOf(this.#isMarked, this.#strange === 0);
  }

  /** The number of documents that are known. */
  get keys(): number {
    return this.#places.size;
  }

  allKeys(): string[] {
    return [...this.#places.keys()];
  }

  get busy(): boolean {
    return this.#draining || this.#log.busy;
  }

  reset(): void {
    this.#places.clear();
    this.#live = 0;
    this.#isMarked = false;
    this.#strange = 0;
    this.#documents.reset();
  }

  line(text: string, offset: number, length: number): boolean {
    const line = parseLine(text);
    const key = line?.key;
    const document = line?.document;
    if (line?.made === MARK.made) {
      this.#isMarked = true;
      return true;
    }
    if (typeof key !== 'string' || (document !== null && !this.#documents.is(document))) {
      this.#strange += 1;
      return false;
    }
    this.#take(key, line?.base as number | undefined, document, placeOf(offset, length));
    return true;
  }

  async *live(): AsyncGenerator<string> {
    if (this.#isMarked) yield MARK_LINE;
    const keys = [...this.#places.keys()];
    for (let start = 0; start < keys.length; start += LIVE_AT_ONCE) {
      const some = keys.slice(start, start + LIVE_AT_ONCE);
      const documents = await this.#load(some);
      yield some.map((key) => encode(key, undefined, documents.get(key)!)).join('');
    }
  }

  /** Updates the index, then calls `answer` without an await in between. */
  read<R>(answer: () => R): Promise<R> {
    return this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      return answer();
    });
  }

  /** The current documents of the keys that `choose` returns. Missing documents are left out. */
  documents(choose: () => readonly string[]): Promise<ReadonlyMap<string, T>> {
    return this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      return this.#load(choose().filter((key) => this.#places.has(key)));
    });
  }

  /** Resolves to the outcome of each key when it is durable. Concurrent changes share a write. */
  change(change: Change<T>): Promise<ReadonlyMap<string, Outcome<T>>> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, outcomes: new Map(), keys: null, resolve, reject });
      if (!this.#draining) void this.#drain();
    });
  }

  /** Creates the file with its mark if it does not exist. */
  async create(): Promise<void> {
    const mark = await this.#log.exclusive(async () => {
      await this.#log.refresh(true);
      while (this.#log.size === 0) {
        if ((await this.#log.append(MARK_LINE)) === null) await this.#log.refresh(true);
        else this.#isMarked = true;
      }
      return this.#log.mark;
    });
    await this.#log.durable(mark);
  }

  /** Deletes the file, unless `demand` throws for its present kind. */
  async drop(demand: (kind: TableKind) => void): Promise<void> {
    await this.#log.exclusive(async () => {
      await this.#log.refresh(false);
      demand(this.kind);
      await this.#log.drop(() => true);
    });
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0, MAX_GROUP);
      const fail = (error: unknown) => {
        for (const { reject } of group) reject(error);
      };
      try {
        const mark = await this.#log.exclusive(() => this.#commit(group));
        // The next group is written while this one goes to the disk.
        this.#log.durable(mark).then(() => {
          for (const { resolve, outcomes } of group) resolve(outcomes);
        }, fail);
      } catch (error) {
        fail(error);
      }
      // A failure does not concern the writers: their lines are stored, and the next write tries again.
      await this.#log.exclusive(() => this.#compactIfWorthIt()).catch(() => {});
    }
    this.#draining = false;
  }

  async #commit(group: readonly Pending<T>[]) {
    await this.#log.refresh(true);
    for (const pending of group) pending.keys = [...pending.change.keys()];
    let open = group;
    while (open.length > 0) {
      const changed = await this.#evaluate(open);
      const lost = changed.size === 0 ? new Set<string>() : await this.#append(changed);
      open = open.filter((pending) => {
        pending.keys = pending.keys!.filter((key) => lost.has(key));
        return pending.keys.length > 0;
      });
    }
    return this.#log.mark;
  }

  async #compactIfWorthIt(): Promise<void> {
    if (this.#log.size < WORTH_COMPACTING || this.#live * 2 > this.#log.size) return;
    await this.#log.compact();
  }

  /** Applies the changes in order. Returns the documents that changed. */
  async #evaluate(group: readonly Pending<T>[]): Promise<Map<string, T | null>> {
    const keys = new Set(group.flatMap(({ keys }) => keys!));
    const stored = await this.#load([...keys].filter((key) => this.#places.has(key)));
    const changed = new Map<string, T | null>();
    for (const { change, keys, outcomes, reject } of group) {
      try {
        for (const key of keys!) {
          const before = changed.has(key) ? changed.get(key)! : (stored.get(key) ?? null);
          const after = change.apply(key, before);
          outcomes.set(key, { before, after });
          if (after !== before) changed.set(key, after);
        }
      } catch (error) {
        reject(error);
      }
    }
    return new Map([...changed].filter(([key, document]) => document !== null || this.#places.has(key)));
  }

  /**
   * Appends a line per document. Returns the keys whose lines do not count, because another process was faster.
   */
  async #append(changed: ReadonlyMap<string, T | null>): Promise<Set<string>> {
    const lines = [...changed].map(([key, document]) => {
      const place = this.#places.get(key);
      const base = place === undefined ? undefined : offsetOf(place);
      const text = encode(key, base, document);
      return { key, base, document, text, length: Buffer.byteLength(text) - 1 };
    });
    const landing = await this.#log.append(lines.map(({ text }) => text).join(''));
    if (landing === null) {
      await this.#log.refresh(true);
      return new Set(changed.keys());
    }
    const lost = new Set<string>();
    let { offset } = landing;
    for (const { key, base, document, length } of lines) {
      if (!this.#take(key, base, document, placeOf(offset, length))) lost.add(key);
      offset += length + 1;
    }
    return lost;
  }

  #take(key: string, base: number | undefined, document: T | null, place: Place): boolean {
    const known = this.#places.get(key);
    const latest = known === undefined ? undefined : offsetOf(known);
    // The line at a later base was damaged. In a race the base of the loser is an earlier line.
    const isAfterDamage = latest !== undefined && base !== undefined && base > latest;
    if (base !== latest && !isAfterDamage) return false;
    if (known !== undefined) this.#live -= lengthOf(known);
    if (document === null) this.#places.delete(key);
    else {
      this.#places.set(key, place);
      this.#live += lengthOf(place);
    }
    this.#documents.changed(key, document);
    return true;
  }

  async #load(keys: readonly string[]): Promise<Map<string, T>> {
    const documents = new Map<string, T>();
    const elsewhere: string[] = [];
    for (const key of keys) {
      const held = this.#documents.held(key);
      if (held === undefined) elsewhere.push(key);
      else documents.set(key, held);
    }
    const lines = await this.#log.lines(elsewhere.map((key) => this.#places.get(key)!));
    lines.forEach((text, index) => {
      const document = parseLine(text)?.document;
      if (!this.#documents.is(document)) {
        throw new StoreError(
          'UNAVAILABLE',
          'another program changed a file of the store while it was in use',
        );
      }
      documents.set(elsewhere[index]!, document);
    });
    return documents;
  }
}

function encode<T>(key: string, base: number | undefined, document: T | null): string {
  return `${withChecksum(JSON.stringify({ key, base, document }))}\n`;
}
