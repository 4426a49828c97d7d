import { type Decode, DecodeError } from '../codec.ts';
import { decodeInflux } from './influx.ts';
import { decodeJson, readJson } from './json.ts';
import { parseJson } from './parse-json.ts';
import { decodePlain } from './plain.ts';
import { looksLikeSenml, readSenmlJson } from './senml-json.ts';

const BYTE_ORDER_MARK = 0xef;
/** Every line of line protocol has a field, and no plain value has this character. */
const EQUALS = 0x3d;

/** Selects the format by the first byte that is not white space. Each format needs one line here. */
export const decodeAuto: Decode = (payload, context) => {
  switch (firstByte(payload)) {
    case 0x7b: // {
    case 0x22: // "
      return decodeJson(payload, context);
    case 0x5b: // [
      return decodeJsonArray(payload, context);
    default:
      return decodeWords(payload, context);
  }
};

/** A plain value, or else line protocol, whose first byte can be any letter. */
const decodeWords: Decode = (payload, context) => {
  const plain = decodePlain(payload, context);
  if (!(plain instanceof DecodeError) || plain.reason !== 'malformed' || !payload.includes(EQUALS))
    return plain;
  const lines = decodeInflux(payload, context);
  return lines instanceof DecodeError && lines.reason === 'malformed' ? plain : lines;
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
