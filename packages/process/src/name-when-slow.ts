const SILENT_MS = 5000;

/**
 * Prints on standard error what this process waits for, when it takes longer than five seconds: a database needs up to a
 * minute to start.
 *
 * @returns a function that is called at the end of the wait
 */
export function nameWhenSlow(what: string): () => void {
  const timer = setTimeout(() => process.stderr.write(`Waiting for ${what}...\n`), SILENT_MS);
  return () => clearTimeout(timer);
}
