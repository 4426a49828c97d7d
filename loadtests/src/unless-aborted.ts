/**
 * Resolves or rejects as the work does, and rejects with the reason of the signal when that is aborted before. The work
 * itself is not ended.
 *
 * @param graceMs how long the work may take to end by itself after the abort
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, graceMs = 0): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  let late: NodeJS.Timeout | undefined;
  const abort = (): void => {
    late = setTimeout(() => reject(signal.reason), graceMs);
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', abort);
  }
}
