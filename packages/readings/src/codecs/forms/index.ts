import { type DecodeContext, DecodeError } from '../../codec.ts';
import type { Reading } from '../../reading.ts';
import { cborMap } from './cbor-map.ts';
import { csv } from './csv.ts';
import { type Form, Parsed } from './form.ts';
import { gzip } from './gzip.ts';
import { jsonLines } from './json-lines.ts';
import { messagePack } from './message-pack.ts';
import { pairs } from './pairs.ts';
import { relaxedJson } from './relaxed-json.ts';
import { endsInNul, latin1, utf16 } from './text-encodings.ts';
import { unreadForm } from './unread.ts';

/** The forms in the order in which they are tried. Each is recognised by its own sign. */
export const forms: readonly Form[] = [
  ...[gzip, utf16, endsInNul, jsonLines, relaxedJson, csv, pairs, messagePack, cborMap, latin1],
];

/** Forms inside each other: JSON lines in UTF-16 in gzip. */
const MAX_LAYERS = 3;
/** What a payload in another form is for the formats. */
const UNREADABLE = new Set(['malformed', 'invalid_value', 'unsupported']);

/** An error about a separator of numbers, such as `21,45`, has the settings that decide. */
const NAMES_SETTING = /: set \w+: \w+ .*in the mapping/;

type Result = readonly Reading[] | DecodeError;

/**
 * Decodes a payload that the formats refuse, if it has one of the `forms`. It costs nothing for payloads that they read.
 *
 * @param error why the formats refuse it, and the result when it has no known form
 * @param decode decodes the content of a form when that is bytes
 * @param read reads it when it is parsed
 */
export function decodeForm(
  payload: Uint8Array,
  context: DecodeContext,
  error: DecodeError,
  decode: (payload: Uint8Array, context: DecodeContext) => Result,
  read: (root: unknown, context: DecodeContext) => Result,
  layer = 1,
): Result {
  if (!UNREADABLE.has(error.reason) || payload.length === 0) return error;
  for (const form of forms) {
    const content = form.read(payload);
    if (content === null) continue;
    if (content instanceof DecodeError) return named(form, content);
    const result = decodeLayer(content);
    if (isWrongGuess(form, result)) continue;
    if (result instanceof DecodeError) return named(form, result);
    if (form.doubt !== undefined) context.notes?.doubt?.('(payload)', form.doubt);
    return result;
  }
  return NAMES_SETTING.test(error.message) ? error : (unreadForm(payload) ?? error);

  function decodeLayer(content: Uint8Array | Parsed): Result {
    if (content instanceof Parsed) return read(content.root, context);
    const result = decode(content, context);
    if (!(result instanceof DecodeError) || layer === MAX_LAYERS) return result;
    return decodeForm(content, context, result, decode, read, layer + 1);
  }
}

/** When the content of a guess cannot be read, the payload is something else. */
function isWrongGuess(form: Form, result: Result): boolean {
  return form.isGuess === true && result instanceof DecodeError && UNREADABLE.has(result.reason);
}

function named({ name }: Form, { reason, message, position }: DecodeError): DecodeError {
  return new DecodeError(reason, message.startsWith(name) ? message : `${name}: ${message}`, position);
}
