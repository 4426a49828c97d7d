import { DecodeError } from '../../codec.ts';
import { quote } from '../../quote.ts';
import { decodeUtf8 } from '../utf8.ts';

/** Longer payloads are documents, and no values. */
const MAX_LENGTH = 65_536;

/** Forms of texts that are recognised and not read, because a part of their meaning is not in the payload. */
const UNREAD: readonly (readonly [sign: RegExp, (text: string) => string])[] = [
  [
    /^[+-]?0[xX][0-9a-fA-F]+$/,
    (text) => `${quote(text)} is a hexadecimal number: send it as a decimal number, ${decimal(text)}`,
  ],
  [
    /^(?=.*[a-fA-F])(?:[0-9a-fA-F]{2}[ :-]?){4,}$/,
    (text) =>
      `${quote(text)} is bytes in hexadecimal: their meaning is not in the payload, so send names and values`,
  ],
  [
    /^[+−-]?\d{1,3}(?:( )\d{3}(?:\1\d{3})*(?:[.,]\d+)?|\.\d{3}\.\d{3})$/,
    (text) =>
      `${quote(text)}: its ${text.includes(' ') ? 'spaces' : 'points'} can separate thousands or parts: set ${decimalsOf(text)} in the mapping`,
  ],
  [
    /^[$!][A-Z]{4,6},[^\n]*(?:\*[0-9A-F]{2})?(?:\r?\n[$!][A-Z]{4,6},[^\n]*)*$/,
    () => 'the payload is a sentence of NMEA 0183, which is not read: send JSON',
  ],
  [
    /^(?:\/[A-Za-z]{3}\d[^\n]*\n|\d-\d:\d+\.\d+\.\d+(?:\*\d+)?\()/,
    () => 'the payload is a telegram of a meter (IEC 62056-21, DSMR P1), which is not read: send JSON',
  ],
  [
    /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/,
    (text) => `${quote(text)} is bytes in Base64, which are not read: send the bytes themselves, or JSON`,
  ],
  [/^<(?:\?xml|!--|[A-Za-z])[^<]*>/, () => 'the payload is XML, which is not read: send JSON'],
  [
    /^[^\n;,\t]*[;,\t][^\n]*\n[^\n;,\t]*[;,\t]/,
    () =>
      'the payload is rows of values (CSV) without a header row of their names, or with rows of other lengths or separators in quotes: send the names as the first row, or JSON',
  ],
  [
    /^[+-]?\d[\d.]* *(?:[;,\t|] *[+-]?\d[\d.]* *)+$/,
    (text) =>
      `${quote(text)} is several values (CSV) without their names: send a header row of names, or JSON such as {"name": value}`,
  ],
  [
    /^[+-]?\d[\d.]*(?:\s+[+-]?\d[\d.]*)+$/,
    (text) => `${quote(text)} is several numbers without their names: send JSON such as {"name": value}`,
  ],
  [
    /^[\p{L}_][\w\p{L}. -]{0,63}(?:=|:(?!\/\/)[^\n]*[\d=:])/u,
    () =>
      'the payload is names and values, of which one is no plain number, has no name, or is there twice: send each name once, numbers with a point and without units, or JSON',
  ],
];

/** The settings that make digits in groups a number. */
function decimalsOf(text: string): string {
  if (/,|\.\d{3}\./.test(text)) return 'decimal: comma';
  return text.includes('.') ? 'decimal: point' : 'decimal: comma or decimal: point';
}

function decimal(text: string): string {
  const digits = text.replace(/^[+-]/, '');
  return digits.length > 34
    ? 'in one of the forms of JSON'
    : `${text.startsWith('-') ? '-' : ''}${BigInt(digits)}`;
}

const BINARY =
  'the payload is not UTF-8 text, and can be CBOR or MessagePack, of which maps are read whose keys are different texts, without tags of times, and arrays of them: send such a map, or JSON';

/** Whether the first byte is that of a map or an array of CBOR or MessagePack. No UTF-8 text begins with it. */
function beginsWithMap([first = 0]: Uint8Array): boolean {
  return first >= 0x80 && first <= 0xbf;
}

/** An error that names the form of a payload that nothing reads; null when it is not known. */
export function unreadForm(payload: Uint8Array): DecodeError | null {
  if (payload.length > MAX_LENGTH) return null;
  if (payload[0] === 0x28 && payload[1] === 0xb5 && payload[2] === 0x2f && payload[3] === 0xfd) {
    return new DecodeError(
      'unsupported',
      'the payload is compressed with Zstandard, which is not read: use gzip',
    );
  }
  const decoded = decodeUtf8(payload);
  if (decoded instanceof DecodeError)
    return beginsWithMap(payload) ? new DecodeError('malformed', BINARY) : null;
  const text = decoded.trim();
  for (const [sign, message] of UNREAD) {
    if (sign.test(text)) return new DecodeError('malformed', message(text));
  }
  return null;
}
