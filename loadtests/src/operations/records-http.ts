import type { Values } from '@tidegauge/workload';

/** Where the API has records. */
export interface RecordsHttp {
  readonly table: string;
  record(key: string): string;
  /** Of these fields only; null: of all. */
  fields(key: string, fields: readonly string[] | null): string;
  scan(start: string, count: number, fields: readonly string[] | null): string;
}

/** One place for the load phase in Node and the scripts in k6, which is why nothing of Node is used. */
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

/** The fields of a record that was read. */
export function recordFields(body: string): Values {
  return (JSON.parse(body) as { readonly fields: Values }).fields;
}
