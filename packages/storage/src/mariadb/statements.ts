import type { Connection, UpsertResult } from 'mariadb';
import { COLUMNS, type Rows, WIDTH } from './batch.ts';

/**
 * Rows per statement, so that few statements, prepared once per connection, serve batches of any size. 512 rows
 * of the longest texts stay below the server's default max_allowed_packet.
 */
const SIZES = [512, 256, 128, 64, 32, 16, 8, 4, 2, 1] as const;

// Of a known identity nothing changes, so that affected rows are the new ones.
const INSERT = 'on duplicate key update series = readings.series';
// Assigned from left to right. 0 and -0 are equal, and so the bits stay.
const isSame = '(value <=> values(value) and text <=> values(text))';
const keep = (column: string): string => `${column} = if(${isSame}, ${column}, values(${column}))`;
const CORRECT = `on duplicate key update
  ${['received', 'boot', 'seq', 'quality'].map(keep).join(', ')},
  value = if(value <=> values(value), value, values(value)), text = values(text)`;

const ROW = `(${new Array<string>(WIDTH).fill('?').join(', ')})`;

function statements(conflict: string): ReadonlyMap<number, string> {
  const sql = (size: number): string =>
    `insert into readings (${COLUMNS}) values ${new Array<string>(size).fill(ROW).join(', ')} ${conflict}`;
  return new Map(SIZES.map((size) => [size, sql(size)]));
}

const INSERTS = statements(INSERT);
const CORRECTIONS = statements(CORRECT);

/**
 * Writes rows of different identities within the connection's transaction; resolves to how many were new or
 * changed. The server's count adds new rows and twice the changed ones, which cannot be told apart; so rows are
 * first inserted, and pieces in which some were known are then corrected.
 */
export async function storeRows(connection: Connection, rows: Rows): Promise<number> {
  const run = async (sql: string, values: Rows): Promise<number> =>
    (await connection.execute<UpsertResult>(sql, values)).affectedRows;
  // Sent without waiting; the session does not commit by itself, so that all are undone if one fails.
  const stored = await Promise.all(
    pieces(rows).map(async (piece) => {
      const size = piece.length / WIDTH;
      const inserted = await run(INSERTS.get(size)!, piece);
      if (inserted === size) return size;
      return inserted + (await run(CORRECTIONS.get(size)!, piece)) / 2;
    }),
  );
  return stored.reduce((sum, count) => sum + count, 0);
}

function pieces(rows: Rows): Rows[] {
  const all: Rows[] = [];
  let start = 0;
  for (const size of SIZES) {
    for (; rows.length - start >= size * WIDTH; start += size * WIDTH) {
      all.push(rows.slice(start, start + size * WIDTH));
    }
  }
  return all;
}
