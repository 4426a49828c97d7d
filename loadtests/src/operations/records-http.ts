import type { Values } from '@tidegauge/workload';

/** The URLs of records in the API. */
export interface RecordsHttp {
  readonly table: string;
  record(key: string): string;
  /** The URL of a record with only these fields. null: all fields. */
  fields(key: string, fields: readonly string[] | null): string;
  scan(start: string, count: number, fields: readonly string[] | null): string;
}

/** Builds the URLs for the load phase in Node and for the scripts in k6. It therefore uses no module of Node. */
export function recordsHttp(api: string, table: string): RecordsHttp {
  const base = `${api}/v1/records/${encodeURIComponent(table)}`;
  const record = (key: string): string => `${base}/${encodeURIComponent(key)}`;
  return {
    table: base,
    record,
    fields: (key, fields) => (fields === null ? record(key) : `${record(key)}?fields=${fields.join(',')}`),
    scan(start, count, fields) {
      const only = fields === null ? '' : `&fields=${fields.join(',')}`;
      return `${base}?start=${encodeURIComponent(start)}&count=${count}${only}`;
    },
  };
}

export function recordBody(values: Values): string {
  return JSON.stringify({ fields: values });
}

export function recordsBody(records: readonly { readonly key: string; readonly fields: Values }[]): string {
  return JSON.stringify({ records });
}

/** Reads the fields of a record from the body of a response. */
export function recordFields(body: string): Values {
  return (JSON.parse(body) as { readonly fields: Values }).fields;
}

/** Reads the records from the response of a scan. */
export function recordsIn(body: string): readonly { readonly key: string; readonly fields: Values }[] {
  return (JSON.parse(body) as { readonly records: readonly { key: string; fields: Values }[] }).records;
}
