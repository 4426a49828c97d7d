import type { Random } from '@tidegauge/workload';

/** After so many writes of unknown outcome a key is not used any more, because each doubles the orders to search. */
const MOST_UNKNOWN = 6;

interface Turn {
  readonly key: string;
  operations: number;
  unknown: number;
}

/**
 * The keys that clients use at the same time. Each is replaced after a number of operations, so that the history of a key
 * stays short enough to judge.
 */
export class KeyTurns {
  readonly #turns: Turn[];
  readonly #most: number;
  #count: number;

  constructor(keys: number, operationsOfKey: number) {
    this.#most = operationsOfKey;
    this.#turns = Array.from({ length: keys }, (_, number) => turnOf(number));
    this.#count = keys;
  }

  /** Keys that were used, from 0. */
  keys(): string[] {
    return Array.from({ length: this.#count }, (_, number) => turnOf(number).key);
  }

  /** A key for the next operation. */
  next(random: Random): string {
    const place = random.below(this.#turns.length);
    let turn = this.#turns[place]!;
    if (turn.operations >= this.#most || turn.unknown >= MOST_UNKNOWN) {
      turn = turnOf(this.#count);
      this.#turns[place] = turn;
      this.#count += 1;
    }
    turn.operations += 1;
    return turn.key;
  }

  /** A write of this key has no known outcome. */
  unknown(key: string): void {
    const turn = this.#turns.find((each) => each.key === key);
    if (turn !== undefined) turn.unknown += 1;
  }
}

function turnOf(number: number): Turn {
  return { key: `key-${number}`, operations: 0, unknown: 0 };
}
