import { constants } from 'node:fs';
import { chown, copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Connection, createConnection } from 'mariadb';
import type { DatabaseCopies } from './database-copies.ts';
import type { Mariadb } from './mariadb.ts';

/** A copy of 10 GB on a slow card takes about 20 minutes. */
const COPY_MS = 1_800_000;
/** The pages of a table, and their description for the import. */
const PARTS = ['ibd', 'cfg'];
const DEFINITION = 'definition.sql';

/**
 * Copies of tables by transportable tablespaces: the server completes the file of a table and locks it, and imports the
 * copy into a new table. A copy by statements would have denser pages than the table, so its performance would differ.
 */
export function mariadbCopies(server: Mariadb): DatabaseCopies {
  const folder = join(dirname(server.directory), 'copies');
  const fileOf = (place: string, table: string, part: string): string =>
    join(server.directory, place, `${table}.${part}`);

  const connected = async <T>(place: string, act: (connection: Connection) => Promise<T>): Promise<T> => {
    const { port, user, password } = server;
    const connection = await createConnection({
      ...{ host: '127.0.0.1', port, user, password, database: place },
      ...{ connectTimeout: 30_000, socketTimeout: COPY_MS, allowPublicKeyRetrieval: false },
    });
    try {
      return await act(connection);
    } finally {
      await connection.end().catch(() => connection.destroy());
    }
  };

  return {
    async save(copy, place, table) {
      const to = join(folder, copy);
      await rm(to, { recursive: true, force: true });
      await mkdir(to, { recursive: true });
      await connected(place, async (connection) => {
        const [row] = await connection.query(`show create table \`${table}\``);
        await writeFile(join(to, DEFINITION), row['Create Table']);
        await connection.query(`flush tables \`${table}\` for export`);
        try {
          for (const part of PARTS) await copyPart(fileOf(place, table, part), join(to, part));
        } finally {
          await connection.query('unlock tables');
        }
      });
    },
    async restore(copy, place, table) {
      const from = join(folder, copy);
      const definition = await readFile(join(from, DEFINITION), 'utf8');
      const { uid, gid } = await stat(server.directory);
      await connected(place, async (connection) => {
        await connection.query(`drop table if exists \`${table}\``);
        await connection.query(definition);
        await connection.query(`alter table \`${table}\` discard tablespace`);
        for (const part of PARTS) {
          const file = fileOf(place, table, part);
          await copyPart(join(from, part), file);
          await chown(file, uid, gid);
        }
        // The import reads all pages, and checks them.
        await connection.query(`alter table \`${table}\` import tablespace`);
        await rm(fileOf(place, table, 'cfg'), { force: true });
      });
    },
    // They are not in the data folder.
    bytes: async () => 0,
  };
}

/** Shares the blocks of the file where the file system can. */
function copyPart(from: string, to: string): Promise<void> {
  return copyFile(from, to, constants.COPYFILE_FICLONE);
}
