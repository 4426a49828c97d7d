import {
  DecodeError,
  isTable,
  MAX_READINGS_PER_PAYLOAD,
  type Notes,
  type Reading,
} from '@tidegauge/readings';
import {
  decodeReading,
  encodeReading,
  readingProblem,
  type SeriesUnit,
  seriesPrefix,
} from '@tidegauge/storage';
import { nameOf } from '../series-units.ts';

/** The format of relayed readings in the log, in the spool and in quarantine. No route and no client can select it. */
export const RELAYED = 'relayed';

/** Length of a part, from which a new one begins, UTF-16 code units. */
const PART_LENGTH = 64 * 1024;
/** The beginning of a line with a unit. */
const UNIT = '{"unit":';

/**
 * Encodes readings as lines of JSON, in parts of about 64 KiB. The line of a unit follows the first reading of its series,
 * because a centre stores units of series that it has.
 */
export function* encodeRelayed(
  readings: readonly Reading[],
  units: readonly SeriesUnit[] = [],
): Generator<Buffer> {
  const left = new Map(units.map((each) => [nameOf(each), each]));
  let device = '';
  let metric = '';
  let prefix = '';
  let text = '';
  for (const reading of readings) {
    if (reading.metric !== metric || reading.device !== device) {
      ({ device, metric } = reading);
      prefix = seriesPrefix(device, metric);
    }
    text += prefix + encodeReading(reading);
    const unit = left.size === 0 ? undefined : left.get(nameOf(reading));
    if (unit !== undefined) {
      left.delete(nameOf(reading));
      text += `${UNIT}${JSON.stringify(unit.unit)},"device":${JSON.stringify(device)},"metric":${JSON.stringify(metric)}}\n`;
    }
    if (text.length < PART_LENGTH) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

/**
 * Decodes lines of `encodeRelayed`.
 *
 * @param notes receives the units
 */
export function decodeRelayed(payload: Uint8Array, notes?: Notes): readonly Reading[] | DecodeError {
  const readings: Reading[] = [];
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8');
  let number = 0;
  for (const line of linesOf(text)) {
    number++;
    if (line === '') continue;
    const position = `line ${number}`;
    if (line.startsWith(UNIT)) {
      const unit = unitOf(line);
      if (unit === null) return new DecodeError('malformed', 'a line is no unit of a series', position);
      notes?.unit(unit.device, unit.metric, unit.unit);
      continue;
    }
    const reading = decodeReading(line);
    if (reading === null) return new DecodeError('malformed', 'a line is no relayed reading', position);
    const problem = readingProblem(reading, false);
    if (problem !== null) return new DecodeError('invalid_value', problem, position);
    if (readings.length === MAX_READINGS_PER_PAYLOAD)
      return new DecodeError(
        'too_many_readings',
        `at most ${readings.length} readings in a request`,
        position,
      );
    readings.push(reading);
  }
  return readings;
}

/** One after the other: an array of all lines takes many times the size of a body of line feeds. */
function* linesOf(text: string): Generator<string> {
  let from = 0;
  for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
    yield text.slice(from, to);
    from = to + 1;
  }
  yield text.slice(from);
}

function unitOf(line: string): SeriesUnit | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isTable(value)) return null;
  const { unit, device, metric } = value;
  if (typeof unit !== 'string' || typeof device !== 'string' || typeof metric !== 'string') return null;
  return { unit, device, metric };
}
