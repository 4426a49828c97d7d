const LONGEST = 40;

/** A value out of a payload, short and safe for a message: texts in quotes and cut, structures only named. */
export function quote(value: unknown): string {
  if (typeof value === 'string') {
    return value.length <= LONGEST ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, LONGEST))}…`;
  }
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
