import type { QuarantineDocument } from '@tidegauge/readings';
import type { Quarantine } from './quarantine.ts';

/** Bytes of payload in memory at once; a multiple of 3, so that the parts' base64 is the whole's. */
const PART_BYTES = 384 * 1024;

/** An item as JSON, its payload in base64, in pieces: a client that reads slowly costs one piece of memory. */
export function* itemText(
  quarantine: Quarantine,
  id: number,
  document: QuarantineDocument,
): Generator<string> {
  yield `${JSON.stringify(document).slice(0, -1)},"payload":"`;
  for (let from = 0; from < document.size; from += PART_BYTES) {
    const part = quarantine.read(id, from, PART_BYTES);
    if (part.length === 0) throw new Error('the item was discarded while it was read');
    yield Buffer.from(part.buffer, part.byteOffset, part.length).toString('base64');
  }
  yield '"}';
}
