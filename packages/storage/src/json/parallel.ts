/** Calls for each item, `width` at once; when one fails, waits for those under way and rejects. */
export async function eachInParallel<T>(
  items: Iterable<T>,
  width: number,
  call: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items].reverse();
  const failures: unknown[] = [];
  const worker = async () => {
    while (queue.length > 0 && failures.length === 0) {
      await call(queue.pop()!).catch((error) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, queue.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
