import { Problem } from '@tidegauge/service';
import {
  MAX_INSERT_LENGTH,
  type RecordFields,
  type RecordStore,
  type Store,
  tableProblem,
  type YcsbRecord,
} from '@tidegauge/storage';
import { type Answers, Pages, sizeOfRecord } from '../answers.ts';
import type { Call, Handlers } from '../dispatch.ts';
import type { FastLane } from '../fast-lane.ts';
import { invalid, queryOf } from '../parameters.ts';
import { sendJson } from '../send-json.ts';

interface ScanParameters {
  readonly start: string;
  readonly count: number;
  readonly fields: readonly string[];
}

/** The operations of YCSB. */
export function recordHandlers(store: Store, lane: FastLane, answers: Answers): Handlers {
  const { records } = store;
  /** Approximate memory of the largest record that was read, by table, bytes. */
  const largest = new Map<string, number>();
  /** The result of the store: the lane's, if it has called the store for this request. */
  const result = <T>({ request }: Call, callStore: () => Promise<T>): Promise<T> =>
    (lane.handed(request)?.outcome as Promise<T> | null | undefined) ?? callStore();
  return {
    scanRecords: async (call, response) => {
      const { start = '', count = 100, fields = null } = queryOf<ScanParameters>(call);
      await answers.list(response, {
        name: 'records',
        items: new Pages(scanned(records, largest, tableOf(call.params), start, count, fields)),
        limit: count,
        sizeOf: sizeOfRecord,
        toDocument: (each) => each,
      });
    },
    insertRecords: async (call, response) => {
      const table = tableOf(call.params);
      const { records: some } = call.body as { records: readonly YcsbRecord[] };
      demandShort(some);
      await records.insertMany(table, some);
      response.status(204).end();
    },
    createRecordTable: async (call, response) => {
      const { fieldCount } = call.body as { fieldCount: number };
      await records.createTable(tableOf(call.params), fieldCount);
      response.status(204).end();
    },
    dropRecordTable: async (call, response) => {
      await records.dropTable(tableOf(call.params));
      response.status(204).end();
    },
    readRecord: async (call, response) => {
      const [table, key] = recordOf(call.params);
      const { fields: names = null } = queryOf<ScanParameters>(call);
      const found = await result(call, () => records.read(table, key, names));
      const fields = found ?? missingRecord(table, key);
      answers.memory.reserve(response, sizeOfRecord({ key, fields }));
      sendJson(response, JSON.stringify({ key, fields }));
    },
    insertRecord: async (call, response) => {
      const [table, key] = recordOf(call.params);
      const inserted = await result(call, () => records.insert(table, key, fieldsOf(call)));
      if (!inserted) throw new Problem(409, 'Conflict', `Table ${table} already has a record ${key}.`);
      response.status(201).end();
    },
    updateRecord: async (call, response) => {
      const [table, key] = recordOf(call.params);
      const updated = await result(call, () => records.update(table, key, fieldsOf(call)));
      if (!updated) missingRecord(table, key);
      response.status(204).end();
    },
    deleteRecord: async (call, response) => {
      const [table, key] = recordOf(call.params);
      if (!(await records.delete(table, key))) missingRecord(table, key);
      response.status(204).end();
    },
  };
}

/** Records per page: in the first page of a table whose record size is unknown, and at most. */
const PAGE = { first: 4, most: 500 };
/** Largest memory of a page, bytes, if all its records are as large as the largest record read from the table. */
const PAGE_BYTES = 512 * 1024;
const MAX_TABLES = 100;

/** Scans a table in pages. The larger the records, the fewer are in a page. */
async function* scanned(
  records: RecordStore,
  largest: Map<string, number>,
  table: string,
  start: string,
  count: number,
  fields: readonly string[] | null,
): AsyncGenerator<readonly YcsbRecord[]> {
  const size = () => {
    const known = largest.get(table);
    return known === undefined
      ? PAGE.first
      : Math.max(1, Math.min(PAGE.most, Math.floor(PAGE_BYTES / known)));
  };
  let from = start;
  // Each page begins with the last record of the previous page, which is not sent again.
  for (let left = count, again = 0; left > 0; again = 1) {
    const requested = Math.min(left, size()) + again;
    const page = await records.scan(table, from, requested, fields);
    const fresh = page.slice(again);
    if (largest.size >= MAX_TABLES) largest.clear();
    largest.set(
      table,
      fresh.reduce((most, each) => Math.max(most, sizeOfRecord(each)), largest.get(table) ?? 1),
    );
    yield fresh;
    if (page.length < requested) return;
    left -= fresh.length;
    from = page.at(-1)!.key;
  }
}

function tableOf({ table }: Call['params']): string {
  const problem = tableProblem(table!);
  if (problem !== null) throw invalid('/params/table', problem);
  return table!;
}

function recordOf(params: Call['params']): readonly [table: string, key: string] {
  return [tableOf(params), params.key!];
}

function fieldsOf({ body }: Call): RecordFields {
  return (body as { fields: RecordFields }).fields;
}

/** `BODY_LIMIT` can be higher than what a store inserts at once. */
function demandShort(records: readonly YcsbRecord[]): void {
  let length = 0;
  for (const { key, fields } of records) {
    length += key.length;
    for (const value of Object.values(fields)) length += value.length;
  }
  if (records.length === 1 || length <= MAX_INSERT_LENGTH) return;
  const detail = `The records have ${length} characters: at most ${MAX_INSERT_LENGTH} are accepted. Send fewer.`;
  throw new Problem(413, 'Body too large', detail);
}

function missingRecord(table: string, key: string): never {
  throw new Problem(404, 'Not found', `Table ${table} has no record ${key}.`);
}
