import { DecodeError } from '../../codec.ts';
import { parseCbor } from '../senml-cbor.ts';
import { type Form, Parsed } from './form.ts';

const MAX_DEPTH = 32;

/** CBOR (RFC 8949) of a map with texts as keys, or of an array of such maps. No UTF-8 text begins with these bytes. */
export const cborMap: Form = {
  name: 'CBOR',
  isGuess: true,
  read(payload) {
    const start = payload[0] === 0xd9 && payload[1] === 0xd9 && payload[2] === 0xf7 ? 3 : 0;
    const first = payload[start];
    if (first === undefined || first <= 0x80 || first > 0xbf || first === 0xa0) return null;
    const root = parseCbor(payload);
    if (root instanceof DecodeError) return root.reason === 'too_many_readings' ? root : null;
    const isRecords = Array.isArray(root) ? root.length > 0 && root.every(isMap) : isMap(root);
    const content = isRecords ? toTree(root, 0) : undefined;
    return content === undefined ? null : new Parsed(content);
  },
};

function isMap(value: unknown): boolean {
  return value instanceof Map;
}

/** The value with objects in place of maps; undefined when it is nested too deeply, or a key is no text. */
function toTree(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return undefined;
  if (value instanceof Map) return toObject(value, depth);
  if (Array.isArray(value)) {
    const array = value.map((below) => toTree(below, depth + 1));
    return array.includes(undefined) ? undefined : array;
  }
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? Number(value) : String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64url');
  return value ?? null;
}

function toObject(map: ReadonlyMap<unknown, unknown>, depth: number): Record<string, unknown> | undefined {
  const object: Record<string, unknown> = Object.create(null);
  for (const [key, below] of map) {
    const content = toTree(below, depth + 1);
    if (typeof key !== 'string' || content === undefined) return undefined;
    object[key] = content;
  }
  return object;
}
