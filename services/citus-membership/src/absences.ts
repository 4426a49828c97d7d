/**
 * Counts how long each worker has been absent. Only time with evidence counts: DNS returned addresses, and at least
 * one known worker answered. Times when the process slept, the network was down or DNS was unavailable do not count.
 */
export class Absences {
  readonly #longestStep: number;
  #seconds = new Map<number, number>();
  #since: number | null = null;

  /** @param longestStep seconds that one round adds at most */
  constructor(longestStep: number) {
    this.#longestStep = longestStep;
  }

  /** A round without evidence about the workers. */
  blind(): void {
    this.#since = null;
  }

  /**
   * A round with evidence.
   *
   * @param now seconds of a monotonic clock
   */
  seen(workers: readonly number[], present: ReadonlySet<number>, now: number): void {
    const step = this.#since === null ? 0 : Math.min(now - this.#since, this.#longestStep);
    this.#since = now;
    this.#seconds = new Map(workers.map((id) => [id, present.has(id) ? 0 : this.of(id) + step]));
  }

  of(id: number): number {
    return this.#seconds.get(id) ?? 0;
  }
}
