import type { Reading } from '@tidegauge/readings';

/** The unit of the series of a reading; null: not known. */
export type UnitOf = (reading: Reading) => string | null;

/** Writes the readings of one export. A failed export never looks complete. */
export interface ExportWriter {
  /** What begins the answer. */
  head(): string | Uint8Array;
  /** The next readings. Empty when they are kept for later. `unitOf` is valid during the call. */
  rows(readings: readonly Reading[], unitOf: UnitOf): string | Uint8Array;
  /** What ends the answer. @param count all readings */
  end(count: number): string | Uint8Array;
  /** The last line of an answer that failed. Formats without lines have none. */
  failure(count: number, why: string): string;
}

export interface ExportFormat {
  readonly mediaType: string;
  readonly extension: string;
  /** Whether gzip makes it smaller. */
  readonly isText: boolean;
  /** Whether a text ends with a line that counts its readings, unless the client decides. */
  readonly trailer: boolean;
  /** Memory of one export, bytes. */
  readonly bytes: number;
  /** @param options of a text: whether it continues another one, and whether its last line counts the readings */
  write(options: { readonly continues: boolean; readonly trailer: boolean }): ExportWriter;
}

/** A double as JSON, with the sign of zero. */
export function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : JSON.stringify(value);
}
