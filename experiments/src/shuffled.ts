import type { SeededRandom } from '@tidegauge/workload';

/** The items in a random order in which each permutation is equally likely (Fisher and Yates' shuffle). */
export function shuffled<T>(items: readonly T[], random: SeededRandom): readonly T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}
