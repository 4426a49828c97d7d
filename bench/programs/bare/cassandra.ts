import type { Reading } from '@tidegauge/readings';
import { parseUrl } from '@tidegauge/storage';
import driver from 'cassandra-driver';
import { type Bare, QUALITIES, seriesOf } from './bare.ts';

const AT_ONCE = 64;
const REQUEST_ROWS = 50;
const DAY_US = 86_400_000_000;

const INSERT = `insert into bare_readings (series, day, time, value, received, boot, seq, quality)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;

export async function open(url: string): Promise<Bare> {
  const { hosts, user, password, path } = parseUrl(url);
  const client = new driver.Client({
    contactPoints: hosts.map(({ host, port }) => `${host}:${port}`),
    localDataCenter: 'datacenter1',
    keyspace: path,
    authProvider: new driver.auth.PlainTextAuthProvider(user!, password!),
    queryOptions: { prepare: true, consistency: driver.types.consistencies.quorum, isIdempotent: true },
    encoding: { useBigIntAsLong: true },
  });
  await client.connect();
  await client.execute(
    `create table bare_readings (
      series int, day int, time bigint, value double, received bigint, boot text, seq bigint, quality tinyint,
      primary key ((series, day), time)) with clustering order by (time desc)`,
    [],
    { prepare: false },
  );
  return {
    async write(batch) {
      const sorted = [...partitions(batch).values()].flat();
      const left: unknown[][][] = [];
      for (let start = 0; start < sorted.length; start += REQUEST_ROWS) {
        left.push(sorted.slice(start, start + REQUEST_ROWS));
      }
      const worker = async (): Promise<void> => {
        for (let rows = left.pop(); rows !== undefined; rows = left.pop()) {
          await client.batch(
            rows.map((params) => ({ query: INSERT, params })),
            { prepare: true, logged: false },
          );
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
    readRecord: (table, key) => client.execute(`select * from ${table} where y_id = ?`, [key]),
    close: () => client.shutdown(),
  };
}

/** Groups the rows by partition, so that an unlogged batch contains few partitions. */
function partitions(batch: readonly Reading[]): Map<string, unknown[][]> {
  const found = new Map<string, unknown[][]>();
  for (const reading of batch) {
    const { time, value, received, boot, seq, quality } = reading;
    const [series, day] = [seriesOf(reading), Math.floor(time / DAY_US)];
    const key = `${series} ${day}`;
    const rows = found.get(key) ?? [];
    if (rows.length === 0) found.set(key, rows);
    const numbers = [BigInt(time), value, BigInt(received), boot, BigInt(seq!)];
    rows.push([series, day, ...numbers, QUALITIES.indexOf(quality)]);
  }
  return found;
}
