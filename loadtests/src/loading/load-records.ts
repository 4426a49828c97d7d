import { initialRecords, keyName, type RecordWorkload } from '@tidegauge/workload';
import type { HttpClient } from '../drivers/http-client.ts';
import { recordBody, recordsHttp } from '../operations/records-http.ts';
import { type Items, insist } from './load.ts';

/** The initial records of a workload. */
export function recordItems(api: string, client: HttpClient, workload: RecordWorkload, seed: number): Items {
  const { table, insertStart, insertCount, insertOrder, zeroPadding } = workload;
  const urls = recordsHttp(api, table);
  const recordOf = initialRecords(workload, seed);
  return {
    name: `records of ${table}`,
    count: insertCount,
    async isThere(number) {
      const key = keyName(insertStart + number, insertOrder, zeroPadding);
      // REJECTED: the table does not exist, or it has no fields.
      const url = urls.fields(key, ['field0']);
      const read = () => client.send('GET', url);
      return (await insist(`reading ${key}`, read, 'NOT_FOUND', 'REJECTED')).status === 200;
    },
    async insert(number) {
      const { key, values } = recordOf(insertStart + number);
      // The record exists if an earlier attempt was stored but its response was lost.
      const put = () => client.send('PUT', urls.record(key), recordBody(values));
      await insist(`inserting ${key}`, put, 'EXISTS');
    },
  };
}

/** Creates the workload's table if it does not exist. */
export async function makeTable(api: string, client: HttpClient, workload: RecordWorkload): Promise<void> {
  const { table, fieldCount } = workload;
  const put = () => client.send('PUT', recordsHttp(api, table).table, JSON.stringify({ fieldCount }));
  await insist(`making ${table}`, put);
}
