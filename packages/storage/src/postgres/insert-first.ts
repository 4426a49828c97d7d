// A plain insert is faster than an upsert, but fails as a whole if one of its rows exists.

/** After more conflicts in a row, the number of batches without an attempt stays the same: 2^5 - 1 = 31. */
const MAX_CONFLICTS = 5;

/**
 * Decides which batches a plain insert is tried with, before the upsert. After k conflicts in a row, it skips the
 * attempt for 2^k - 1 batches, so that a stream of duplicates costs few failed statements.
 */
export class InsertFirst {
  #conflicts = 0;
  #skip = 0;

  /** Whether the next batch is tried. */
  tries(): boolean {
    if (this.#skip === 0) return true;
    this.#skip -= 1;
    return false;
  }

  inserted(): void {
    this.#conflicts = 0;
  }

  conflicted(): void {
    this.#conflicts = Math.min(this.#conflicts + 1, MAX_CONFLICTS);
    this.#skip = 2 ** this.#conflicts - 1;
  }
}
