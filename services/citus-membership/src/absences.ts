/**
 * How long each worker has been out of sight. Only time with evidence counts: DNS gave addresses, and at least one
 * known worker answered. A process that slept, a network that was cut and a DNS that was away add nothing.
 */
export class Absences {
  readonly #longestStep: number;
  #seconds = new Map<number, number>();
  #since: number | null = null;

  /** @param longestStep seconds that one round can add at most */
  constructor(longestStep: number) {
    this.#longestStep = longestStep;
  }

  /** A round that says nothing of the workers. */
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
