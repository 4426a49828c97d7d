import { NAME_CHARACTER } from '../reading.ts';

// Names of payloads can have any character, and names of readings only those of NAME_CHARACTER. Every other character
// becomes `~` and the two hexadecimal digits of each of its UTF-8 bytes. A `~` that could be taken for such an escape
// is escaped too, so the original name can be restored. Names without such characters stay as they are.

const NEEDS_ESCAPE = new RegExp(`(?!${NAME_CHARACTER}).|~(?=[0-9A-F]{2})`, 'gsu');
const DOTS_ONLY = /^\.+$/;
const ESCAPES = /(?:~[0-9A-F]{2})+/g;
const EMPTY = '~';

/**
 * Converts any text to a word that is valid in the name of a device or metric: `Living Room` becomes
 * `Living~20Room`. `restoreName` does the reverse. Half of a surrogate pair, which is no character, becomes U+FFFD.
 */
export function cleanName(name: string): string {
  if (name === '') return EMPTY;
  if (name === EMPTY) return '~7E';
  if (DOTS_ONLY.test(name)) return '~2E'.repeat(name.length);
  return name.toWellFormed().replace(NEEDS_ESCAPE, escapeOf);
}

/** The text that `cleanName` converted to `name`. */
export function restoreName(name: string): string {
  if (!name.includes(EMPTY)) return name;
  if (name === EMPTY) return '';
  return name.replace(ESCAPES, (escapes) => Buffer.from(escapes.replaceAll('~', ''), 'hex').toString());
}

function escapeOf(character: string): string {
  let escaped = '';
  for (const byte of Buffer.from(character))
    escaped += `~${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return escaped;
}
