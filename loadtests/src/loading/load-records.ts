import { type Store, StoreError, type YcsbRecord } from '@tidegauge/storage';
import { initialRecords, keyName, type RecordWorkload } from '@tidegauge/workload';
import type { HttpAnswer, HttpClient } from '../drivers/http-client.ts';
import { recordBody, recordsBody, recordsHttp, recordsIn } from '../operations/records-http.ts';
import { BATCHES_AT_ONCE, type Items, insist, insistOnStore, load, MAX_BATCH } from './load.ts';

/** Most characters of the records in one batch. */
const BATCH_LENGTH = 524_288;
/** Largest body of a request, bytes. The API bounds the bodies of one client to 4 MiB together. */
const BODY_BYTES = 786_432;
/** Answers of an API that has no bulk route. */
const NO_SUCH_ROUTE = [404, 405];
const TOO_LARGE = 413;

/** The initial records of a workload, through an API. An API without the bulk route gets them one by one. */
export function recordItems(api: string, client: HttpClient, workload: RecordWorkload, seed: number): Items {
  const urls = recordsHttp(api, workload.table);
  const records = recordsOf(workload, seed);
  let hasBulkRoute = true;
  let bodyBytes = BODY_BYTES;
  // The record exists if an earlier attempt was stored but its response was lost.
  const put = ({ key, fields }: YcsbRecord): Promise<HttpAnswer> =>
    insist(`inserting ${key}`, () => client.send('PUT', urls.record(key), recordBody(fields)), 'EXISTS');
  const putEach = async (some: readonly YcsbRecord[]): Promise<void> => {
    for (const each of some) await put(each);
  };
  const post = async (some: readonly YcsbRecord[]): Promise<void> => {
    if (!hasBulkRoute) return putEach(some);
    const body = recordsBody(some);
    const bytes = Buffer.byteLength(body);
    if (some.length > 1 && bytes > bodyBytes) return inHalves(some);
    const what = `inserting ${some.length} records from ${some[0]!.key} on`;
    const send = () => client.send('POST', urls.table, body);
    const { status } = await insist(what, send, ...NO_SUCH_ROUTE, TOO_LARGE);
    if (NO_SUCH_ROUTE.includes(status)) {
      hasBulkRoute = false;
      await putEach(some);
    } else if (status === TOO_LARGE) {
      // The API has a lower limit.
      bodyBytes = Math.min(bodyBytes, bytes - 1);
      if (some.length === 1) await put(some[0]!);
      else await inHalves(some);
    }
  };
  const inHalves = async (some: readonly YcsbRecord[]): Promise<void> => {
    const half = Math.ceil(some.length / 2);
    await post(some.slice(0, half));
    await post(some.slice(half));
  };
  return {
    ...records,
    async isThere(number) {
      const key = records.key(number);
      // REJECTED: the table does not exist, or it has no fields.
      const url = urls.fields(key, ['field0']);
      const read = () => client.send('GET', url);
      return (await insist(`reading ${key}`, read, 'NOT_FOUND', 'REJECTED')).status === 200;
    },
    insert: async (number) => void (await put(records.record(number))),
    bulk: {
      batch: batchOf(workload),
      async isEmpty() {
        const scan = () => client.send('GET', urls.scan('', 1, ['field0']));
        const { status, body } = await insist(`reading ${workload.table}`, scan, 'NOT_FOUND', 'REJECTED');
        return status === 200 && recordsIn(body).length === 0;
      },
      insert: (numbers) => post(numbers.map(records.record)),
    },
  };
}

/** The initial records of a workload, straight into a store. */
export function storeItems({ records: store }: Store, workload: RecordWorkload, seed: number): Items {
  const { table } = workload;
  const records = recordsOf(workload, seed);
  const insert = async (numbers: readonly number[]): Promise<void> => {
    const some = numbers.map(records.record);
    const what = `inserting ${some.length} records from ${some[0]!.key} on`;
    await insistOnStore(what, () => store.insertMany(table, some));
  };
  return {
    ...records,
    isThere: (number) => {
      const key = records.key(number);
      return insistOnStore(`reading ${key}`, async () => {
        const found = await store.read(table, key, ['field0']).catch(missingTable);
        return found !== null;
      });
    },
    insert: (number) => insert([number]),
    bulk: {
      batch: batchOf(workload),
      isEmpty: () =>
        insistOnStore(
          `reading ${table}`,
          async () => (await store.scan(table, '', 1, ['field0'])).length === 0,
        ),
      insert,
    },
  };
}

/** null when the table does not exist, or has no fields. */
function missingTable(error: unknown): null {
  if (error instanceof StoreError && error.code === 'REJECTED') return null;
  throw error;
}

/** Creates a table and fills it with the initial records of a workload. */
export async function loadRaw(
  store: Store,
  table: string,
  workload: RecordWorkload,
  seed: number,
): Promise<void> {
  await store.records.createTable(table, workload.fieldCount);
  await load(storeItems(store, { ...workload, table }, seed), BATCHES_AT_ONCE, new AbortController().signal);
}

/**
 * Creates a table through an API and fills it with the initial records of a workload.
 * @throws {Error} when the API or its store is unavailable after several attempts
 */
export async function loadThroughApi(
  api: string,
  client: HttpClient,
  table: string,
  workload: RecordWorkload,
  seed: number,
): Promise<void> {
  const ours = { ...workload, table };
  await makeTable(api, client, ours);
  await load(recordItems(api, client, ours, seed), BATCHES_AT_ONCE, new AbortController().signal);
}

/** Drops a table through an API. It is no error when it does not exist. */
export async function dropTable(api: string, client: HttpClient, table: string): Promise<void> {
  await insist(`dropping ${table}`, () => client.send('DELETE', recordsHttp(api, table).table));
}

/** Creates the workload's table if it does not exist. */
export async function makeTable(api: string, client: HttpClient, workload: RecordWorkload): Promise<void> {
  const { table, fieldCount } = workload;
  const put = () => client.send('PUT', recordsHttp(api, table).table, JSON.stringify({ fieldCount }));
  await insist(`making ${table}`, put);
}

function recordsOf(workload: RecordWorkload, seed: number) {
  const { table, insertStart, insertCount, insertOrder, zeroPadding } = workload;
  const recordOf = initialRecords(workload, seed);
  return {
    name: `records of ${table}`,
    count: insertCount,
    key: (number: number): string => keyName(insertStart + number, insertOrder, zeroPadding),
    record(number: number): YcsbRecord {
      const { key, values } = recordOf(insertStart + number);
      return { key, fields: values };
    },
  };
}

/** Records in a batch whose characters stay below `BATCH_LENGTH`, even if all fields have their longest values. */
function batchOf({ fieldCount, fieldLength: { histogram, maximum } }: RecordWorkload): number {
  const longestField = histogram === null ? maximum : histogram.buckets.length * histogram.blockSize;
  const longest = fieldCount * Math.max(1, longestField);
  return Math.max(1, Math.min(MAX_BATCH, Math.floor(BATCH_LENGTH / longest)));
}
