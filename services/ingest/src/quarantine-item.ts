import type { QuarantineDocument } from '@tidegauge/readings';
import type { Quarantine } from './quarantine.ts';

/** Payload bytes in memory at a time. A multiple of 3, so that the base64 texts of the pieces can be joined. */
const PART_BYTES = 96 * 1024;
/** Memory of an answer with an item: the document, and a piece in its forms. */
export const ITEM_BYTES = 4 * PART_BYTES;

/**
 * An item as JSON with its payload in base64, in pieces, so that a client that reads slowly holds one piece in
 * memory.
 */
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
