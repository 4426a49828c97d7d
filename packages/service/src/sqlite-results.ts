/** SQLite's results for a damaged file: SQLITE_CORRUPT, SQLITE_NOTADB (https://sqlite.org/rescode.html). */
export const SQLITE_DAMAGED: readonly number[] = [11, 26];

/** Whether an error has one of these primary result codes of SQLite. */
export function hasSqliteResult(error: unknown, codes: readonly number[]): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' && codes.includes(errcode & 0xff);
}
