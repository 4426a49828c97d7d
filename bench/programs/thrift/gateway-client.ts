import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { runProgram } from '@tidegauge/process';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Below node_modules, so that the generated code can import the package `thrift`. */
const GENERATED = join(ROOT, 'node_modules', '.cache', 'tidegauge', 'thrift2');
const IDL = fileURLToPath(new URL('rows.thrift', import.meta.url));

interface Value {
  readonly family: Buffer;
  readonly qualifier: Buffer;
  readonly value: Buffer;
}

interface Service {
  get(table: Buffer, get: object): Promise<{ readonly columnValues: readonly Value[] }>;
  getMultiple(
    table: Buffer,
    gets: readonly object[],
  ): Promise<readonly { readonly columnValues: readonly Value[] }[]>;
  put(table: Buffer, put: object): Promise<void>;
  putMultiple(table: Buffer, puts: readonly object[]): Promise<void>;
  getScannerResults(table: Buffer, scan: object, rows: number): Promise<readonly unknown[]>;
}

interface Connection {
  on(event: 'error', listener: (error: Error) => void): void;
  end(): void;
}

interface Thrift {
  readonly TBufferedTransport: unknown;
  readonly TBinaryProtocol: unknown;
  createConnection(host: string, port: number, options: object): Connection;
  createClient(service: unknown, connection: Connection): Service;
}

type Types = Readonly<Record<string, new (fields: object) => object>>;

/** The calls of the client that Thrift's compiler generates for Node.js. Row counts and value lengths are returned. */
export interface GatewayClient {
  get(row: string): Promise<number>;
  getAll(rows: readonly string[]): Promise<number>;
  put(row: string, value: Buffer): Promise<void>;
  putAll(rows: readonly string[], value: Buffer): Promise<void>;
  scan(start: string, rows: number): Promise<number>;
  close(): void;
}

/**
 * Generates the client with Thrift's compiler, and connects it. The gateway answers one call at a time per connection,
 * so `connections` limits the number of calls at once.
 */
export async function connectGateway(
  port: number,
  table: string,
  column: { readonly family: string; readonly qualifier: string },
  connections: number,
): Promise<GatewayClient> {
  const compiler = await findProgram('thrift', 'thrift-compiler');
  mkdirSync(GENERATED, { recursive: true });
  writeFileSync(join(GENERATED, 'package.json'), '{ "type": "commonjs" }\n');
  await runProgram(compiler, ['--gen', 'js:node,es6', '--out', GENERATED, IDL]);
  const require = createRequire(join(GENERATED, 'index.js'));
  const thrift = require('thrift') as Thrift;
  const types = require(join(GENERATED, 'rows_types.js')) as Types;
  const service = require(join(GENERATED, 'THBaseService.js')) as unknown;

  const open = Array.from({ length: connections }, () => {
    const options = { transport: thrift.TBufferedTransport, protocol: thrift.TBinaryProtocol };
    const connection = thrift.createConnection('127.0.0.1', port, options);
    // The pending call is rejected too, so the event needs no handling.
    connection.on('error', () => {});
    return { connection, client: thrift.createClient(service, connection) };
  });
  const free = open.map(({ client }) => client);
  const use = async <T>(call: (client: Service) => Promise<T>): Promise<T> => {
    const client = free.pop();
    if (client === undefined) throw new Error(`more calls at once than ${connections} connections`);
    try {
      return await call(client);
    } finally {
      free.push(client);
    }
  };

  const name = Buffer.from(table);
  const [family, qualifier] = [Buffer.from(column.family), Buffer.from(column.qualifier)];
  const get = (row: string) => new types.TGet!({ row: Buffer.from(row) });
  const put = (row: string, value: Buffer) =>
    new types.TPut!({
      row: Buffer.from(row),
      columnValues: [new types.TColumnValue!({ family, qualifier, value })],
    });
  return {
    get: async (row) =>
      (await use((client) => client.get(name, get(row)))).columnValues[0]?.value.length ?? 0,
    getAll: async (rows) => (await use((client) => client.getMultiple(name, rows.map(get)))).length,
    put: (row, value) => use((client) => client.put(name, put(row, value))),
    putAll: (rows, value) =>
      use((client) =>
        client.putMultiple(
          name,
          rows.map((row) => put(row, value)),
        ),
      ),
    async scan(start, rows) {
      const scan = new types.TScan!({ startRow: Buffer.from(start), caching: rows, limit: rows });
      return (await use((client) => client.getScannerResults(name, scan, rows))).length;
    },
    close() {
      for (const { connection } of open) connection.end();
    },
  };
}
