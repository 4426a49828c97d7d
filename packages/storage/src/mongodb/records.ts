import type { RecordFields, RecordStore, YcsbRecord } from '../contract.ts';
import { StoreError } from '../errors.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { fromFields, toFields } from './mapping.ts';
import { createCollection } from './schema.ts';

const MAX_TABLES = 1000;

/** Records in the layout of YCSB's MongoDB binding: the key as _id, fields as bytes. Table names come checked. */
export class MongodbRecords implements RecordStore {
  readonly #db: Database;
  /** Tables seen: a server makes a collection that is not there on the first write to it. */
  readonly #tables = new Set<string>();

  constructor(db: Database) {
    this.#db = db;
  }

  async createTable(table: string, _fieldCount: number): Promise<void> {
    await this.#db.run((db) => createCollection(db, table));
  }

  async dropTable(table: string): Promise<void> {
    this.#tables.delete(table);
    await this.#db.run((db) => db.dropCollection(table));
  }

  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    return this.#on(table, async () => {
      const found = await this.#db.table(table).findOne({ _id: key }, { projection: projection(fields) });
      return found === null ? null : toFields(found);
    });
  }

  insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#on(table, async () => {
      try {
        await this.#db.table(table).insertOne({ _id: key, ...fromFields(fields) });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    });
  }

  update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#on(table, async () => {
      const result = await this.#db.table(table).updateOne({ _id: key }, { $set: fromFields(fields) });
      return result.matchedCount === 1;
    });
  }

  delete(table: string, key: string): Promise<boolean> {
    return this.#on(
      table,
      async () => (await this.#db.table(table).deleteOne({ _id: key })).deletedCount === 1,
    );
  }

  scan(table: string, start: string, count: number, fields: readonly string[] | null): Promise<YcsbRecord[]> {
    return this.#on(table, async () => {
      const found = await this.#db
        .table(table)
        .find({ _id: { $gte: start } }, { projection: projection(fields) })
        .sort({ _id: 1 })
        .limit(count)
        .toArray();
      return found.map((document) => ({ key: document._id, fields: toFields(document) }));
    });
  }

  #on<T>(table: string, work: () => Promise<T>): Promise<T> {
    return this.#db.run(async (db) => {
      if (!this.#tables.has(table)) {
        const [known] = await db.listCollections({ name: table }, { nameOnly: true }).toArray();
        if (known === undefined) {
          throw new StoreError('REJECTED', `table ${table} does not exist`, {
            hint: 'create the table first',
          });
        }
        if (this.#tables.size >= MAX_TABLES) this.#tables.clear();
        this.#tables.add(table);
      }
      return work();
    });
  }
}

function projection(fields: readonly string[] | null): Record<string, 1> {
  return Object.fromEntries((fields ?? []).map((field) => [field, 1]));
}
