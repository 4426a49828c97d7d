import { type Decode, DecodeError } from '../codec.ts';
import { decodeJson, readJson } from './json.ts';
import { parseJson } from './parse-json.ts';
import { decodePlain } from './plain.ts';
import { looksLikeSenml, readSenmlJson } from './senml-json.ts';

const BYTE_ORDER_MARK = 0xef;

/** Selects the format by the first byte that is not white space. Each format needs one line here. */
export const decodeAuto: Decode = (payload, context) => {
  switch (firstByte(payload)) {
    case 0x7b: // {
    case 0x22: // "
      return decodeJson(payload, context);
    case 0x5b: // [
      return decodeJsonArray(payload, context);
    default:
      return decodePlain(payload, context);
  }
};

const decodeJsonArray: Decode = (payload, context) => {
  const root = parseJson(payload);
  if (root instanceof DecodeError) return root;
  return looksLikeSenml(root) ? readSenmlJson(root, context) : readJson(root, context);
};

function firstByte(payload: Uint8Array): number | undefined {
  let i = payload[0] === BYTE_ORDER_MARK ? 3 : 0;
  while (payload[i] === 0x20 || payload[i] === 0x09 || payload[i] === 0x0a || payload[i] === 0x0d) i++;
  return payload[i];
}
