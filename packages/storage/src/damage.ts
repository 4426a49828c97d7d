import { appendFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

/** Readings that a damaged part had, or can have had. */
export interface LostReadings {
  /** null: of any device. */
  readonly device: string | null;
  /** null: of any metric. */
  readonly metric: string | null;
  /** Times in [from, to), microseconds. */
  readonly from: number;
  readonly to: number;
  /** null: not known. */
  readonly count: number | null;
}

/** A part of a file that is not what was written. */
export interface Damage {
  readonly file: string;
  /** The part: a table, a block, a line, with device and time where they are known. */
  readonly unit: string;
  /** What is wrong with it. */
  readonly what: string;
  /** What to do, in one sentence. */
  readonly fix: string;
  /** What cannot be read any more. Absent: no reading, or not known which. */
  readonly lost?: LostReadings;
}

/** Waits between two parts of a check, so that it leaves the disk and the processor to others. */
export type CheckPace = () => Promise<void>;

/** The file that keeps what is taken out of a file. */
export function keptIn(file: string): string {
  return `${file}.damaged`;
}

/** Keeps the bytes of a damaged part as a line, on the disk when it returns. */
export function keepDamaged(file: string, bytes: Uint8Array): void {
  appendFileSync(keptIn(file), Buffer.concat([bytes, Buffer.from('\n')]), { mode: 0o600, flush: true });
}

/** How many bytes are kept of a file. */
export function keptBytes(file: string): number {
  return statSync(keptIn(file), { throwIfNoEntry: false })?.size ?? 0;
}

/** Keeps only the first bytes of what is kept of a file, as before the rest was added. */
export function keepOnly(file: string, bytes: number): void {
  if (bytes === 0) rmSync(keptIn(file), { force: true });
  else truncateSync(keptIn(file), bytes);
}

/** What was done, as `Damage.fix`. */
export function takenOut(file: string): string {
  return `it is taken out, and kept in ${keptIn(file)}`;
}

/** A time in microseconds for people. It can be damaged too. */
export function timeText(time: unknown): string {
  const date = new Date(Number(time) / 1000);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString();
}

/**
 * Checks the structure of each table of a SQLite file, and its indexes, by `pragma integrity_check`. It finds no changed
 * value that is in no index. A table is checked in one statement.
 *
 * @returns the tables that can be read
 */
export async function* checkTables(
  db: DatabaseSync,
  file: string,
  fix: string,
  pace: CheckPace,
): AsyncGenerator<Damage, ReadonlySet<string>> {
  const sound = new Set<string>();
  const tables = db.prepare("select name from sqlite_schema where type = 'table' order by name").all();
  for (const { name } of tables) {
    const problems = problemsOf(db, String(name));
    const [what] = problems;
    const more = problems.length > 1 ? `, and ${problems.length - 1} more` : '';
    if (what === undefined) sound.add(String(name));
    else yield { file, unit: `table ${name}`, what: `${what}${more}`, fix };
    await pace();
  }
  return sound;
}

function problemsOf(db: DatabaseSync, table: string): string[] {
  try {
    const rows = db.prepare(`pragma integrity_check("${table}")`).all();
    return rows.map((row) => String(row.integrity_check)).filter((text) => text !== 'ok');
  } catch (error) {
    return [(error as Error).message];
  }
}
