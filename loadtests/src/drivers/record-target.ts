import { type Store, StoreError, type StoreErrorCode } from '@tidegauge/storage';
import type { Values } from '@tidegauge/workload';
import { type Outcome, outcomeOf } from '../operations/outcome.ts';
import { recordBody, recordFields, recordsHttp } from '../operations/records-http.ts';
import type { HttpClient } from './http-client.ts';

/** The result of a read. `values` decodes the values on its call, so decoding is not part of the measured time. */
export interface RecordRead {
  readonly outcome: Outcome;
  readonly values: () => Values;
}

/** A target of operations on records. No call rejects: each resolves to its outcome. */
export interface RecordTarget {
  read(key: string, fields: readonly string[] | null): Promise<RecordRead>;
  scan(key: string, count: number, fields: readonly string[] | null): Promise<Outcome>;
  insert(key: string, values: Values): Promise<Outcome>;
  update(key: string, values: Values): Promise<Outcome>;
  delete(key: string): Promise<Outcome>;
}

const OUTCOMES: Readonly<Record<StoreErrorCode, Outcome>> = {
  UNAVAILABLE: 'SERVICE_UNAVAILABLE',
  OVERLOADED: 'SERVICE_UNAVAILABLE',
  TIMEOUT: 'TIMEOUT',
  UNEXPECTED: 'ERROR',
  REJECTED: 'REJECTED',
  MISCONFIGURED: 'ERROR',
  NOT_SUPPORTED: 'NOT_IMPLEMENTED',
  FORBIDDEN: 'FORBIDDEN',
  CLOSED: 'ERROR',
};

/** A target that calls the store directly, in this process (`raw`). */
export function rawTarget({ records }: Store, table: string): RecordTarget {
  return {
    async read(key, fields) {
      try {
        const values = await records.read(table, key, fields);
        return { outcome: values === null ? 'NOT_FOUND' : 'OK', values: () => values! };
      } catch (error) {
        return { outcome: outcomeOfError(error), values: () => ({}) };
      }
    },
    scan: (key, count, fields) => records.scan(table, key, count, fields).then(() => 'OK', outcomeOfError),
    insert: (key, values) =>
      records.insert(table, key, values).then((done) => (done ? 'OK' : 'EXISTS'), outcomeOfError),
    update: (key, values) =>
      records.update(table, key, values).then((done) => (done ? 'OK' : 'NOT_FOUND'), outcomeOfError),
    delete: (key) => records.delete(table, key).then((done) => (done ? 'OK' : 'NOT_FOUND'), outcomeOfError),
  };
}

/** The outcome of an error of a store. */
export function outcomeOfError(error: unknown): Outcome {
  return error instanceof StoreError ? OUTCOMES[error.code] : 'ERROR';
}

/** A target that calls the HTTP API of the application (`app`). */
export function appTarget(api: string, client: HttpClient, table: string): RecordTarget {
  const urls = recordsHttp(api, table);
  const send = (method: string, url: string, body?: string) =>
    client.send(method, url, body).catch(() => ({ status: 0, body: '' }));
  const ended = async (method: string, url: string, body?: string): Promise<Outcome> =>
    outcomeOf((await send(method, url, body)).status);
  return {
    async read(key, fields) {
      const { status, body } = await send('GET', urls.fields(key, fields));
      return { outcome: outcomeOf(status), values: () => recordFields(body) };
    },
    scan: (key, count, fields) => ended('GET', urls.scan(key, count, fields)),
    insert: (key, values) => ended('PUT', urls.record(key), recordBody(values)),
    update: (key, values) => ended('PATCH', urls.record(key), recordBody(values)),
    delete: (key) => ended('DELETE', urls.record(key)),
  };
}
