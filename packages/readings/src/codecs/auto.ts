import { type Decode, type DecodeContext, DecodeError, withoutExceptions } from '../codec.ts';
import { identityOf } from '../make-reading.ts';
import { noteNames, noteTimes } from '../mapping/assumptions.ts';
import { Mapping } from '../mapping/compile-mapping.ts';
import { isCertainName, namedRecords, namedValues, recordList } from '../mapping/named-values.ts';
import { BareText, parseWithNonNumbers } from '../mapping/payload-tree.ts';
import { mayBeTime, NO_TIME } from '../mapping/record-time.ts';
import type { Reading } from '../reading.ts';
import { readFlatRecord } from './flat-record.ts';
import { firstByte } from './forms/form.ts';
import { decodeForm } from './forms/index.ts';
import { influxDecoder } from './influx.ts';
import { LIKELY_TIME, readJson } from './json.ts';
import { parseJson } from './parse-json.ts';
import { decodePlain } from './plain.ts';
import { decodeSenmlCbor, looksLikeSenmlCbor } from './senml-cbor.ts';
import { looksLikeSenml, readSenmlJson } from './senml-json.ts';
import { decodeUtf8 } from './utf8.ts';
import { keepDigits, noteRounded } from './whole-numbers.ts';

// A payload is decoded by the strict format first, because that costs less. A mapping reads what this format refuses, and
// JSON with names that only a mapping reads: `last_seen` as a time, or an array of objects with a name and a value. Both
// read texts of JSON by the same rule.

/** Every line of line protocol has a field, and no plain value has this character. */
const EQUALS = 0x3d;
/** `T=21.5 state=true` is names and values, and no line whose measurement is `T=21.5`. */
const decodeLines = influxDecoder({ refusesPairs: true });
const PLAIN_MAPPING = new Mapping({});

/**
 * A decoder that reads a payload by one of the formats, or else by its form (`forms/`).
 *
 * @param zone of local times: a name of the IANA database; null: UTC, with a note
 */
export function autoDecoder(zone: string | null): Decode {
  const mapping = new Mapping(zone === null ? {} : { time: { zone } }, 'json');
  const decode: Decode = (payload, context) => decodeFormat(payload, context, mapping);
  const read = (root: unknown, context: DecodeContext) => readTree(root, context, mapping);
  return withoutExceptions((payload, context) => {
    const decoded = decodeFormat(payload, context, mapping);
    return decoded instanceof DecodeError ? decodeForm(payload, context, decoded, decode, read) : decoded;
  });
}

export const decodeAuto = autoDecoder(null);

type Result = readonly Reading[] | DecodeError;

/** Selects the format by the first byte that is not white space. Each format needs one line here. */
function decodeFormat(payload: Uint8Array, context: DecodeContext, mapping: Mapping): Result {
  switch (firstByte(payload)) {
    case 0x7b: // {
    case 0x5b: // [
    case 0x22: // "
      return decodeAnyJson(payload, context, mapping);
    default:
      return decodeAnyPlain(payload, context);
  }
}

function decodeAnyJson(payload: Uint8Array, context: DecodeContext, mapping: Mapping): Result {
  const flat = readFlatRecord(payload, context);
  if (flat !== null) return flat;
  const parsed = parseJson(payload, context.notes);
  if (parsed instanceof DecodeError)
    return parsed.reason === 'too_many_readings'
      ? parsed
      : (readNonNumbers(payload, context, mapping) ?? parsed);
  if (looksLikeSenml(parsed)) return readSenmlJson(noteRounded(payload, parsed, context.notes), context);
  return readTree(keepDigits(payload, parsed, context.notes, mayBeTime), context, mapping);
}

/** Reads parsed JSON, or what another form has in place of it. */
function readTree(root: unknown, context: DecodeContext, mapping: Mapping): Result {
  if (looksLikeSenml(root)) return readSenmlJson(root, context);
  return noted(root, readRecords(root, context, mapping), context);
}

/** Notes what the readings of a payload can mean besides. */
function noted(root: unknown, decoded: Result, context: DecodeContext): Result {
  if (decoded instanceof DecodeError) return decoded;
  noteTimes(decoded, context);
  noteNames(root, decoded, context);
  return decoded;
}

function readRecords(root: unknown, context: DecodeContext, mapping: Mapping): Result {
  const list = recordList(root);
  const named = namedRecords(list) ?? namedValues(list);
  if (named !== null && isCertainName(named.name)) return mapping.read(root, context);
  const strict = readJson(root, context, true);
  if (strict === LIKELY_TIME) return mapping.read(root, context);
  if (!(strict instanceof DecodeError)) {
    const collides = named !== null && named.name !== 'metric' && haveTwins(strict);
    return collides ? mapping.read(root, context) : strict;
  }
  if (strict.reason === 'too_many_readings') return strict;
  return preferred(strict, mapping.read(root, context));
}

/** Whether two readings are the same series at the same time, so that one would replace the other. */
function haveTwins(readings: readonly Reading[]): boolean {
  const seen = new Set(readings.map(identityOf));
  return seen.size < readings.length;
}

/** Reads JSON that has NaN or infinite numbers; null when the payload is something else. */
function readNonNumbers(payload: Uint8Array, context: DecodeContext, mapping: Mapping): Result | null {
  const root = parseWithNonNumbers(payload, context.notes);
  return root === undefined ? null : noted(root, mapping.read(root, context), context);
}

/** Reads a number, also with a unit, a word for a state, a word for no value, line protocol, or SenML in CBOR. */
function decodeAnyPlain(payload: Uint8Array, context: DecodeContext): Result {
  const strict = decodePlain(payload, context);
  if (!(strict instanceof DecodeError) || strict.reason === 'empty_payload') return strict;
  if (looksLikeSenmlCbor(payload)) return decodeSenmlCbor(payload, context);
  if (strict.reason === 'malformed' && payload.includes(EQUALS)) {
    const lines = decodeLines(payload, context);
    if (!(lines instanceof DecodeError) || lines.reason !== 'malformed') return lines;
  }
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return strict;
  return preferred(strict, PLAIN_MAPPING.read(new BareText(text.trim()), context));
}

/**
 * The readings, or the more helpful error: that of the strict format when both refuse for the same reason, except that a
 * mapping names the form of a time.
 */
function preferred(strict: DecodeError, mapped: Result): Result {
  if (!(mapped instanceof DecodeError) || mapped.reason !== strict.reason) return mapped;
  return strict.reason === 'invalid_time' && !mapped.message.includes(NO_TIME) ? mapped : strict;
}
