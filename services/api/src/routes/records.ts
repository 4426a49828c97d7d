import { Problem } from '@tidegauge/service';
import {
  type RecordFields,
  type RecordStore,
  type Store,
  tableProblem,
  type YcsbRecord,
} from '@tidegauge/storage';
import { type Request, Router } from 'express';
import { type Answers, sizeOfRecord } from '../answers.ts';
import { invalid, queryOf } from '../parameters.ts';
import type { RecordLane } from '../record-lane.ts';

interface ScanParameters {
  readonly start: string;
  readonly count: number;
  readonly fields: readonly string[];
}

/** YCSB's operations. */
export function recordRoutes(store: Store, lane: RecordLane, answers: Answers): Router {
  const { records } = store;
  /** Memory of the largest record seen, by table. */
  const largest = new Map<string, number>();
  const router = Router();
  /** What the store is asked, unless it was on the short way. */
  const asked = <T>(request: Request, ask: () => Promise<T>): Promise<T> =>
    (lane.handed(request)?.outcome as Promise<T> | null | undefined) ?? ask();

  router
    .route('/v1/records/:table')
    .get(async (request, response) => {
      const { start = '', count = 100, fields = null } = queryOf<ScanParameters>(request);
      await answers.list(response, {
        name: 'records',
        items: scanned(records, largest, tableOf(request.params), start, count, fields),
        limit: count,
        sizeOf: sizeOfRecord,
        toDocument: (each) => each,
      });
    })
    .put(async (request, response) => {
      const { fieldCount } = request.body as { fieldCount: number };
      await records.createTable(tableOf(request.params), fieldCount);
      response.status(204).end();
    })
    .delete(async (request, response) => {
      await records.dropTable(tableOf(request.params));
      response.status(204).end();
    });

  router
    .route('/v1/records/:table/:key')
    .get(async (request, response) => {
      const { key } = request.params;
      const table = tableOf(request.params);
      const { fields: names = null } = queryOf<ScanParameters>(request);
      const found = await asked(request, () => records.read(table, key, names));
      const fields = found ?? missingRecord(table, key);
      answers.reserve(response, sizeOfRecord({ key, fields }));
      response.json({ key, fields });
    })
    .put(async (request, response) => {
      const { key } = request.params;
      const table = tableOf(request.params);
      const inserted = await asked(request, () => records.insert(table, key, fieldsOf(request)));
      if (!inserted) throw new Problem(409, 'Conflict', `Table ${table} has a record ${key} already.`);
      response.status(201).end();
    })
    .patch(async (request, response) => {
      const { key } = request.params;
      const table = tableOf(request.params);
      const updated = await asked(request, () => records.update(table, key, fieldsOf(request)));
      if (!updated) missingRecord(table, key);
      response.status(204).end();
    })
    .delete(async (request, response) => {
      const { key } = request.params;
      const table = tableOf(request.params);
      if (!(await records.delete(table, key))) missingRecord(table, key);
      response.status(204).end();
    });

  return router;
}

/** Records of a first page, while nothing is known of their table, and of any page. */
const PAGE = { first: 4, most: 500 };
/** Memory that a page may take, if its records are as large as the largest that was seen in the table. */
const PAGE_BYTES = 512 * 1024;
const MAX_TABLES = 100;

/** A scan in pages that are small where records are large. */
async function* scanned(
  records: RecordStore,
  largest: Map<string, number>,
  table: string,
  start: string,
  count: number,
  fields: readonly string[] | null,
): AsyncGenerator<YcsbRecord> {
  const size = () => {
    const known = largest.get(table);
    return known === undefined
      ? PAGE.first
      : Math.max(1, Math.min(PAGE.most, Math.floor(PAGE_BYTES / known)));
  };
  let from = start;
  // Pages go on with the last record of the one before, which is left out.
  for (let left = count, again = 0; left > 0; again = 1) {
    const asked = Math.min(left, size()) + again;
    const page = await records.scan(table, from, asked, fields);
    const fresh = page.slice(again);
    if (largest.size >= MAX_TABLES) largest.clear();
    largest.set(
      table,
      fresh.reduce((most, each) => Math.max(most, sizeOfRecord(each)), largest.get(table) ?? 1),
    );
    yield* fresh;
    if (page.length < asked) return;
    left -= fresh.length;
    from = page.at(-1)!.key;
  }
}

function tableOf({ table }: { readonly table: string }): string {
  const problem = tableProblem(table);
  if (problem !== null) throw invalid('/params/table', problem);
  return table;
}

function fieldsOf(request: Request): RecordFields {
  return (request.body as { fields: RecordFields }).fields;
}

function missingRecord(table: string, key: string): never {
  throw new Problem(404, 'Not found', `Table ${table} has no record ${key}.`);
}
