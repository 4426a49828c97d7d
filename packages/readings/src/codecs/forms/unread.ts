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
  [/^<(?:\?xml|!--|[A-Za-z])[^<]*>/, () => 'the payload is XML, which is not read: send JSON'],
  [
    /^[^\n;,\t]*[;,\t][^\n]*\n[^\n;,\t]*[;,\t]/,
    () =>
      'the payload is rows of values (CSV) without a header row of their names, or with rows of other lengths: send the names as the first row, or JSON',
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
];

function decimal(text: string): string {
  const digits = text.replace(/^[+-]/, '');
  return digits.length > 34
    ? 'in one of the forms of JSON'
    : `${text.startsWith('-') ? '-' : ''}${BigInt(digits)}`;
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
  if (decoded instanceof DecodeError) return null;
  const text = decoded.trim();
  for (const [sign, message] of UNREAD) {
    if (sign.test(text)) return new DecodeError('malformed', message(text));
  }
  return null;
}
