import { Problem } from '@tidegauge/service';
import { type RecordFields, type Store, tableProblem } from '@tidegauge/storage';
import { type Request, Router } from 'express';
import { invalid, queryOf } from '../parameters.ts';
import type { RecordLane } from '../record-lane.ts';

interface ScanParameters {
  readonly start: string;
  readonly count: number;
  readonly fields: readonly string[];
}

/** YCSB's operations. */
export function recordRoutes(store: Store, lane: RecordLane): Router {
  const { records } = store;
  const router = Router();
  /** What the store is asked, unless it was on the short way. */
  const asked = <T>(request: Request, ask: () => Promise<T>): Promise<T> =>
    (lane.handed(request)?.outcome as Promise<T> | null | undefined) ?? ask();

  router
    .route('/v1/records/:table')
    .get(async (request, response) => {
      const { start = '', count = 100, fields = null } = queryOf<ScanParameters>(request);
      const found = await records.scan(tableOf(request.params), start, count, fields);
      response.json({ records: found });
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
      const { fields = null } = queryOf<ScanParameters>(request);
      const found = await asked(request, () => records.read(table, key, fields));
      response.json({ key, fields: found ?? missingRecord(table, key) });
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
