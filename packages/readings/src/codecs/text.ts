import { type Decode, DecodeError } from '../codec.ts';
import { readScalar } from './scalar.ts';
import { decodeUtf8 } from './utf8.ts';

/** Decodes the whole payload as one text value. */
export const decodeText: Decode = (payload, context) => {
  const text = decodeUtf8(payload);
  return text instanceof DecodeError ? text : readScalar(text, context);
};
