import { type Decode, type DecodeContext, DecodeError } from '../codec.ts';
import { MAX_READINGS_PER_PAYLOAD, recordPosition, tooManyReadings } from '../make-reading.ts';
import type { Notes } from '../notes.ts';
import { quote } from '../quote.ts';
import type { Reading } from '../reading.ts';
import { parseJson } from './parse-json.ts';
import { readPack, type SenmlRecord } from './senml.ts';
import { noteRounded } from './whole-numbers.ts';

/** RFC 8428 section 5: the labels and the JSON types of their values. */
const TYPES: ReadonlyMap<string, 'string' | 'number' | 'boolean'> = new Map([
  ...(['bn', 'bu', 'n', 'u', 'vs', 'vd'] as const).map((label) => [label, 'string'] as const),
  ...(['bt', 'bv', 'bs', 'bver', 'v', 's', 't', 'ut'] as const).map((label) => [label, 'number'] as const),
  ['vb', 'boolean'] as const,
]);

const VALUE_LABELS = ['v', 'vs', 'vb', 'vd', 's'];
/** Why a label is ignored, which RFC 8428 permits (section 4.4). */
export const UNKNOWN_LABEL =
  'it is no label of SenML: send a name and value as a separate record, or what names the sender in bn or n';

/** SenML in JSON (RFC 8428, `application/senml+json`): an array of records. */
export const decodeSenmlJson: Decode = (payload, context) => {
  const root = parseJson(payload, context.notes);
  if (root instanceof DecodeError) return root;
  return readSenmlJson(noteRounded(payload, root, context.notes), context);
};

/** Like `decodeSenmlJson`, from the parsed value. */
export function readSenmlJson(root: unknown, context: DecodeContext): readonly Reading[] | DecodeError {
  if (!Array.isArray(root)) {
    return new DecodeError('malformed', `the payload is ${quote(root)}; a SenML pack is an array of records`);
  }
  if (root.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(root.length);
  for (let i = 0; i < root.length; i++) {
    const problem = recordProblem(root[i], context.notes);
    if (problem !== null) return problem.at(recordPosition(i, root.length));
  }
  return readPack(root as SenmlRecord[], context);
}

/**
 * Whether parsed JSON is a SenML pack: the first record of a valid pack always has a name, and other JSON formats
 * have none there.
 */
export function looksLikeSenml(root: unknown): boolean {
  if (!Array.isArray(root)) return false;
  const first: unknown = root[0];
  if (typeof first !== 'object' || first === null) return false;
  if ('bn' in first && typeof first.bn === 'string') return true;
  return 'n' in first && typeof first.n === 'string' && !hasOtherValue(first);
}

/** Whether a record with a name has its value in a field that SenML does not have: {"n": "temp", "value": 21.5}. */
function hasOtherValue(record: object): boolean {
  return ['value', 'val'].some((field) => field in record) && !VALUE_LABELS.some((label) => label in record);
}

function recordProblem(record: unknown, notes: Notes | undefined): DecodeError | null {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return new DecodeError('malformed', `${quote(record)} is not a SenML record, an object`);
  }
  for (const label in record) {
    const value = (record as Record<string, unknown>)[label];
    const type = TYPES.get(label);
    if (type === undefined) {
      if (!label.endsWith('_')) {
        notes?.ignored(label, UNKNOWN_LABEL);
        continue;
      }
      return new DecodeError(
        'unsupported',
        `${quote(label)} ends with "_", so it must be understood, but it is not supported`,
      );
    }
    if (typeof value !== type || value === Infinity || value === -Infinity) {
      return new DecodeError('invalid_value', `${quote(label)} is ${quote(value)}; it must be a ${type}`);
    }
  }
  return null;
}
