import { decode, type Token, Tokenizer, Type } from 'cborg';
import { type Decode, DecodeError } from '../codec.ts';
import type { Notes } from '../notes.ts';
import { MAX_VALUES } from './parse-json.ts';
import { readSenmlJson, UNKNOWN_LABEL } from './senml-json.ts';
import { ROUNDED } from './whole-numbers.ts';

/** The JSON label of each CBOR label: RFC 8428, table 4 in section 6. */
const LABELS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [-6, 'bs'],
  [-5, 'bv'],
  [-4, 'bu'],
  [-3, 'bt'],
  [-2, 'bn'],
  [-1, 'bver'],
  [0, 'n'],
  [1, 'u'],
  [2, 'v'],
  [3, 'vs'],
  [4, 'vb'],
  [5, 's'],
  [6, 't'],
  [7, 'ut'],
  [8, 'vd'],
]);

/** Tag of a decimal fraction (RFC 8949 section 3.4.4) and of self-described CBOR (section 3.4.6). */
const DECIMAL_FRACTION = 4;
const SELF_DESCRIBED = 55_799;

/** SenML in CBOR (RFC 8428 section 6, `application/senml+cbor`): an array of maps with integer labels. */
export const decodeSenmlCbor: Decode = (payload, context) => {
  if (payload.length === 0) return new DecodeError('empty_payload', 'the payload has no bytes');
  const root = parseCbor(payload);
  if (root instanceof DecodeError) return root;
  return readSenmlJson(Array.isArray(root) ? root.map((map) => toRecord(map, context.notes)) : root, context);
};

/**
 * Whether a payload begins with a CBOR array whose first element is a map with an integer as key, as a SenML pack does. No
 * UTF-8 text begins with these bytes.
 */
export function looksLikeSenmlCbor(payload: Uint8Array): boolean {
  const first = payload[0]!;
  const size = first < 0x98 || first === 0x9f ? 0 : 2 ** (first - 0x98);
  const second = payload[1 + size]!;
  if (first <= 0x80 || (first > 0x9b && first !== 0x9f) || second < 0xa0 || second > 0xbf) return false;
  // A map with texts as keys is read by its form.
  const key = second < 0xb8 || second > 0xbb ? payload[2 + size]! : 0;
  return second === 0xa0 || !(key >= 0x60 && key <= 0x7f);
}

/** Counts values, because each takes far more memory than its bytes, and refuses texts that are not UTF-8. */
class CheckedTokenizer extends Tokenizer {
  #values = 0;

  override next(): Token {
    const start = this.pos();
    if (++this.#values > MAX_VALUES) throw new TooManyValues();
    const token = super.next();
    if (Type.equals(token.type, Type.string) && (token.value as string).includes('\ufffd')) {
      const bytes = Buffer.from(token.value as string);
      const length = this.pos() - start;
      const sent = this.data.subarray(this.pos() - bytes.length, this.pos());
      if (bytes.length > length || !bytes.equals(sent)) throw new Error('a text is not UTF-8');
    }
    return token;
  }
}

class TooManyValues extends Error {}

/** Decodes one CBOR value. Maps are Map objects, so that labels keep their type. */
export function parseCbor(payload: Uint8Array): unknown {
  const options = {
    useMaps: true,
    rejectDuplicateMapKeys: true,
    tags: {
      [DECIMAL_FRACTION]: (content: () => unknown) => decimalFraction(content()),
      [SELF_DESCRIBED]: (content: () => unknown) => content(),
    },
  };
  const tokenizer = new CheckedTokenizer(payload, {
    allowBigInt: true,
    allowIndefinite: true,
    allowUndefined: true,
  });
  try {
    const root: unknown = decode(payload, { ...options, tokenizer });
    if (hasBreak(root)) throw new Error('a break outside of an item of indefinite length');
    return root;
  } catch (error) {
    if (error instanceof TooManyValues) {
      const message = `more than ${MAX_VALUES} values in one payload; send them in several`;
      return new DecodeError('too_many_readings', message);
    }
    // Each level of nesting is a call, so deep nesting ends with a RangeError.
    const why = error instanceof RangeError ? 'it is nested too deeply' : reasonOf(error as Error);
    return new DecodeError('malformed', `not CBOR: ${why}`, `byte ${tokenizer.pos()}`);
  }
}

/** Whether a value is the symbol that the library has for a break (RFC 8949 section 3.2.1), which it accepts in place of a value. */
function hasBreak(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasBreak);
  if (!(value instanceof Map)) return typeof value === 'symbol';
  for (const [key, below] of value as Map<unknown, unknown>)
    if (hasBreak(key) || hasBreak(below)) return true;
  return false;
}

function reasonOf({ message }: Error): string {
  return message.replace(/^CBOR decode error:? */, '').slice(0, 200);
}

/** The value of `[exponent, mantissa]`. */
function decimalFraction(content: unknown): number {
  const [exponent, mantissa] = Array.isArray(content) ? (content as unknown[]) : [];
  const isInteger = (value: unknown) => typeof value === 'bigint' || Number.isInteger(value);
  if (!isInteger(exponent) || !isInteger(mantissa)) throw new Error('a decimal fraction is not two integers');
  return Number(`${mantissa}e${exponent}`);
}

/** A record with the labels and types of JSON. Other values stay as they are and are checked with it. */
function toRecord(map: unknown, notes: Notes | undefined): unknown {
  if (!(map instanceof Map)) return map;
  const record: Record<string, unknown> = Object.create(null);
  for (const [label, value] of map as Map<unknown, unknown>) {
    const name = LABELS.get(label) ?? label;
    if (typeof name !== 'string') {
      notes?.ignored(typeof name === 'object' ? '(label)' : String(name), UNKNOWN_LABEL);
      continue;
    }
    record[name] = toJson(value);
    if (typeof value === 'bigint' && BigInt(record[name] as number) !== value) notes?.ignored(name, ROUNDED);
  }
  return record;
}

function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64url');
  return value;
}
