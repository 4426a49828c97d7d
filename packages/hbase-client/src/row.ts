import { type Bytes, type Cell, type CellReader, EMPTY, toBytes } from './cells.ts';
import { HBaseError } from './errors.ts';
import type { ResultMessage } from './messages.ts';

/** A row that was read. Its cells are ordered by family and qualifier, newest version first. */
export class Row {
  readonly cells: readonly Cell[];

  constructor(cells: readonly Cell[]) {
    this.cells = cells;
  }

  get key(): Buffer {
    return this.cells[0]?.row ?? EMPTY;
  }

  /** The newest value in a column, or undefined. */
  value(family: Bytes, qualifier: Bytes): Buffer | undefined {
    return this.cell(family, qualifier)?.value;
  }

  cell(family: Bytes, qualifier: Bytes): Cell | undefined {
    const [first, second] = [toBytes(family), toBytes(qualifier)];
    return this.cells.find((cell) => cell.isIn(first, second));
  }
}

/** The cells of a result, which follow in the cell block. */
export function readResult(result: ResultMessage | null, cells: CellReader): Cell[] {
  if (result === null) return [];
  if (result.cell.length > 0) {
    throw new HBaseError('PROTOCOL', 'the server sends cells without the requested codec');
  }
  return cells.take(result.associatedCellCount);
}

/** Null for a row without cells: HBase has no empty rows. */
export function toRow(cells: readonly Cell[]): Row | null {
  return cells.length === 0 ? null : new Row(cells);
}
