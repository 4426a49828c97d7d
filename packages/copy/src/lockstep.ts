import type { Reading } from '@tidegauge/readings';

/**
 * Passes the items of both sides to `visit`, in the order of `compare`, in which both sides must be. Equal items come
 * together. A side without such an item is null.
 */
export async function inLockstep<T>(
  source: AsyncIterable<T>,
  target: AsyncIterable<T>,
  compare: (source: T, target: T) => number,
  visit: (source: T | null, target: T | null) => Promise<void> | null,
): Promise<void> {
  const sides = [source[Symbol.asyncIterator](), target[Symbol.asyncIterator]()] as const;
  try {
    let [left, right] = await Promise.all([nextOf(sides[0]), nextOf(sides[1])]);
    while (left !== null || right !== null) {
      const order = orderOf(left, right, compare);
      const waits = visit(order <= 0 ? left : null, order >= 0 ? right : null);
      if (waits !== null) await waits;
      if (order <= 0) left = await nextOf(sides[0]);
      if (order >= 0) right = await nextOf(sides[1]);
    }
  } finally {
    for (const side of sides) await side.return?.();
  }
}

/** A side that has ended comes after all others. */
function orderOf<T>(source: T | null, target: T | null, compare: (source: T, target: T) => number): number {
  if (source === null) return 1;
  return target === null ? -1 : compare(source, target);
}

async function nextOf<T>(side: AsyncIterator<T>): Promise<T | null> {
  const { done, value } = await side.next();
  return done === true ? null : value;
}

export type Difference = 'equal' | 'missing' | 'different' | 'details' | 'extra';

/**
 * How the target differs from the source. `details`: the values are equal, but not the time of receipt, boot, seq,
 * quality or the sign of zero.
 */
export function differenceOf(source: Reading | null, target: Reading | null): Difference {
  if (target === null) return 'missing';
  if (source === null) return 'extra';
  // Stores do not distinguish 0 from -0 when they look for corrections.
  if (source.value !== target.value) return 'different';
  const isEqual =
    Object.is(source.value, target.value) &&
    source.received === target.received &&
    source.boot === target.boot &&
    source.seq === target.seq &&
    source.quality === target.quality;
  return isEqual ? 'equal' : 'details';
}
