const MOST_REASONS = 200;
const MOST_EXAMPLES = 3;
const LONGEST_EXAMPLE = 160;
const OTHERS = 'other reasons';

/** How often something happened, and the first examples. */
export interface Reason {
  readonly count: number;
  readonly examples: readonly string[];
}

export type Reasons = Readonly<Record<string, Reason>>;

/**
 * What happened to parts of the source that are not stored as they are. `skipped`: they have no value, or are none.
 * `refused`: values that are not stored. `noted`: what is stored otherwise than it seems, such as a rounded number, and fields without a value.
 */
export type Outcome = 'skipped' | 'refused' | 'noted';

export type TallyDocument = Readonly<Record<Outcome, Reasons>>;

/** Counts, by reason, what is not stored as it is. Its memory is bounded. */
export class Tally {
  readonly #reasons: Record<Outcome, Map<string, { count: number; examples: string[] }>>;

  constructor(start: TallyDocument = { skipped: {}, refused: {}, noted: {} }) {
    const copy = (reasons: Reasons) =>
      new Map(
        Object.entries(reasons).map(([why, { count, examples }]) => [
          why,
          { count, examples: [...examples] },
        ]),
      );
    this.#reasons = {
      skipped: copy(start.skipped),
      refused: copy(start.refused),
      noted: copy(start.noted),
    };
  }

  /**
   * @param why one of a small set of texts: `the state is unavailable`
   * @param example where, or what: `sensor.outside`
   */
  add(outcome: Outcome, why: string, example: string | null = null, count = 1): void {
    if (count === 0) return;
    const reasons = this.#reasons[outcome];
    const key = reasons.has(why) || reasons.size < MOST_REASONS ? why : OTHERS;
    let reason = reasons.get(key);
    if (reason === undefined) {
      reason = { count: 0, examples: [] };
      reasons.set(key, reason);
    }
    reason.count += count;
    if (example === null || reason.examples.length === MOST_EXAMPLES) return;
    // It is printed on terminals.
    const clean = example.replaceAll(/\p{Cc}/gu, ' ');
    const short = clean.length > LONGEST_EXAMPLE ? `${clean.slice(0, LONGEST_EXAMPLE)}…` : clean;
    if (!reason.examples.includes(short)) reason.examples.push(short);
  }

  total(outcome: Outcome): number {
    let total = 0;
    for (const { count } of this.#reasons[outcome].values()) total += count;
    return total;
  }

  toDocument(): TallyDocument {
    const of = (outcome: Outcome): Reasons =>
      Object.fromEntries(
        [...this.#reasons[outcome]].map(([why, { count, examples }]) => [
          why,
          { count, examples: [...examples] },
        ]),
      );
    return { skipped: of('skipped'), refused: of('refused'), noted: of('noted') };
  }
}
