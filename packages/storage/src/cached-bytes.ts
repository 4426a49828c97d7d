/** What one cache of names may take, at most: about 40,000 series with names of 20 characters. */
export const MAX_CACHED_BYTES = 10 * 1024 * 1024;
/** A number or a small object, and its places in two maps. */
const ENTRY_BYTES = 200;

/** Bytes of memory that a cache entry takes, roughly, with the names that are kept for it. */
export function cachedBytes(...names: readonly string[]): number {
  let bytes = ENTRY_BYTES;
  // Text beyond Latin-1 takes two bytes per character.
  for (const name of names) bytes += 2 * name.length;
  return bytes;
}
