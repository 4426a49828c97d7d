import type { Connection, UpsertResult } from 'mariadb';
import { COLUMNS, type Rows, WIDTH } from './batch.ts';

/**
 * Rows per statement. With these sizes, a few prepared statements per connection are enough for batches of any
 * size. 512 rows with the longest texts stay below the server's default max_allowed_packet.
 */
const SIZES = [512, 256, 128, 64, 32, 16, 8, 4, 2, 1] as const;

// A known identity stays as it is, so affected rows are new rows.
const INSERT = 'on duplicate key update series = readings.series';
// Assigned from left to right. 0 and -0 are equal, so the stored bits stay.
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
 * Writes rows of different identities in the transaction of the connection. Resolves to the number of new or
 * changed rows. The count of the server is new rows plus twice the changed ones, so it is ambiguous. Therefore
 * rows are inserted first, and parts with known identities are then corrected.
 */
export async function storeRows(connection: Connection, rows: Rows): Promise<number> {
  const run = async (sql: string, values: Rows): Promise<number> =>
    (await connection.execute<UpsertResult>(sql, values)).affectedRows;
  // Sent without waiting. The session does not commit automatically, so all are rolled back if one fails.
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
