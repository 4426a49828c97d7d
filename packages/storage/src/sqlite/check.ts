import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { Block } from '@tidegauge/columns';
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

const BLOCK = `
  select b.id, s.device, s.metric, b.first, b.last, b.count, b.data
  from tidegauge_blocks b left join series s on s.id = b.series where b.id > ? order by b.id limit 1`;
const FIX = `${DAMAGED}; tidegauge restore writes it to a new file`;
const FIX_BLOCK = 'tidegauge repair takes it out, and takes its readings from another store';
const BUSY_MS = 5000;

type BlockRow = Record<string, SQLOutputValue>;

/**
 * Checks the tables of a file, and then each block of readings by its checksum. Others can use the file meanwhile.
 *
 * @param takesOut whether each damaged block is deleted, after its bytes were appended to `FILE.damaged` as a line of JSON
 */
export async function* checkFile(file: string, pace: CheckPace, takesOut: boolean): AsyncGenerator<Damage> {
  if (!existsSync(file)) return;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
    const sound = yield* checkTables(db, file, FIX, pace);
    if (!sound.has('tidegauge_blocks') || !sound.has('series')) return;
    for await (const { row, ...damage } of damagedBlocks(db, file, pace)) {
      if (takesOut) removeBlock(file, row);
      yield takesOut ? { ...damage, fix: takenOut(file) } : damage;
    }
  } catch (error) {
    yield { file, unit: 'the whole file', what: (error as Error).message, fix: FIX };
  } finally {
    db?.close();
  }
}

async function* damagedBlocks(
  db: DatabaseSync,
  file: string,
  pace: CheckPace,
): AsyncGenerator<Damage & { readonly row: BlockRow }> {
  const next = db.prepare(BLOCK);
  for (let row = next.get(0); row !== undefined; row = next.get(row.id!)) {
    const what = blockProblem(row);
    if (what !== null) {
      const { id, device, metric, first, last } = row;
      const unit = `block ${id} of ${device} ${metric} from ${timeText(first)} to ${timeText(last)}`;
      const lost = lostOf(row);
      yield { file, unit, what, fix: FIX_BLOCK, ...(lost === null ? {} : { lost }), row };
    }
    await pace();
  }
}

function blockProblem({ first, last, count, data, device }: BlockRow): string | null {
  try {
    const { times } = new Block(data as Uint8Array);
    if (times.length === count && times[0] === first && times.at(-1) === last)
      return device === null ? 'its series is missing' : null;
    return 'its times are not those of its row';
  } catch (error) {
    return (error as Error).message;
  }
}

function lostOf({ device, metric, first, last, count }: BlockRow): LostReadings | null {
  if (typeof device !== 'string' || typeof metric !== 'string') return null;
  if (typeof first !== 'number' || typeof last !== 'number' || last < first) return null;
  return { device, metric, from: first, to: last + 1, count: typeof count === 'number' ? count : null };
}

function removeBlock(file: string, { data, ...row }: BlockRow): void {
  const kept = { ...row, data: data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data };
  keepDamaged(file, Buffer.from(JSON.stringify(kept)));
  const db = new DatabaseSync(file, { timeout: BUSY_MS });
  try {
    // Ingest can have replaced the block since it was read.
    db.prepare('delete from tidegauge_blocks where id = ? and data is ?').run(row.id!, data!);
  } finally {
    db.close();
  }
}
