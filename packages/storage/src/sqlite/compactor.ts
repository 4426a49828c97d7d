import { BLOCK_BYTES, type BlockRange, type Blocks, type Entry, textBytes, unlessDamaged } from './blocks.ts';
import type { Database } from './database.ts';

/** Series that one step looks at, about 2 ms. */
const STEP_SERIES = 30;
/** So many readings of a series must be late before they are merged with its blocks, because each can rewrite a block. */
const LATE_READINGS = 64;

const SERIES = 'select id from series where id >= ? order by id limit ?';
const COLUMNS = 'time, value, received, boot, seq, quality';
const ROWS = `select ${COLUMNS} from readings where series = ? and time >= ? and time < ? order by time limit ?`;
const NTH =
  'select time from readings where series = ? and time >= ? and time < ? order by time limit 1 offset ?';

/**
 * Moves rows of `readings` to blocks, in steps. A step is one transaction: it reads rows of a series, stores a block and
 * deletes the rows. So a crash leaves the state before it or after it, and steps of several processes follow each other. The
 * newest row of a series stays, so that a read of the newest reading decodes no block.
 */
export class Compactor {
  readonly #db: Database;
  readonly #blocks: Blocks;
  /** The series with which the next step begins. */
  #next = 0;

  constructor(db: Database, blocks: Blocks) {
    this.#db = db;
    this.#blocks = blocks;
  }

  /** Resolves to whether the pass over all series goes on. */
  step(): Promise<boolean> {
    return this.#db.transaction(() => {
      const ids = this.#db.statement(SERIES).all(this.#next, STEP_SERIES);
      for (const { id } of ids) {
        if (!this.#compact(id as number)) continue;
        this.#next = id as number;
        return true;
      }
      const last = ids.at(-1)?.id as number | undefined;
      this.#next = last === undefined ? 0 : last + 1;
      return last !== undefined;
    });
  }

  #compact(series: number): boolean {
    const end = this.#blocks.end(series) + 1;
    return (end > 0 && this.#mergeLate(series, end)) || this.#append(series, end);
  }

  /** Moves the oldest of the late readings, together with those of the block that they touch. */
  #mergeLate(series: number, end: number): boolean {
    if (this.#nth(series, 0, end, Math.min(LATE_READINGS, this.#blocks.readings) - 1) === null) return false;
    const oldest = this.#nth(series, 0, end, 0)!;
    const block = this.#blocks.next(series, oldest, end)!;
    const rows = this.#rows(series, oldest, block.last + 1, this.#blocks.readings);
    const last = rows.at(-1)![0];
    // So many before the block are a block themselves.
    const isApart = last < block.first && rows.length === this.#blocks.readings;
    // Late readings stay rows if their block is damaged.
    return unlessDamaged(() => this.#replace(series, rows, isApart ? null : block)) ?? false;
  }

  /** Moves the oldest of the readings after all blocks, if there are enough. */
  #append(series: number, end: number): boolean {
    const size = this.#blocks.nextSize(series);
    const newer = this.#nth(series, end, Number.MAX_SAFE_INTEGER, size);
    if (newer === null) return false;
    return this.#replace(series, this.#rows(series, end, newer, size), null);
  }

  #replace(series: number, rows: readonly Entry[], block: BlockRange | null): true {
    if (block === null) this.#blocks.put(series, rows);
    else {
      const times = new Set(rows.map(([time]) => time));
      const kept = this.#blocks.entries(block).filter(([time]) => !times.has(time));
      this.#blocks.drop(block);
      this.#blocks.put(
        series,
        [...rows, ...kept].sort(([a], [b]) => a - b),
      );
    }
    this.#db
      .statement('delete from readings where series = ? and time >= ? and time <= ?')
      .run(series, rows[0]![0], rows.at(-1)![0]);
    return true;
  }

  /** The first rows in [from, to), at least one and at most `limit`, whose texts fit in a block. */
  #rows(series: number, from: number, to: number, limit: number): Entry[] {
    const rows: Entry[] = [];
    let bytes = 0;
    for (const row of this.#db.arrays(ROWS).iterate(series, from, to, limit)) {
      const entry = row as unknown as Entry;
      bytes += textBytes(entry);
      if (bytes > BLOCK_BYTES && rows.length > 0) break;
      rows.push(entry);
    }
    return rows;
  }

  /** The time of a row by its position in [from, to). Null if there are fewer rows. */
  #nth(series: number, from: number, to: number, position: number): number | null {
    return (this.#db.statement(NTH).get(series, from, to, position)?.time as number | undefined) ?? null;
  }
}
