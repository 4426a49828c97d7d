import type { Reading } from '@tidegauge/readings';
import { writeInt8 } from './arrays.ts';
import { fromQuality } from './mapping.ts';

// The binary format of COPY: https://www.postgresql.org/docs/current/sql-copy.html, section "Binary Format". A signature,
// flags and the length of an extension, which is absent. Then for each row the number of its fields, and for each field
// its length and its bytes as the type's receive function reads them. The length -1 is null, and -1 fields are the end.

const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const FIELDS = 8;
const NULL = -1;
const END = -1;

// Bytes of a row with its lengths, where value, text, boot and seq are null, and what a number adds.
const ROW_BYTES = 2 + 3 * 12 + 4 * 4 + 6;
const NUMBER_BYTES = 8;
const TRAILER_BYTES = 2;

/**
 * Some rows of a batch as `COPY readings (series, time, value, text, received, boot, seq, quality) FROM STDIN` receives
 * them in binary. `series` has the number of each reading, a whole number from 0 to 2^53, as times and `seq` are.
 */
export function copyRows(
  batch: readonly Reading[],
  series: readonly number[],
  rows: readonly number[],
): Buffer {
  const buffer = Buffer.allocUnsafe(sizeOf(batch, rows));
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  let at = HEADER.copy(buffer);
  const writeNull = (): void => {
    view.setInt32(at, NULL);
    at += 4;
  };
  const writeText = (text: string): void => {
    const bytes = buffer.write(text, at + 4);
    view.setInt32(at, bytes);
    at += 4 + bytes;
  };
  // Neighbours often have the same boot, whose bytes are copied.
  let boot: string | null = null;
  let bootAt = 0;
  let bootEnd = 0;
  for (const row of rows) {
    const reading = batch[row]!;
    view.setInt16(at, FIELDS);
    at += 2;
    at = writeInt8(view, at, series[row]!);
    at = writeInt8(view, at, reading.time);
    if (typeof reading.value === 'number') {
      view.setInt32(at, 8);
      view.setFloat64(at + 4, reading.value);
      at += 12;
      writeNull();
    } else {
      writeNull();
      writeText(reading.value);
    }
    at = writeInt8(view, at, reading.received);
    if (reading.boot === null) writeNull();
    else if (reading.boot === boot) {
      buffer.copyWithin(at, bootAt, bootEnd);
      at += bootEnd - bootAt;
    } else {
      boot = reading.boot;
      bootAt = at;
      writeText(boot);
      bootEnd = at;
    }
    if (reading.seq === null) writeNull();
    else at = writeInt8(view, at, reading.seq);
    view.setInt32(at, 2);
    view.setInt16(at + 4, fromQuality(reading.quality));
    at += 6;
  }
  view.setInt16(at, END);
  return buffer;
}

function sizeOf(batch: readonly Reading[], rows: readonly number[]): number {
  let size = HEADER.length + rows.length * ROW_BYTES + TRAILER_BYTES;
  let boot: string | null = null;
  let bootBytes = 0;
  for (const row of rows) {
    const reading = batch[row]!;
    size += typeof reading.value === 'number' ? NUMBER_BYTES : Buffer.byteLength(reading.value);
    if (reading.seq !== null) size += NUMBER_BYTES;
    if (reading.boot === null) continue;
    if (reading.boot !== boot) {
      boot = reading.boot;
      bootBytes = Buffer.byteLength(boot);
    }
    size += bootBytes;
  }
  return size;
}
