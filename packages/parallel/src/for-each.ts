/**
 * Calls `task` for every item, `width` of them at the same time. After a failure no further task starts. The first
 * failure is thrown when the running tasks have ended, and a generator of the items is closed.
 */
export async function forEach<T>(
  items: Iterable<T> | AsyncIterable<T>,
  width: number,
  task: (item: T) => Promise<unknown>,
): Promise<void> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    while (failures.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return;
      await task(next.value);
    }
  };
  await Promise.all(Array.from({ length: width }, () => work().catch((error) => failures.push(error))));
  if (failures.length === 0) return;
  await iterator.return?.();
  throw failures[0];
}
