import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { Block } from '@tidegauge/columns';
import type { RollupPeriod } from '../contract.ts';
import {
  type CheckPace,
  checkTables,
  type Damage,
  keepDamaged,
  type LostReadings,
  takenOut,
  timeText,
} from '../damage.ts';
import { DAMAGED } from '../errors.ts';
import { decodeFigures } from '../rollups/encoding.ts';
import { HOUR_US, PERIOD_US, ROLLUP_PERIODS, ROW_US } from '../rollups/periods.ts';
import { PUT_MARK } from './rollups.ts';

const BLOCK = `
  select b.id, s.device, s.metric, b.first, b.last, b.count, b.data
  from tidegauge_blocks b left join series s on s.id = b.series where b.id > ? order by b.id limit 1`;
const FIX = `${DAMAGED}; tidegauge restore writes it to a new file`;
const FIX_BLOCK = 'tidegauge repair takes it out, and takes its readings from another store';
const ROLLUPS = `
  select rowid as id, device, metric, period, start, figures as data
  from tidegauge_rollups where rowid > ? order by rowid limit 1`;
const FIX_ROLLUPS =
  'tidegauge repair takes it out, and it is computed again from the readings that are still there';
/** Whether a series has readings in [?3, ?4), or the finer rollups, from which those of a period are computed too. */
const HAS_SOURCE = `
  with own as (select id from series where device = ?1 and metric = ?2)
  select 1 from readings join own on series = id where time >= ?3 and time < ?4
  union all select 1 from recent join own on series = id where time >= ?3 and time < ?4
  union all select 1 from arrivals join own a on series = a.id where time >= ?3 and time < ?4
  union all select 1 from tidegauge_blocks b join own o on b.series = o.id where last >= ?3 and first < ?4
  union all select 1 from tidegauge_rollups
    where device = ?1 and metric = ?2 and period = ?5 and start >= ?3 and start < ?4
  limit 1`;
const BUSY_MS = 5000;

type Row = Record<string, SQLOutputValue>;

/** A damaged row, and how it is taken out. */
interface DamagedRow {
  readonly damage: Omit<Damage, 'file'>;
  readonly row: Row;
  remove(db: DatabaseSync): void;
}

/**
 * Checks the tables of a file, and then each block of readings and each row of rollups by its checksum. Others can use the
 * file meanwhile.
 *
 * @param takesOut whether each damaged row is deleted, after its bytes were appended to `FILE.damaged` as a line of JSON
 */
export async function* checkFile(file: string, pace: CheckPace, takesOut: boolean): AsyncGenerator<Damage> {
  if (!existsSync(file)) return;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
    const sound = yield* checkTables(db, file, FIX, pace);
    for (const { tables, find } of CHECKS) {
      if (!tables.every((table) => sound.has(table))) continue;
      for await (const found of find(db, pace)) {
        if (takesOut) takeOut(file, found);
        yield { file, ...found.damage, ...(takesOut ? { fix: takenOut(file) } : {}) };
      }
    }
  } catch (error) {
    yield { file, unit: 'the whole file', what: (error as Error).message, fix: FIX };
  } finally {
    db?.close();
  }
}

/** The tables whose rows have checksums. */
const CHECKS = [
  { tables: ['tidegauge_blocks', 'series'], find: damagedBlocks },
  { tables: ['tidegauge_rollups', 'tidegauge_marks'], find: damagedRollups },
];

async function* damagedBlocks(db: DatabaseSync, pace: CheckPace): AsyncGenerator<DamagedRow> {
  for await (const row of rowsOf(db, BLOCK, pace)) {
    const what = blockProblem(row);
    if (what === null) continue;
    const { id, device, metric, first, last } = row;
    const unit = `block ${id} of ${device} ${metric} from ${timeText(first)} to ${timeText(last)}`;
    const lost = lostOf(row);
    const damage = { unit, what, fix: FIX_BLOCK, ...(lost === null ? {} : { lost }) };
    // Ingest can have replaced the row since it was read.
    const sql = 'delete from tidegauge_blocks where id = ? and data is ?';
    yield { damage, row, remove: (other) => other.prepare(sql).run(id!, row.data!) };
  }
}

async function* damagedRollups(db: DatabaseSync, pace: CheckPace): AsyncGenerator<DamagedRow> {
  for await (const row of rowsOf(db, ROLLUPS, pace)) {
    const what = rollupsProblem(row);
    if (what === null) continue;
    const { device, metric, period, start } = row;
    const unit = `rollups by ${period} of ${device} ${metric} from ${timeText(start)}`;
    yield { damage: { unit, what, fix: FIX_ROLLUPS }, row, remove: (other) => removeRollups(other, row) };
  }
}

/** All rows of a statement that reads the row after an id. */
async function* rowsOf(db: DatabaseSync, sql: string, pace: CheckPace): AsyncGenerator<Row> {
  const next = db.prepare(sql);
  for (let row = next.get(0); row !== undefined; row = next.get(row.id!)) {
    yield row;
    await pace();
  }
}

function rollupsProblem({ period, start, data }: Row): string | null {
  const length = PERIOD_US[period as RollupPeriod];
  if (length === undefined || typeof start !== 'number') return 'its period or time is none';
  try {
    decodeFigures(data as Uint8Array, start, length);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Deletes a row, and marks its hours, so that ingest computes them again, unless nothing is left that it could use. */
function removeRollups(db: DatabaseSync, { id, device, metric, period, start, data }: Row): void {
  db.exec('begin immediate');
  const remove = db.prepare('delete from tidegauge_rollups where rowid = ? and figures is ?');
  const isRemoved = remove.run(id!, data!).changes === 1;
  const place = ROLLUP_PERIODS.indexOf(period as RollupPeriod);
  if (isRemoved && place >= 0 && typeof start === 'number') {
    const end = start + ROW_US[ROLLUP_PERIODS[place]!];
    const finer = ROLLUP_PERIODS[place - 1] ?? null;
    const hasSource = db.prepare(HAS_SOURCE).get(device!, metric!, start, end, finer) !== undefined;
    const mark = db.prepare(PUT_MARK);
    for (let hour = start; hasSource && hour < end; hour += HOUR_US)
      mark.run(device!, metric!, hour, Date.now() * 1000, 0);
  }
  db.exec('commit');
}

function blockProblem({ first, last, count, data, device }: Row): string | null {
  try {
    const { times } = new Block(data as Uint8Array);
    if (times.length === count && times[0] === first && times.at(-1) === last)
      return device === null ? 'its series is missing' : null;
    return 'its times are not those of its row';
  } catch (error) {
    return (error as Error).message;
  }
}

function lostOf({ device, metric, first, last, count }: Row): LostReadings | null {
  if (typeof device !== 'string' || typeof metric !== 'string') return null;
  if (typeof first !== 'number' || typeof last !== 'number' || last < first) return null;
  return { device, metric, from: first, to: last + 1, count: typeof count === 'number' ? count : null };
}

function takeOut(file: string, { row: { data, ...row }, remove }: DamagedRow): void {
  const kept = { ...row, data: data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data };
  keepDamaged(file, Buffer.from(JSON.stringify(kept)));
  const db = new DatabaseSync(file, { timeout: BUSY_MS });
  try {
    remove(db);
  } finally {
    db.close();
  }
}
