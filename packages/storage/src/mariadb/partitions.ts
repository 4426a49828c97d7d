import type { Connection } from 'mariadb';
import type { BackendLogger } from '../context.ts';
import type { Database, Row } from './database.ts';

const DAY = 86_400_000_000;
const CHECK_MS = 3_600_000;
/** Partitions to create beyond the present one. */
const AHEAD = 2;
const DDL_MS = 120_000;
// A change of partitions waits for running statements, and all other statements wait for it.
const DDL_WAIT_S = 5;

interface Partition {
  readonly name: string;
  /**
   * Microseconds. Readings in the partition are older than this, and not older than the bound of the partition
   * before.
   */
  readonly bound: number;
}

/**
 * Partitions of `readings` by time, so that expiry can drop files instead of rows. Readings after the last bound
 * go to `future`. New partitions are split from it in advance. So every reading has a partition, and a late split
 * only makes expiry slower.
 */
export class Partitions {
  readonly #db: Database;
  readonly #width: number;
  readonly #logger: BackendLogger;
  #checkAt = 0;

  constructor(db: Database, days: number, logger: BackendLogger) {
    this.#db = db;
    this.#width = days * DAY;
    this.#logger = logger;
  }

  /** Call this with every write. It extends partitions once an hour. */
  async keepAhead(): Promise<void> {
    if (Date.now() >= this.#checkAt) await this.extend();
  }

  /** Creates partitions for the future, in one process at a time. A failure is only logged. */
  async extend(): Promise<void> {
    this.#checkAt = Date.now() + CHECK_MS;
    const now = Date.now() * 1000;
    try {
      if (this.#wanted(await this.#db.run(list), now).length === 0) return;
      await this.#db.exclusively(DDL_MS, async (connection) => {
        const wanted = this.#wanted(await list(connection), now);
        if (wanted.length === 0) return;
        const parts = wanted.map((bound) => `partition ${nameOf(bound)} values less than (${bound})`);
        parts.push('partition future values less than maxvalue');
        await connection.query(alter(`reorganize partition future into (${parts.join(', ')})`));
      });
    } catch (err) {
      this.#logger.warn({ err, backend: 'mariadb' }, 'cannot create partitions for future readings');
    }
  }

  /** Drops partitions that are older than `before`. Resolves to whether they had readings. */
  async drop(before: number): Promise<boolean> {
    const isOld = ({ bound }: Partition): boolean => bound <= before;
    if (!(await this.#db.run(list)).some(isOld)) return false;
    return this.#db.exclusively(DDL_MS, async (connection) => {
      const old = (await list(connection)).filter(isOld).map(({ name }) => name);
      if (old.length === 0) return false;
      const [first] = await connection.query(`select 1 from readings partition (${old.join(', ')}) limit 1`);
      await connection.query(alter(`drop partition ${old.join(', ')}`));
      return first !== undefined;
    });
  }

  /**
   * Bounds of the partitions to create. The very first one, and the first one after a long break, also hold older
   * readings.
   */
  #wanted(partitions: readonly Partition[], now: number): number[] {
    const current = Math.floor(now / this.#width) * this.#width;
    const newest = partitions.at(-1)?.bound ?? 0;
    const bounds = Array.from({ length: AHEAD + 2 }, (_, index) => current + index * this.#width);
    return bounds.filter((bound) => bound > newest);
  }
}

/** All partitions except `future`, by time. */
async function list(connection: Connection): Promise<Partition[]> {
  const rows = await connection.query<Row[]>(`
    select partition_name as name, partition_description as bound from information_schema.partitions
    where table_schema = database() and table_name = 'readings' and partition_name <> 'future'
    order by partition_ordinal_position`);
  return rows.map(({ name, bound }) => ({ name: name as string, bound: Number(bound) }));
}

function alter(change: string): string {
  return `set statement lock_wait_timeout = ${DDL_WAIT_S} for alter table readings ${change}`;
}

/** `before_20261128`: bounds are midnights, UTC. */
function nameOf(bound: number): string {
  return `before_${new Date(bound / 1000).toISOString().slice(0, 10).replaceAll('-', '')}`;
}
