const LONGEST = 40;

/**
 * Formats a value of a payload for a message, short and safe: texts are quoted and truncated, structures are only
 * named.
 */
export function quote(value: unknown): string {
  if (typeof value === 'string') {
    return value.length <= LONGEST ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, LONGEST))}…`;
  }
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
