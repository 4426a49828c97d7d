/** Limits log lines of one kind, which a client could cause without end. */
export class Seldom {
  readonly #everyMs: number;
  #last = Number.NEGATIVE_INFINITY;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Whether so much time has passed since it was last true. */
  isDue(): boolean {
    const now = performance.now();
    if (now - this.#last < this.#everyMs) return false;
    this.#last = now;
    return true;
  }
}
