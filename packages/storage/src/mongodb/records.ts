import { randomUUID } from 'node:crypto';
import { Binary, type Db, type Document } from 'mongodb';
import type { RecordFields, YcsbRecord } from '../contract.ts';
import { partsOf } from '../record-batch.ts';
import { areFields, type BackendRecords, demandOwn, kindOf, type TableKind } from '../tables.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { insertNew } from './insert.ts';
import { fromFields, toFields } from './mapping.ts';
import { isNamespaceExists } from './schema.ts';

const SAMPLE = 10;
// Most records and characters in one request of a load.
const LOAD_RECORDS = 1000;
const LOAD_LENGTH = 4_194_304;

/**
 * Records in the layout of YCSB's MongoDB binding: the key as _id, fields as bytes. Table names are checked
 * already.
 */
export class MongodbRecords implements BackendRecords {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  inspect(table: string): Promise<TableKind> {
    return this.#db.run((db) => this.#inspect(db, table));
  }

  /**
   * Creates the collection under another name, sets the mark and renames it. So a collection with this name always
   * has its mark, and an existing collection is never mistaken for a new one.
   */
  createTable(table: string, _fieldCount: number): Promise<void> {
    return this.#db.run(async (db) => {
      const temporary = `tidegauge_new_${randomUUID()}`;
      await db.createCollection(temporary);
      const id = await idOf(db, temporary);
      await this.#db.tables.insertOne({ _id: id!, table });
      try {
        await db.renameCollection(temporary, table);
      } catch (error) {
        await this.#db.tables.deleteOne({ _id: id! });
        await db.dropCollection(temporary);
        // When two renames collide, FerretDB reports the unique index of its catalog without its own error code.
        if (!isNamespaceExists(error) && (await infoOf(db, table)) === null) throw error;
      }
    });
  }

  dropTable(table: string): Promise<void> {
    return this.#db.run(async (db) => {
      const id = await idOf(db, table);
      const kind = await this.#inspect(db, table);
      demandOwn(table, kind);
      if (kind === 'absent') return;
      await db.dropCollection(table);
      await this.#db.tables.deleteOne({ _id: id! });
    });
  }

  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null> {
    return this.#db.run(async () => {
      const found = await this.#db.table(table).findOne({ _id: key }, { projection: projection(fields) });
      return found === null ? null : toFields(found);
    });
  }

  insert(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#db.run(async () => {
      try {
        await this.#db.table(table).insertOne({ _id: key, ...fromFields(fields) });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    });
  }

  insertMany(table: string, records: readonly YcsbRecord[]): Promise<void> {
    return this.#db.run(async () => {
      for (const part of partsOf(records, LOAD_RECORDS, LOAD_LENGTH)) {
        const documents = part.map(({ key, fields }) => ({ _id: key, ...fromFields(fields) }));
        await insertNew(this.#db.table(table), documents);
      }
    });
  }

  update(table: string, key: string, fields: RecordFields): Promise<boolean> {
    return this.#db.run(async () => {
      const result = await this.#db.table(table).updateOne({ _id: key }, { $set: fromFields(fields) });
      return result.matchedCount === 1;
    });
  }

  delete(table: string, key: string): Promise<boolean> {
    return this.#db.run(async () => (await this.#db.table(table).deleteOne({ _id: key })).deletedCount === 1);
  }

  scan(table: string, start: string, count: number, fields: readonly string[] | null): Promise<YcsbRecord[]> {
    return this.#db.run(async () => {
      const found = await this.#db
        .table(table)
        .find({ _id: { $gte: start } }, { projection: projection(fields) })
        .sort({ _id: 1 })
        .limit(count)
        .toArray();
      return found.map((document) => ({ key: document._id, fields: toFields(document) }));
    });
  }

  async #inspect(db: Db, table: string): Promise<TableKind> {
    for (;;) {
      const found = await infoOf(db, table);
      if (found === null) return 'absent';
      const kind = await this.#kindOf(table, found);
      // Another process can drop the table and its mark between the two reads, so that the table looks unmarked.
      if (kind === 'own' || (await idOf(db, table)) === found.id) return kind;
    }
  }

  async #kindOf(table: string, found: Found): Promise<TableKind> {
    if (found.type !== 'collection' || Object.keys(found.options).length > 0) return 'other';
    if (found.id !== null && (await this.#db.tables.findOne({ _id: found.id })) !== null) return 'own';
    // Only its documents show the layout of a collection. YCSB's collection has at least one: the first insert
    // creates it.
    const some = await this.#db.table(table).find().limit(SAMPLE).toArray();
    return kindOf(false, some.length > 0 && some.every(isRecord));
  }
}

function isRecord({ _id, ...fields }: Document): boolean {
  return (
    typeof _id === 'string' && areFields(Object.keys(fields)) && Object.values(fields).every(Buffer.isBuffer)
  );
}

interface Found {
  readonly type: string;
  readonly options: object;
  /** The UUID of the collection in hexadecimal. No other collection has it. */
  readonly id: string | null;
}

async function infoOf(db: Db, table: string): Promise<Found | null> {
  const [found] = await db.listCollections({ name: table }, { nameOnly: false }).toArray();
  if (found === undefined) return null;
  const uuid: unknown = found.info?.uuid;
  const bytes = Buffer.isBuffer(uuid) ? uuid : uuid instanceof Binary ? Buffer.from(uuid.buffer) : null;
  return {
    type: found.type ?? 'collection',
    options: found.options ?? {},
    id: bytes === null ? null : bytes.toString('hex'),
  };
}

async function idOf(db: Db, table: string): Promise<string | null> {
  return (await infoOf(db, table))?.id ?? null;
}

function projection(fields: readonly string[] | null): Record<string, 1> {
  return Object.fromEntries((fields ?? []).map((field) => [field, 1]));
}
