/** Lines that are kept at most: the last ones. */
const MOST_LINES = 100_000;

/** What happened in a schedule: always a hash of it, for a comparison with a replay, and its lines if they are needed. */
export class Trace {
  steps = 0;
  /** Null: they are not kept. */
  readonly lines: string[] | null;
  #low = 0x811c9dc5;
  #high = 0x9e3779b9;

  constructor(keepsLines: boolean) {
    this.lines = keepsLines ? [] : null;
  }

  get hash(): string {
    return [this.#high, this.#low].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** @param ms when it happened, of the monotonic clock */
  add(ms: number, what: string): void {
    this.steps++;
    const line = `${ms.toFixed(3)} ${what}`;
    // FNV-1a, twice with different factors: http://www.isthe.com/chongo/tech/comp/fnv/
    for (let index = 0; index < line.length; index++) {
      const code = line.charCodeAt(index);
      this.#low = Math.imul(this.#low ^ code, 0x01000193);
      this.#high = Math.imul(this.#high ^ code, 0x85ebca6b);
    }
    if (this.lines === null) return;
    this.lines.push(line);
    if (this.lines.length > 2 * MOST_LINES) this.lines.splice(0, MOST_LINES);
  }
}
