import { parseUrl } from '@tidegauge/storage';
import { createPool } from 'mariadb';
import { type Bare, QUALITIES, seriesOf, sorted } from './bare.ts';

const WRITERS = 2;
const READERS = 4;

const CONFLICT = `on duplicate key update value = values(value), received = values(received), boot = values(boot),
  seq = values(seq), quality = values(quality)`;

export async function open(url: string): Promise<Bare> {
  const { hosts, user, password, path } = parseUrl(url);
  const [place] = hosts;
  const login = { host: place!.host, port: place!.port!, user: user!, password: password!, database: path };
  const writers = createPool({ ...login, connectionLimit: WRITERS });
  const readers = createPool({ ...login, connectionLimit: READERS });
  await writers.query(`create table bare_readings (
    series int unsigned, time bigint, value double, received bigint, boot varchar(200), seq bigint,
    quality tinyint, primary key (series, time))`);
  return {
    write(batch) {
      // One statement with the text of all rows is the fastest way to write. Numbers need no quotes.
      const rows = sorted(batch).map((reading) => {
        const { time, value, received, boot, seq, quality } = reading;
        return `(${seriesOf(reading)},${time},${value},${received},'${boot}',${seq},${QUALITIES.indexOf(quality)})`;
      });
      return writers.query(`insert into bare_readings values ${rows.join()} ${CONFLICT}`);
    },
    readRecord: (table, key) => readers.execute(`select * from ${table} where YCSB_KEY = ?`, [key]),
    async close() {
      await writers.end();
      await readers.end();
    },
  };
}
