import pg from 'pg';
import { type Bare, QUALITIES, seriesOf, sorted } from './bare.ts';

const WRITERS = 2;
const READERS = 8;

const INSERT = `insert into bare_readings
  select * from unnest($1::bigint[], $2::bigint[], $3::float8[], $4::bigint[], $5::text[], $6::bigint[], $7::smallint[])
  on conflict (series, time) do update set value = excluded.value, received = excluded.received,
    boot = excluded.boot, seq = excluded.seq, quality = excluded.quality`;

export async function open(url: string): Promise<Bare> {
  const writers = new pg.Pool({ connectionString: url, max: WRITERS });
  const readers = new pg.Pool({ connectionString: url, max: READERS });
  // Idle connections emit an error when the server stops.
  for (const pool of [writers, readers]) pool.on('error', () => {});
  await writers.query(`create table bare_readings (
    series bigint, time bigint, value float8, received bigint, boot text, seq bigint, quality smallint,
    primary key (series, time))`);
  return {
    write(batch) {
      const rows = sorted(batch);
      const values = [
        rows.map(seriesOf),
        rows.map(({ time }) => time),
        rows.map(({ value }) => value),
        rows.map(({ received }) => received),
        rows.map(({ boot }) => boot),
        rows.map(({ seq }) => seq),
        rows.map(({ quality }) => QUALITIES.indexOf(quality)),
      ];
      return writers.query({ name: 'insert', text: INSERT, values });
    },
    readRecord: (table, key) =>
      readers.query({ name: 'read', text: `select * from ${table} where ycsb_key = $1`, values: [key] }),
    async close() {
      await writers.end();
      await readers.end();
    },
  };
}
