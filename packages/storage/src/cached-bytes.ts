/** The most memory of one cache of names: about 40,000 series with names of 20 characters. */
export const MAX_CACHED_BYTES = 10 * 1024 * 1024;
/** A number or a small object, and its entries in two maps. */
const ENTRY_BYTES = 200;

/** The approximate memory of a cache entry and its names, in bytes. */
export function cachedBytes(...names: readonly string[]): number {
  let bytes = ENTRY_BYTES;
  // Text beyond Latin-1 takes two bytes per character.
  for (const name of names) bytes += 2 * name.length;
  return bytes;
}
