import type { Bytes, NewCell, Put, Row, Table } from '@tidegauge/hbase-client';
import { covered, type Days, type DayTotal, type RollUp, type TotalsTable } from '../day-totals.ts';
import { FAMILY } from './mapping.ts';
import type { Session } from './session.ts';

// Keys: `d day` for the totals of a day, with a column per metric, and `r first until` for a roll-up.
const DAY = 0x64;
const ROLL_UP = 0x72;
/** The column that every row has. Names of metrics have no byte 00. */
const MARK: Buffer = Buffer.of(0);
/** Rows of one call. A row has a column per metric. */
const WRITE_ROWS = 100;

/**
 * Totals of days, and the list of roll-ups. The timestamp of all cells is the start of the roll-up, so one that started
 * earlier cannot replace a later one. Columns that are older than the mark of their row are those of metrics that had
 * no readings any more, and are ignored. So a put replaces a whole day at once.
 */
export class HbaseTotals implements TotalsTable {
  readonly #session: Session;
  readonly #table: Table;

  constructor(session: Session) {
    this.#session = session;
    this.#table = session.table('totals');
  }

  async *read(days: Days): AsyncGenerator<DayTotal> {
    for (const row of await this.#rows(DAY, days)) yield* toDayTotals(row);
  }

  async rollUps(): Promise<RollUp[]> {
    const rows = await this.#rows(ROLL_UP, { first: 0, until: 0xffff_ffff });
    return rows.map(({ key, cells }) => ({
      first: key.readUInt32BE(1),
      until: key.readUInt32BE(5),
      asOf: cells[0]!.timestamp * 1000,
    }));
  }

  async replace(rollUp: RollUp, totals: ReadonlyMap<number, readonly DayTotal[]>): Promise<void> {
    const timestamp = rollUp.asOf / 1000;
    const stored = (await this.#rows(DAY, rollUp)).map(({ key }) => key.readUInt32BE(1));
    const days = [...new Set([...totals.keys(), ...stored])];
    const mark: NewCell = { family: FAMILY, qualifier: MARK, value: MARK, timestamp };
    const putOf = (row: Bytes, cells: readonly NewCell[]): Put => ({ type: 'put', row, cells });
    await this.#session.run(async () => {
      for (let start = 0; start < days.length; start += WRITE_ROWS) {
        const puts = days.slice(start, start + WRITE_ROWS).map((day) => {
          const cells = (totals.get(day) ?? []).map((total) => fromDayTotal(total, timestamp));
          return putOf(keyOf(DAY, day), [mark, ...cells]);
        });
        await this.#table.mutateAll(puts);
      }
      await this.#table.mutateAll([putOf(keyOf(ROLL_UP, rollUp.first, rollUp.until), [mark])]);
    });
    const old = covered(await this.rollUps(), rollUp);
    const deletes = old.map(({ first, until, asOf }) => {
      return { type: 'delete', row: keyOf(ROLL_UP, first, until), timestamp: asOf / 1000 } as const;
    });
    if (deletes.length > 0) await this.#session.run(() => this.#table.mutateAll(deletes));
  }

  #rows(kind: number, { first, until }: Days): Promise<Row[]> {
    return this.#session.run(async () => {
      const rows: Row[] = [];
      const range = { start: keyOf(kind, first), stop: keyOf(kind, until) };
      for await (const row of this.#table.scan(range)) rows.push(row);
      return rows;
    });
  }
}

function keyOf(kind: number, ...numbers: readonly number[]): Buffer {
  const key = Buffer.alloc(1 + 4 * numbers.length);
  key.writeUInt8(kind);
  for (const [index, number] of numbers.entries()) key.writeUInt32BE(number, 1 + 4 * index);
  return key;
}

function fromDayTotal({ metric, count, sum, min, max }: DayTotal, timestamp: number): NewCell {
  const value = Buffer.allocUnsafe(32);
  for (const [index, number] of [count, sum, min, max].entries()) value.writeDoubleBE(number, 8 * index);
  return { family: FAMILY, qualifier: metric, value, timestamp };
}

function* toDayTotals(row: Row): Generator<DayTotal> {
  const day = row.key.readUInt32BE(1);
  const { timestamp } = row.cell(FAMILY, MARK)!;
  for (const cell of row.cells) {
    if (cell.timestamp < timestamp || cell.qualifier.equals(MARK)) continue;
    const [count, sum, min, max] = [0, 8, 16, 24].map((at) => cell.value.readDoubleBE(at));
    yield { day, metric: cell.qualifier.toString(), count: count!, sum: sum!, min: min!, max: max! };
  }
}
