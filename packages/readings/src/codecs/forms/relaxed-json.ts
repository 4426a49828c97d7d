import { DecodeError } from '../../codec.ts';
import { decodeUtf8 } from '../utf8.ts';
import { type Form, firstByte } from './form.ts';

// A text in double or single quotes (or to the end of the payload, so that each character is read once), a name that is
// no part of a number, or a comma before a closing bracket.
const TOKENS = /"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|(?<![\w.+-])[A-Za-z_$][\w$]*|,(?=\s*[}\]])/gs;
/** The first characters of objects, arrays and texts. */
const STARTS: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b, 0x27]);
/** The engine collects all matches before it replaces the first one, and takes up to 50 bytes of memory for a byte. */
const MAX_LENGTH = 256 * 1024;
const WORDS = new Map([
  ...(['true', 'false', 'null'] as const).map((word) => [word, word] as const),
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
  ['undefined', 'null'],
  ['NaN', 'NaN'],
  ['nan', 'nan'],
  ['Infinity', 'Infinity'],
  ['inf', 'inf'],
]);

/**
 * JSON as Python, JavaScript and people write it: texts in single quotes, names without quotes, `True`, `None`, and a comma
 * after the last element. Each of them is an error of JSON (RFC 8259), and has one meaning.
 */
export const relaxedJson: Form = {
  name: 'JSON with single quotes, names without quotes or a last comma',
  isGuess: true,
  read(payload) {
    if (payload.length > MAX_LENGTH || !STARTS.has(firstByte(payload))) return null;
    const text = decodeUtf8(payload);
    if (text instanceof DecodeError) return null;
    const written = text.replace(TOKENS, (token, offset: number) => {
      if (token[0] === '"') return token;
      if (token === ',') return '';
      if (token[0] === "'") return token.endsWith("'") ? doubleQuoted(token.slice(1, -1)) : token;
      if (/^\s*:/.test(text.slice(offset + token.length, offset + token.length + 8))) return `"${token}"`;
      return WORDS.get(token) ?? token;
    });
    return written === text ? null : Buffer.from(written);
  },
};

function doubleQuoted(content: string): string {
  return `"${content.replace(/\\.|"/gs, (part) => (part === "\\'" ? "'" : part === '"' ? '\\"' : part))}"`;
}
