import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { type CheckPace, checkTables, type Damage } from '@tidegauge/storage';
import { splitFrames } from '../frames.ts';
import { ITEM, soundItem } from '../quarantine-rows.ts';
import { splitEntries } from '../spool-entry.ts';

/** After this time, an entry that was being written is complete. */
const AGAIN_MS = 2000;
const BUSY_MS = 5000;
/** A kind and `{}`: entries of the ledger and of clocks. */
const LEAST_BODY = 2;
const RESTART = 'restart ingest: it keeps the damaged part as ….damaged';

interface FrameFile {
  readonly end: string;
  readonly split: (data: Buffer) => { readonly damaged: readonly Buffer[] };
  readonly fix: string;
}

const FRAME_FILES: readonly FrameFile[] = [
  { end: '.spool', split: splitEntries, fix: `${RESTART}, and uses the other messages` },
  {
    end: '.ledger',
    split: (data) => splitFrames(data, LEAST_BODY),
    fix: `${RESTART}, and compares the rest with the store`,
  },
  {
    end: '.clocks',
    split: (data) => splitFrames(data, LEAST_BODY),
    fix: 'restart ingest: it uses the other entries, and writes the file again',
  },
];
const QUARANTINE = '.quarantine.db';

/**
 * Checks the spool, logs of the relay, ledgers, clocks and quarantines below a directory. Ingest can use them meanwhile.
 *
 * @param checked called with the name of each file
 */
export async function* checkFiles(
  directory: string,
  pace: CheckPace,
  checked: (file: string) => void,
): AsyncGenerator<Damage> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
  const doubtful: (() => Generator<Damage>)[] = [];
  for (const file of names.map((name) => join(directory, name))) {
    const kind = FRAME_FILES.find(({ end }) => file.endsWith(end));
    if (kind !== undefined) {
      checked(file);
      const units = damagedUnits(file, kind);
      if (units.length > 0) doubtful.push(() => stillDamaged(file, kind, units));
      await pace();
    } else if (file.endsWith(QUARANTINE)) {
      checked(file);
      yield* checkQuarantine(file, pace);
    }
  }
  if (doubtful.length > 0) await delay(AGAIN_MS);
  for (const again of doubtful) yield* again();
}

function* stillDamaged(file: string, kind: FrameFile, units: readonly string[]): Generator<Damage> {
  const { fix } = kind;
  const again = damagedUnits(file, kind);
  for (const unit of units) if (again.includes(unit)) yield { file, unit, what: 'its checksum differs', fix };
}

/** The damaged parts by their begin, because the end of the last one is that of the file. */
function damagedUnits(file: string, { split }: FrameFile): string[] {
  try {
    const data = readFileSync(file);
    return split(data).damaged.map((part) => `entry at byte ${part.byteOffset - data.byteOffset}`);
  } catch (error) {
    // A segment whose messages are stored is deleted.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function* checkQuarantine(file: string, pace: CheckPace): AsyncGenerator<Damage> {
  const fix = 'restart ingest: the quarantine begins again, and the file is kept as ….damaged';
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
    const sound = yield* checkTables(db, file, fix, pace);
    if (sound.has('quarantine')) yield* checkItems(db, file, pace);
  } catch (error) {
    yield { file, unit: 'the whole file', what: (error as Error).message, fix };
  } finally {
    db?.close();
  }
}

async function* checkItems(db: DatabaseSync, file: string, pace: CheckPace): AsyncGenerator<Damage> {
  const columns = db.prepare("SELECT name FROM pragma_table_info('quarantine')").all();
  // A file that an earlier version wrote, and ingest has not opened since.
  if (!columns.some(({ name }) => name === 'crc')) return;
  const next = db.prepare(`SELECT ${ITEM} FROM quarantine WHERE id > ? ORDER BY id LIMIT 1`);
  for (let row = next.get(0); row !== undefined; row = next.get(row.id!)) {
    const unit = `message ${row.id}`;
    if (soundItem(row) === null)
      yield { file, unit, what: 'its checksum differs', fix: 'discard it: tidegauge quarantine discard' };
    await pace();
  }
}
