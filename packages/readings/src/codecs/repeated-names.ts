import type { Notes } from '../notes.ts';
import { endOfText } from './json-bounds.ts';

const QUOTE = 0x22;
const COLON = 0x3a;
const BRACE = 0x7b;
/** A string before a colon is the name of a field. Other strings are matched too, so that braces in them are not. */
const TOKEN = /[{}]|("[^"\\]*(?:\\.[^"\\]*)*")\s*:|"[^"\\]*(?:\\.[^"\\]*)*"/g;
const REPEATED = 'an object has this field several times: only its last value is read';
/** Repeated names that are noted, the characters of each, and the names that are compared. */
const MOST_NOTED = 10;
const LONGEST_NOTED = 64;
const MOST_NAMES = 10_000;

/**
 * Notes the names that one object of a JSON text has several times, because JSON.parse drops all values but the last.
 * Payloads without such names are found by counting, which is fast.
 *
 * @param payload valid JSON
 * @param text the same
 * @param root its parsed value
 */
export function noteRepeatedNames(payload: Uint8Array, text: string, root: unknown, notes: Notes): void {
  if (!hasRepeated(payload, root)) return;
  const objects: Set<string>[] = [];
  let noted = 0;
  let names = 0;
  for (const [token, name] of text.matchAll(TOKEN)) {
    if (token === '{') objects.push(new Set());
    if (token === '}') objects.pop();
    if (name === undefined) continue;
    if (++names > MOST_NAMES || noted === MOST_NOTED) break;
    const own = objects.at(-1)!;
    const field = fieldOf(name);
    if (own.has(field)) {
      notes.ignored(field.slice(0, LONGEST_NOTED), REPEATED);
      noted++;
    }
    own.add(field);
  }
  if (noted === 0) notes.ignored('(payload)', REPEATED);
}

/** The name in a string of JSON; a long one as it is written. */
function fieldOf(name: string): string {
  return name.length > LONGEST_NOTED ? name : (JSON.parse(name) as string);
}

/**
 * Whether some name can be there twice: the payload has more members, which are the colons outside of strings, than its
 * parsed value has fields.
 */
function hasRepeated(payload: Uint8Array, root: unknown): boolean {
  let members = 0;
  let objects = 0;
  for (let at = 0; at < payload.length; at++) {
    const byte = payload[at];
    if (byte === QUOTE) at = endOfText(payload, at);
    else if (byte === COLON) members++;
    else if (byte === BRACE) objects++;
  }
  if (objects === 0) return false;
  return (
    members > (objects === 1 && !Array.isArray(root) ? Object.keys(root as object).length : countFields(root))
  );
}

/** The fields of all objects in a parsed value. It uses its own stack, because JSON.parse has no limit of nesting. */
function countFields(root: unknown): number {
  let fields = 0;
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    const values = Object.values(node);
    if (!Array.isArray(node)) fields += values.length;
    for (const value of values) if (typeof value === 'object' && value !== null) waiting.push(value);
  }
  return fields;
}
