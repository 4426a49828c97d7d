import type { RecordFields } from '../contract.ts';
import type { Database } from './database.ts';
import { KEY, toFields } from './mapping.ts';

/** Most keys of one statement: a power of two. */
const MOST_KEYS = 16;
/** Statements of one group whose results may be outstanding: the server works on one while this process makes the next. */
const IN_FLIGHT = 2;
/** Reads of one group that may wait. Further ones are sent alone. */
const MOST_WAITING = 64;

interface Read {
  readonly key: string;
  resolve(fields: RecordFields | null): void;
  reject(error: unknown): void;
}

/** Reads of one table and the same fields. */
interface Group {
  readonly waiting: Read[];
  inFlight: number;
  isScheduled: boolean;
}

/**
 * Reads records by their keys. Under load, reads of one table share a statement: PostgreSQL and the driver take most of
 * their time for a statement, not for a row. A read alone is sent at the end of its turn of the event loop. A read waits
 * only while two statements of its table are under way.
 */
export class KeyedReads {
  readonly #db: Pick<Database, 'read' | 'run'>;
  readonly #readsTogether: boolean;
  readonly #groups = new Map<string, Group>();

  /** @param readsTogether whether reads may share a statement */
  constructor(db: Pick<Database, 'read' | 'run'>, readsTogether: boolean) {
    this.#db = db;
    this.#readsTogether = readsTogether;
  }

  /**
   * Reads one record, at its state of some time after the call.
   *
   * @param select a statement up to its condition; the column ycsb_key is one of its columns
   */
  read(select: string, key: string): Promise<RecordFields | null> {
    if (!this.#readsTogether) return this.#readAlone(select, key);
    let group = this.#groups.get(select);
    if (group === undefined) {
      group = { waiting: [], inFlight: 0, isScheduled: false };
      this.#groups.set(select, group);
    }
    const { waiting } = group;
    if (waiting.length >= MOST_WAITING) return this.#readAlone(select, key);
    return new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      this.#schedule(select, group);
    });
  }

  #schedule(select: string, group: Group): void {
    if (group.isScheduled || group.inFlight >= IN_FLIGHT) return;
    if (group.waiting.length === 0) {
      if (group.inFlight === 0) this.#groups.delete(select);
      return;
    }
    group.isScheduled = true;
    setImmediate(() => {
      group.isScheduled = false;
      group.inFlight += 1;
      void this.#send(select, group.waiting.splice(0, MOST_KEYS)).then(() => {
        group.inFlight -= 1;
        this.#schedule(select, group);
      });
      this.#schedule(select, group);
    });
  }

  async #send(select: string, reads: readonly Read[]): Promise<void> {
    try {
      const fields =
        (reads.length > 1 && (await this.#readTogether(select, reads))) ||
        (await Promise.all(reads.map(({ key }) => this.#readAlone(select, key))));
      for (const [index, read] of reads.entries()) read.resolve(fields[index]!);
    } catch (error) {
      for (const read of reads) read.reject(error);
    }
  }

  async #readAlone(select: string, key: string): Promise<RecordFields | null> {
    const result = await this.#db.read(`${select} = $1`, [key]);
    const [row] = result.rows;
    return row === undefined ? null : toFields(result, row);
  }

  /**
   * The records of several keys, in their order. Null when the server returned a key that is not one of them: the column
   * of a table that another program made can ignore case, for example.
   */
  async #readTogether(select: string, reads: readonly Read[]): Promise<(RecordFields | null)[] | null> {
    // Few different statements, so that all of them stay prepared.
    const size = 2 ** Math.ceil(Math.log2(reads.length));
    const keys = Array.from({ length: size }, (_, index) => (reads[index] ?? reads.at(-1)!).key);
    const marks = keys.map((_, index) => `$${index + 1}`).join(', ');
    const result = await this.#db.run('calls', `${select} in (${marks})`, keys);
    const column = result.columns.indexOf(KEY);
    const rows = new Map(result.rows.map((row) => [row[column] as string, row]));
    const fields = reads.map(({ key }) => {
      const row = rows.get(key);
      return row === undefined ? null : toFields(result, row);
    });
    for (const { key } of reads) rows.delete(key);
    return rows.size === 0 ? fields : null;
  }
}
