import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseCopies } from '@tidegauge/lab/database-copies';

/**
 * Copies of the files of tables. Other processes that have a table open find a new file, as after a drop.
 *
 * @param folder a folder for the copies, on the file system of the databases
 * @param folderOf the folder of a database by its name
 */
export function jsonCopies(folder: string, folderOf: (place: string) => string): DatabaseCopies {
  const copyOf = (name: string): string => join(folder, `${name}.jsonl`);
  return {
    async save(name, place, table) {
      const records = join(folderOf(place), 'records');
      const [newest] = (await generationsOf(records, table)).toReversed();
      if (newest === undefined) throw new Error(`there is no table ${table} in ${records} to copy`);
      await mkdir(folder, { recursive: true });
      await rm(copyOf(name), { force: true });
      await copy(join(records, newest), copyOf(name));
    },
    async restore(name, place, table) {
      const records = join(folderOf(place), 'records');
      // Under its own name it appears complete.
      const temporary = join(folder, `${name}.restore`);
      await copy(copyOf(name), temporary);
      for (const file of await generationsOf(records, table)) await rm(join(records, file), { force: true });
      await rename(temporary, join(records, `${table}.jsonl`));
    },
    // They are not in the folder of the data.
    bytes: async () => 0,
  };
}

/** The files of a table, by generation: `t.jsonl`, `t.2.jsonl`, … The last one counts. */
async function generationsOf(records: string, table: string): Promise<string[]> {
  const numberOf = (file: string): number => Number(file.split('.').at(-2)) || 1;
  const pattern = new RegExp(`^${table}(\\.\\d+)?\\.jsonl$`);
  const files = (await readdir(records)).filter((file) => pattern.test(file));
  return files.sort((a, b) => numberOf(a) - numberOf(b));
}

/** Shares the blocks of the file where the file system can. */
function copy(from: string, to: string): Promise<void> {
  return copyFile(from, to, constants.COPYFILE_FICLONE);
}
