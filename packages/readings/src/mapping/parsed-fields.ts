import { DecodeError } from '../codec.ts';
import { parseJson } from '../codecs/parse-json.ts';
import { keepDigits } from '../codecs/whole-numbers.ts';
import type { Notes } from '../notes.ts';
import { readMeshtastic } from './meshtastic.ts';
import { isObject, isTable, valueAt } from './paths.ts';
import { decodeRuuvi } from './ruuvi.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What a field can hold besides a value. `beside` has the other fields of the same object. The result is null when the
 * field has something else, undefined when it is not needed, and the value itself when it is of another type.
 */
const PARSERS = {
  /** JSON in a text: `"{\"temperature\":21.5}"`. */
  json: (value: unknown, _beside: Fields, notes: Notes | undefined) =>
    isText(value) ? parseText(value, notes) : value,
  /** A Bluetooth advertisement of a Ruuvi sensor in hexadecimal, unless the sender decoded it itself. */
  ruuvi(value: unknown, beside: Fields) {
    if (!isText(value)) return value;
    return beside.dataFormat === undefined ? decodeRuuvi(value) : undefined;
  },
  /** The payload of a packet of Meshtastic. */
  meshtastic: (value: unknown, packet: Fields) => (isTable(value) ? readMeshtastic(value, packet) : value),
} as const satisfies Readonly<
  Record<string, (value: unknown, beside: Fields, notes: Notes | undefined) => unknown>
>;

export type ParsedAs = keyof typeof PARSERS;

export const PARSED_AS = Object.keys(PARSERS) as readonly ParsedAs[];

/** Replaces fields of a payload by what they hold, by their paths. The payload is changed. */
export function parseFields(
  root: Fields,
  fields: readonly (readonly [path: string, as: ParsedAs])[],
  notes: Notes | undefined,
): void {
  for (const [path, as] of fields) {
    const value = valueAt(root, path);
    if (value === undefined) continue;
    replaceAt(root, path.split('.'), (beside) => {
      const content = PARSERS[as](value, beside, notes);
      if (content === value || isObject(content)) return content;
      if (content !== undefined) notes?.ignored(path, `it cannot be parsed as ${as}`);
      return undefined;
    });
  }
}

/** Replaces the value at a path, or removes it if the replacement is undefined. */
function replaceAt(root: Fields, path: readonly string[], replacement: (beside: Fields) => unknown): void {
  let node: unknown = root;
  const key = path.at(-1)!;
  for (const each of path.slice(0, -1)) node = isObject(node) ? node[each] : undefined;
  if (!isObject(node) || !Object.hasOwn(node, key)) return;
  const fields = node as Record<string, unknown>;
  const value = replacement(fields);
  if (value !== undefined || Array.isArray(fields)) fields[key] = value ?? null;
  else delete fields[key];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function parseText(text: string, notes: Notes | undefined): unknown {
  const payload = Buffer.from(text);
  const parsed = parseJson(payload, notes);
  return parsed instanceof DecodeError ? null : keepDigits(payload, parsed, notes);
}
