import type { DatabaseCopies } from './database-copies.ts';
import type { Postgres } from './postgres.ts';

/** A copy of 10 GB on a slow card takes about 20 minutes. */
const COPY_MS = 1_800_000;

/**
 * Copies of databases by `create database … template`, which copies files. Nobody may be connected to the source, so the
 * clients of a database are disconnected first; pools connect again.
 */
export function postgresCopies(server: Postgres): DatabaseCopies {
  const run = async (...statements: string[]): Promise<void> => {
    for (const statement of statements) await server.query(statement, 'postgres', COPY_MS);
  };
  /** Makes `to` a copy of `from`. */
  const copy = async (from: string, to: string): Promise<void> => {
    // Pools would connect again at once.
    await run(`alter database "${from}" with allow_connections false`);
    try {
      await run(
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${from}'`,
        `drop database if exists "${to}" with (force)`,
        `create database "${to}" template "${from}" strategy file_copy`,
      );
    } finally {
      await run(`alter database "${from}" with allow_connections true`);
    }
  };
  const saved = new Set<string>();
  return {
    async save(name, place) {
      await copy(place, name);
      saved.add(name);
    },
    async restore(name, place) {
      await copy(name, place);
      const [expected, found] = [await rowsOf(server, name), await rowsOf(server, place)];
      if (found !== expected) {
        throw new Error(`the restored database ${place} has ${found}, its copy has ${expected}`);
      }
    },
    async bytes() {
      const names = [...saved].map((name) => `'${name}'`).join(', ') || `''`;
      const sum = `select coalesce(sum(pg_database_size(datname)), 0) from pg_database where datname in (${names})`;
      return Number((await server.query(sum)).trim());
    },
  };
}

/** The tables of a database with their numbers of rows, as one text. */
async function rowsOf(server: Postgres, database: string): Promise<string> {
  const counts = await server.query(
    `select relname, (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I.%I', nspname, relname), false, true, '')))[1]
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema') order by nspname, relname`,
    database,
    COPY_MS,
  );
  return counts.trim().replaceAll('\n', ', ');
}
