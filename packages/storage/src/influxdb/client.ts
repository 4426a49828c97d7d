import { StoreError } from '../errors.ts';
import type { InfluxdbConfig } from './config.ts';
import { answerError, requestError } from './errors.ts';

/** Longest body of a write, UTF-16 code units. The server accepts 25 MB. */
const BODY_LENGTH = 4 * 1024 * 1024;

/** A row of a result: columns and tags by name. */
export type Row = Readonly<Record<string, unknown>>;

interface Result {
  readonly error?: string;
  readonly series?: readonly {
    readonly tags?: Row;
    readonly columns: readonly string[];
    readonly values?: readonly (readonly unknown[])[];
  }[];
}

/** The HTTP interface of InfluxDB 1.8: https://docs.influxdata.com/influxdb/v1/tools/api/ */
export class Client {
  readonly database: string;
  readonly place: string;
  readonly #config: InfluxdbConfig;

  constructor(config: InfluxdbConfig) {
    this.#config = config;
    this.database = config.database;
    this.place = `${new URL(config.origin).host}/${config.database}`;
  }

  /** @throws {StoreError} UNAVAILABLE if the server does not answer within the connect timeout */
  async connect(): Promise<void> {
    const body = new URLSearchParams({ q: 'show databases' });
    await this.#request('/query', body, this.#config.connect, 'UNAVAILABLE');
  }

  /**
   * Writes points in the line protocol, in their order. When it resolves, the server has synced its log.
   * @param precision of their times: microseconds or nanoseconds
   */
  async write(lines: readonly string[], precision: 'u' | 'n'): Promise<void> {
    const path = `/write?db=${this.database}&precision=${precision}`;
    let body = '';
    for (const line of lines) {
      if (body !== '' && body.length + line.length > BODY_LENGTH) {
        await this.#request(path, body);
        body = '';
      }
      body += `${line}\n`;
    }
    await this.#request(path, body);
  }

  /** Runs a statement of InfluxQL. `$name` in it stands for a parameter. Times are microseconds. */
  async query(statement: string, params: Readonly<Record<string, string>> = {}): Promise<Row[]> {
    const body = new URLSearchParams({ q: statement, params: JSON.stringify(params) });
    const text = await this.#request(`/query?db=${this.database}&epoch=u`, body);
    const [{ error, series = [] }] = (JSON.parse(text) as { results: [Result] }).results;
    if (error !== undefined) throw answerError(200, error, this.place);
    return series.flatMap(({ tags, columns, values = [] }) =>
      values.map((row) => ({ ...tags, ...Object.fromEntries(columns.map((name, at) => [name, row[at]])) })),
    );
  }

  async #request(
    path: string,
    body: string | URLSearchParams,
    timeoutMs = this.#config.timeout,
    late: 'TIMEOUT' | 'UNAVAILABLE' = 'TIMEOUT',
  ): Promise<string> {
    const { origin, user, password } = this.#config;
    const login = Buffer.from(`${user}:${password}`).toString('base64');
    const headers: Record<string, string> = user === null ? {} : { authorization: `Basic ${login}` };
    const signal = AbortSignal.timeout(timeoutMs);
    const init: RequestInit = { method: 'POST', headers, body, redirect: 'error', signal };
    try {
      const response = await fetch(origin + path, init);
      const text = await response.text();
      if (response.ok) return text;
      throw answerError(response.status, response.headers.get('x-influxdb-error') ?? text, this.place);
    } catch (error) {
      throw error instanceof StoreError ? error : requestError(error, this.place, late);
    }
  }
}
