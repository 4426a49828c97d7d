import { randomUUID } from 'node:crypto';
import { type Db, MongoClient } from 'mongodb';
import type { DatabaseCopies } from './database-copies.ts';
import type { Mongodb } from './mongodb.ts';

/** A copy of 10 GB on a slow card takes about 20 minutes. */
const COPY_MS = 1_800_000;
const OPTIONS = { serverSelectionTimeoutMS: 30_000, socketTimeoutMS: COPY_MS, maxPoolSize: 2 };
/** Collections of records that Tidegauge made, see docs/record-tables.md. */
const MARKS = 'tidegauge_tables';

/** Copies of collections by `$out`, which copies on the server. Each copy is a database. */
export function mongodbCopies(server: Mongodb): DatabaseCopies {
  const saved = new Set<string>();
  const connected = async <T>(act: (client: MongoClient) => Promise<T>): Promise<T> => {
    const client = new MongoClient(server.url('admin'), OPTIONS);
    try {
      return await act(client);
    } finally {
      await client.close();
    }
  };
  return {
    save: (copy, place, table) =>
      connected(async (client) => {
        const to = client.db(copy);
        await to.dropDatabase();
        await copyCollection(client.db(place), table, to, table);
        saved.add(copy);
      }),
    restore: (copy, place, table) =>
      connected(async (client) => {
        const db = client.db(place);
        const temporary = `tidegauge_new_${randomUUID()}`;
        try {
          await copyCollection(client.db(copy), table, db, temporary);
          // The mark is that of the collection, whose id a new name does not change.
          const id = await idOf(db, temporary);
          const former = await idOf(db, table);
          const marks = db.collection<{ readonly _id: string; readonly table: string }>(MARKS);
          await marks.insertOne({ _id: id!, table });
          await db.renameCollection(temporary, table, { dropTarget: true });
          if (former !== null) await marks.deleteOne({ _id: former });
        } catch (error) {
          await db.dropCollection(temporary).catch(() => {});
          throw error;
        }
      }),
    bytes: () =>
      connected(async (client) => {
        let bytes = 0;
        for (const copy of saved) {
          const { storageSize, indexSize } = await client.db(copy).command({ dbStats: 1 });
          bytes += storageSize + indexSize;
        }
        return bytes;
      }),
  };
}

async function copyCollection(from: Db, name: string, to: Db, copy: string): Promise<void> {
  const source = from.collection(name);
  // `$out` of a collection that does not exist makes an empty one.
  if ((await idOf(from, name)) === null) throw new Error(`there is no collection ${name} to copy`);
  await source.aggregate([{ $out: { db: to.databaseName, coll: copy } }]).toArray();
  const [expected, found] = [await source.countDocuments(), await to.collection(copy).countDocuments()];
  if (found !== expected)
    throw new Error(`the copy of collection ${name} has ${found} of ${expected} records`);
}

/** The UUID of a collection, in hexadecimal digits. */
async function idOf(db: Db, name: string): Promise<string | null> {
  const [found] = await db.listCollections({ name }, { nameOnly: false }).toArray();
  const uuid = found?.info?.uuid;
  return uuid === undefined ? null : Buffer.from(uuid.buffer).toString('hex');
}
