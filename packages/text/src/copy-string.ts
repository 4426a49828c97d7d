/**
 * Copies a string. In V8 a substring keeps its whole parent in memory, so a substring that is kept for long is
 * copied.
 */
export function copyString(text: string): string {
  return Buffer.from(text).toString();
}
