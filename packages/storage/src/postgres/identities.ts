import type { Reading } from '@tidegauge/readings';

/** A batch with each identity once, by series and time. */
export interface Identities {
  /** Rows to store, the first of each identity. */
  readonly first: readonly number[];
  /** Rows to store after those: the last of each identity that had another value in between. */
  readonly last: readonly number[];
  /** How often within the batch an identity got another value than the row before it. */
  readonly changes: number;
}

/**
 * Sorts out a batch whose rows belong to `series`. Sorted, so that writers that overlap lock rows in one order
 * and never each other; each identity once, since one statement cannot change a row twice. The first row of
 * an identity tells whether the database knew that value, the rows behind it are compared here: so stored and
 * duplicate are counted as if every row had been written by itself.
 */
export function identities(batch: readonly Reading[], series: readonly number[]): Identities {
  const order = Uint32Array.from(batch.keys()).sort(
    (a, b) => series[a]! - series[b]! || batch[a]!.time - batch[b]!.time || a - b,
  );
  const first: number[] = [];
  const last: number[] = [];
  let changes = 0;
  for (let at = 0; at < order.length; ) {
    const start = order[at]!;
    first.push(start);
    let current = start;
    for (at += 1; at < order.length; at += 1) {
      const row = order[at]!;
      if (series[row] !== series[start] || batch[row]!.time !== batch[start]!.time) break;
      if (batch[row]!.value === batch[current]!.value) continue;
      current = row;
      changes += 1;
    }
    if (current !== start) last.push(current);
  }
  return { first, last, changes };
}
