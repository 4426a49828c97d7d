/** A search for the least memory, in MiB. */
export interface MemorySearch {
  readonly most: number;
  /** The search ends when the result is within this distance of a limit that failed. */
  readonly step: number;
}

/**
 * Searches for the least limit of memory with which something works, by halving. A limit that fails is tried a second
 * time, because a pause of the machine can also cause a failure.
 *
 * @param works receives MiB
 * @returns MiB; null when it fails with the most
 */
export async function findLeastMemory(
  { most, step }: MemorySearch,
  works: (mebibytes: number) => Promise<boolean>,
): Promise<number | null> {
  const attempt = async (mebibytes: number) => (await works(mebibytes)) || works(mebibytes);
  if (!(await attempt(most))) return null;
  let [failed, enough] = [0, most];
  while (enough - failed > step) {
    const half = Math.floor((enough - failed) / 2 / step) * step;
    const middle = failed + Math.max(step, half);
    if (await attempt(middle)) enough = middle;
    else failed = middle;
  }
  return enough;
}
