import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { Block } from '@tidegauge/columns';
import { type CheckPace, checkTables, type Damage, timeText } from '../damage.ts';
import { DAMAGED } from '../errors.ts';

const BLOCK = `
  select b.id, s.device, s.metric, b.first, b.last, b.count, b.data
  from tidegauge_blocks b left join series s on s.id = b.series where b.id > ? order by b.id limit 1`;
const FIX = `${DAMAGED}; tidegauge restore writes it to a new file`;
const BUSY_MS = 5000;

/** Checks the tables of a file, and then each block of readings by its checksum. Others can use the file meanwhile. */
export async function* checkFile(file: string, pace: CheckPace): AsyncGenerator<Damage> {
  if (!existsSync(file)) return;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
    const sound = yield* checkTables(db, file, FIX, pace);
    if (sound.has('tidegauge_blocks') && sound.has('series')) yield* checkBlocks(db, file, pace);
  } catch (error) {
    yield { file, unit: 'the whole file', what: (error as Error).message, fix: FIX };
  } finally {
    db?.close();
  }
}

async function* checkBlocks(db: DatabaseSync, file: string, pace: CheckPace): AsyncGenerator<Damage> {
  const next = db.prepare(BLOCK);
  for (let row = next.get(0); row !== undefined; row = next.get(row.id!)) {
    const what = blockProblem(row);
    if (what !== null) {
      const { id, device, metric, first, last } = row;
      const unit = `block ${id} of ${device} ${metric} from ${timeText(first)} to ${timeText(last)}`;
      yield { file, unit, what, fix: FIX };
    }
    await pace();
  }
}

function blockProblem({ first, last, count, data, device }: Record<string, SQLOutputValue>): string | null {
  try {
    const { times } = new Block(data as Uint8Array);
    if (times.length === count && times[0] === first && times.at(-1) === last)
      return device === null ? 'its series is missing' : null;
    return 'its times are not those of its row';
  } catch (error) {
    return (error as Error).message;
  }
}
