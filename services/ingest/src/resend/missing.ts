import type { MissingDocument, ResendDocument } from '@tidegauge/readings';
import type { SequenceLedger } from '../ledger/sequence-ledger.ts';

/** Of one boot, in a list. */
const MAX_RANGES = 64;

/**
 * The missing readings that sensors may still have, of each boot the highest 64 ranges.
 *
 * @param isListed selects devices
 * @param limit boots at most
 */
export function missingDocument(
  ledger: SequenceLedger,
  isListed: (device: string) => boolean,
  limit: number,
): MissingDocument {
  const missing: ResendDocument[] = [];
  for (const device of ledger.names()) {
    if (!isListed(device)) continue;
    for (const { boot, between } of ledger.open(device)) {
      if (missing.length === limit) return { missing, truncated: true };
      const ranges = between(Number.MAX_SAFE_INTEGER, MAX_RANGES, Number.MAX_SAFE_INTEGER);
      missing.push({ device, boot, ranges });
    }
  }
  return { missing, truncated: false };
}
