import type { BackendRecords, CompleteRecords } from '../tables.ts';

/** All calls on records. Where inserts and updates are upserts, they are a batch of one record. */
export function completeRecords(engine: BackendRecords): CompleteRecords {
  const upsert: CompleteRecords['insert'] = async (table, key, fields) => {
    await engine.insertMany(table, [{ key, fields }]);
    return true;
  };
  return {
    inspect: (table) => engine.inspect(table),
    createTable: (table, fieldCount) => engine.createTable(table, fieldCount),
    dropTable: (table) => engine.dropTable(table),
    read: (table, key, fields) => engine.read(table, key, fields),
    insert: (table, key, fields) => engine.insert?.(table, key, fields) ?? upsert(table, key, fields),
    insertMany: (table, records) => engine.insertMany(table, records),
    update: (table, key, fields) => engine.update?.(table, key, fields) ?? upsert(table, key, fields),
    delete: (table, key) => engine.delete(table, key),
    scan: (table, start, count, fields) => engine.scan(table, start, count, fields),
  };
}
