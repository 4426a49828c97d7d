import { DecodeError } from '../codec.ts';
import { parseJson } from '../codecs/parse-json.ts';
import { keepDigits } from '../codecs/whole-numbers.ts';
import type { Notes } from '../notes.ts';
import { isObject, valueAt } from './paths.ts';
import { decodeRuuvi } from './ruuvi.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What the text of a field can hold besides a value. `beside` has the other fields of the same object. The result is
 * null when the text is something else, and undefined when the field is not needed.
 */
const PARSERS = {
  /** JSON in a text: `"{\"temperature\":21.5}"`. */
  json: parseText,
  /** A Bluetooth advertisement of a Ruuvi sensor in hexadecimal, unless the sender decoded it itself. */
  ruuvi: (text: string, beside: Fields) => (beside.dataFormat === undefined ? decodeRuuvi(text) : undefined),
} as const satisfies Readonly<
  Record<string, (text: string, beside: Fields, notes: Notes | undefined) => unknown>
>;

export type ParsedAs = keyof typeof PARSERS;

export const PARSED_AS = Object.keys(PARSERS) as readonly ParsedAs[];

/** Replaces texts of a payload by their content, by the paths of the texts. The payload is changed. */
export function parseFields(
  root: Fields,
  fields: readonly (readonly [path: string, as: ParsedAs])[],
  notes: Notes | undefined,
): void {
  for (const [path, as] of fields) {
    const text = valueAt(root, path);
    if (typeof text !== 'string' || text === '') continue;
    replaceAt(root, path.split('.'), (beside) => {
      const content = PARSERS[as](text, beside, notes);
      if (isObject(content)) return content;
      if (content !== undefined) notes?.ignored(path, `it cannot be parsed as ${as}`);
      return undefined;
    });
  }
}

/** Replaces the value at a path, or removes it if the replacement is undefined. */
function replaceAt(
  root: Fields,
  path: readonly string[],
  replacement: (beside: Fields) => object | undefined,
): void {
  let node: unknown = root;
  const key = path.at(-1)!;
  for (const each of path.slice(0, -1)) node = isObject(node) ? node[each] : undefined;
  if (!isObject(node) || !Object.hasOwn(node, key)) return;
  const fields = node as Record<string, unknown>;
  const value = replacement(fields);
  if (value !== undefined || Array.isArray(fields)) fields[key] = value ?? null;
  else delete fields[key];
}

function parseText(text: string, _beside: Fields, notes: Notes | undefined): unknown {
  const payload = Buffer.from(text);
  const parsed = parseJson(payload, notes);
  return parsed instanceof DecodeError ? null : keepDigits(payload, parsed, notes);
}
