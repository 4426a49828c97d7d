import { DecodeError } from '../../codec.ts';
import { wholeNumber } from '../../mapping/numbers.ts';
import { decodeUtf8 } from '../utf8.ts';
import { type Form, Parsed } from './form.ts';

/** A longer text is a document. */
const MAX_LENGTH = 8192;
/** Spaces are tried from the first one of several only, so that it takes linear time. */
const SEPARATOR = /[;,&\n]|(?<! ) +(?=[\p{L}_])/u;
const PAIR = /^([\p{L}_][\w\p{L}.-]{0,63})\s*[=:]\s*([+-]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)$/u;

/** Names and numbers in a text: `temp=21.5&hum=45`, `T:21.5;H:45`, or one pair in each line. Every part is such a pair. */
export const pairs: Form = {
  name: 'names and numbers',
  read(payload) {
    if (payload.length > MAX_LENGTH) return null;
    const text = decodeUtf8(payload);
    if (text instanceof DecodeError) return null;
    const record: Record<string, number | string> = Object.create(null);
    for (const part of text
      .trim()
      .replace(/[;,&]$/, '')
      .split(SEPARATOR)) {
      const match = PAIR.exec(part.trim());
      if (match === null || match[1]! in record) return null;
      record[match[1]!] = wholeNumber(match[2]!) ?? match[2]!;
    }
    return new Parsed(record);
  },
};
