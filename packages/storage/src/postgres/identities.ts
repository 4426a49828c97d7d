import type { Reading } from '@tidegauge/readings';

/** A batch with each identity once, by series and time. */
export interface Identities {
  /** The first row of each identity. */
  readonly first: readonly number[];
  /** Rows to store afterwards: the last row of each identity that had several values. */
  readonly last: readonly number[];
  /** How often a row of the batch changed the value of its identity. */
  readonly changes: number;
}

/**
 * Prepares a batch whose rows belong to `series`. It is sorted, so that concurrent writers lock rows in one order
 * and never deadlock. It has each identity once, because one statement cannot change a row twice. The database
 * compares the first row of an identity with its stored value, and this function compares the following rows. So
 * stored and duplicate are counted as if every row were written separately.
 */
export function identities(batch: readonly Reading[], series: readonly number[]): Identities {
  const order = inOrder(batch, series);
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

/** The rows by series and time; rows of one identity as they are in the batch. */
function inOrder(batch: readonly Reading[], series: readonly number[]): readonly number[] {
  return [...batch.keys()].sort((a, b) => series[a]! - series[b]! || batch[a]!.time - batch[b]!.time);
}
