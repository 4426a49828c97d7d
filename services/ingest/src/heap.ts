import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memoryLimit } from './memory.ts';

/**
 * The old space may grow by this share between two full collections. With V8's default it grows to several times what
 * is in use, because messages that wait for a commit live long enough to be moved there. 50 takes 13 MiB less than 100,
 * and 15 % more processor time per message.
 */
const GROWTH_PERCENT = 100;
/** The share of the memory of the process that the heap may have. The rest is for connections, buffers and the program. */
const HEAP_SHARE = 0.4;
/** Where memory is scarce. With less, most of the time goes to collections. */
const LEAST_GROWTH_PERCENT = 10;
/** A fall by more than this is worth another collection, of some ten milliseconds. */
const REPEATED_PERCENT = 10;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;

/** Collects new garbage. */
export function collectNewGarbage(): void {
  collect({ type: 'minor' });
}

/** Collects all garbage of the heap, and the buffers that only garbage refers to. It blocks the event loop for that time. */
export function collectGarbage(): void {
  collect({ type: 'major' });
}

/**
 * Bounds the growth of the heap relative to what is in use, and the heap to a share of the memory that the process may have.
 * Call it after the start: V8 has no bound before the first full collection. Flags of the command line would do the same, but
 * not for every way to start the program, and not for every limit. With more in use than this share, collections become
 * frequent, and the process goes on.
 *
 * @param limit bytes that the process may have
 */
export function keepHeapSmall(limit = memoryLimit()): void {
  let growth = GROWTH_PERCENT;
  const grow = () => setFlagsFromString(`--heap-growing-percent=${growth}`);
  grow();
  collectGarbage();
  const onFullCollection = () => {
    const before = growth;
    const room = ((limit * HEAP_SHARE) / getHeapStatistics().used_heap_size - 1) * 100;
    growth = Math.round(Math.min(GROWTH_PERCENT, Math.max(LEAST_GROWTH_PERCENT, room)));
    if (growth !== before) grow();
    // The collection that ended has let the heap grow by the percentage before.
    if (before - growth > REPEATED_PERCENT) collectGarbage();
  };
  onFullCollection();
  new PerformanceObserver((list) => {
    if (list.getEntries().some(isFullCollection)) onFullCollection();
  }).observe({ entryTypes: ['gc'] });
}

function isFullCollection(entry: object): boolean {
  const { detail } = entry as { readonly detail: { readonly kind: number } };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
