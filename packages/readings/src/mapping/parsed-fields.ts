import { DecodeError } from '../codec.ts';
import { parseJson } from '../codecs/parse-json.ts';
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
} as const satisfies Readonly<Record<string, (text: string, beside: Fields) => unknown>>;

export type ParsedAs = keyof typeof PARSERS;

export const PARSED_AS = Object.keys(PARSERS) as readonly ParsedAs[];

/** The payload with the content of texts in their place, by the paths of the texts. */
export function parseFields(
  root: Fields,
  fields: readonly (readonly [path: string, as: ParsedAs])[],
  notes: Notes | undefined,
): Fields {
  let parsed = root;
  for (const [path, as] of fields) {
    const text = valueAt(parsed, path);
    if (typeof text !== 'string' || text === '') continue;
    parsed = replaceAt(parsed, path.split('.'), (beside) => {
      const content = PARSERS[as](text, beside);
      if (isObject(content)) return content;
      if (content !== undefined) notes?.ignored(path, `it cannot be parsed as ${as}`);
      return undefined;
    });
  }
  return parsed;
}

/** A copy with another value at a path. Objects beside the path are shared. */
function replaceAt(
  node: Fields,
  [key = '', ...rest]: readonly string[],
  replacement: (beside: Fields) => unknown,
): Fields {
  const below = node[key];
  if (rest.length > 0 && !isObject(below)) return node;
  const value = rest.length > 0 ? replaceAt(below as Fields, rest, replacement) : replacement(node);
  if (Array.isArray(node)) return Object.assign([...node], { [key]: value ?? null });
  const copy: Record<string, unknown> = { ...node, [key]: value };
  if (value === undefined) delete copy[key];
  return copy;
}

function parseText(text: string): unknown {
  const parsed = parseJson(Buffer.from(text));
  return parsed instanceof DecodeError ? null : parsed;
}
