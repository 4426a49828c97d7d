import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parseUrl } from '@tidegauge/storage';
import { type Bare, QUALITIES, seriesOf, sorted } from './bare.ts';

export async function open(url: string): Promise<Bare> {
  const db = new DatabaseSync(parseUrl(url).path);
  db.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000;
    create table bare_readings (
      series integer, time integer, value, received integer, boot text, seq integer, quality integer,
      primary key (series, time)) without rowid`);
  const insert = db.prepare(`insert into bare_readings values (?, ?, ?, ?, ?, ?, ?)
    on conflict do update set value = excluded.value, received = excluded.received, boot = excluded.boot,
      seq = excluded.seq, quality = excluded.quality`);
  let read: StatementSync | null = null;
  return {
    async write(batch) {
      db.exec('begin immediate');
      for (const reading of sorted(batch)) {
        const { time, value, received, boot, seq, quality } = reading;
        insert.run(seriesOf(reading), time, value, received, boot, seq, QUALITIES.indexOf(quality));
      }
      db.exec('commit');
    },
    async readRecord(table, key) {
      read ??= db.prepare(`select * from ${table} where YCSB_KEY = ?`);
      return read.get(key);
    },
    close: async () => db.close(),
  };
}
