import { optionsOf, parseUrl } from '@tidegauge/storage';
import { withOptions } from '../places/factors.ts';

const STRONGEST = 'ALL';
/** A read and a write at these levels have a copy in common. */
const QUORUMS: readonly string[] = ['QUORUM', 'LOCAL_QUORUM'];

/**
 * The STORE URL with reads from all copies, where reads of the store may miss an acknowledged write. null: they have every
 * acknowledged write, so what they lack is lost.
 *
 * Reads have all writes where the copies of a read and those of a write together are more than all copies
 * (Gifford, Weighted voting for replicated data, SOSP 1979).
 */
export async function strongReadUrl(storeUrl: string): Promise<string | null> {
  const { scheme, options } = parseUrl(storeUrl);
  const { read, write } = await optionsOf(scheme);
  if (write === undefined || read?.parse(STRONGEST) === undefined) return null;
  const levels = [options.get('read') ?? read.default, options.get('write') ?? write.default].map(String);
  if (levels.includes(STRONGEST) || levels.every((level) => QUORUMS.includes(level))) return null;
  return withOptions(storeUrl, new Map([['read', STRONGEST]]));
}
