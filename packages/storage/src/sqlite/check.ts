import { appendFileSync, existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { Block } from '@tidegauge/columns';
import { type CheckPace, checkTables, type Damage, type LostReadings, timeText } from '../damage.ts';
import { DAMAGED } from '../errors.ts';

const BLOCK = `
  select b.id, s.device, s.metric, b.first, b.last, b.count, b.data
  from tidegauge_blocks b left join series s on s.id = b.series where b.id > ? order by b.id limit 1`;
const FIX = `${DAMAGED}; tidegauge restore writes it to a new file`;
const FIX_BLOCK = 'tidegauge repair takes it out, and takes its readings from another store';
const BUSY_MS = 5000;

/** Checks the tables of a file, and then each block of readings by its checksum. Others can use the file meanwhile. */
export async function* checkFile(file: string, pace: CheckPace): AsyncGenerator<Damage> {
  for await (const { damage } of damagesOf(file, pace)) yield damage;
}

/**
 * The same, and deletes each damaged block, whose bytes are appended to `FILE.damaged` before, as a line of JSON. Others can
 * use the file meanwhile. Tables are not changed.
 */
export async function* repairFile(file: string, pace: CheckPace): AsyncGenerator<Damage> {
  for await (const { damage, block } of damagesOf(file, pace)) {
    if (block !== null) removeBlock(file, block);
    yield block === null ? damage : { ...damage, fix: `it is taken out, and kept in ${file}.damaged` };
  }
}

interface Found {
  readonly damage: Damage;
  /** Its row, when the damage is one of a block. */
  readonly block: BlockRow | null;
}

type BlockRow = Record<string, SQLOutputValue>;

async function* damagesOf(file: string, pace: CheckPace): AsyncGenerator<Found> {
  if (!existsSync(file)) return;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
    const tables = checkTables(db, file, FIX, pace);
    let next = await tables.next();
    for (; next.done !== true; next = await tables.next()) yield { damage: next.value, block: null };
    if (next.value.has('tidegauge_blocks') && next.value.has('series')) yield* damagedBlocks(db, file, pace);
  } catch (error) {
    yield {
      damage: { file, unit: 'the whole file', what: (error as Error).message, fix: FIX },
      block: null,
    };
  } finally {
    db?.close();
  }
}

async function* damagedBlocks(db: DatabaseSync, file: string, pace: CheckPace): AsyncGenerator<Found> {
  const next = db.prepare(BLOCK);
  for (let row = next.get(0); row !== undefined; row = next.get(row.id!)) {
    const what = blockProblem(row);
    if (what !== null) {
      const { id, device, metric, first, last } = row;
      const unit = `block ${id} of ${device} ${metric} from ${timeText(first)} to ${timeText(last)}`;
      const lost = lostOf(row);
      const damage = { file, unit, what, fix: FIX_BLOCK, ...(lost === null ? {} : { lost }) };
      yield { damage, block: row };
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
  appendFileSync(`${file}.damaged`, `${JSON.stringify(kept)}\n`, { mode: 0o600, flush: true });
  const db = new DatabaseSync(file, { timeout: BUSY_MS });
  try {
    // Ingest can have replaced the block since it was read.
    db.prepare('delete from tidegauge_blocks where id = ? and data is ?').run(row.id!, data!);
  } finally {
    db.close();
  }
}
