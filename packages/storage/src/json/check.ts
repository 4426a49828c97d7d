import { createReadStream } from 'node:fs';
import {
  type CheckPace,
  type Damage,
  keepDamaged,
  keepOnly,
  keptBytes,
  type LostReadings,
  takenOut,
  timeText,
} from '../damage.ts';
import { DAY } from './day-index.ts';
import { generationPath, isMissing, listLogs } from './files.ts';
import { withoutChecksum } from './line-checksum.ts';
import { sealForCompaction } from './log.ts';
import { parseLine } from './mapping.ts';
import { MAX_LINE } from './places.ts';
import { dayNamed, layoutOf } from './schema.ts';

const CHUNK = 1024 * 1024;
const FIX =
  'it is lost, unless another store has it: tidegauge repair takes out the line, and takes its reading from there';

/** A damaged line, with its bytes. */
type DamagedLine = Damage & { readonly line: Buffer };

/**
 * Checks each line of all files by its checksum and syntax. Others can use the folder meanwhile.
 *
 * @param takesOut whether damaged lines are appended to `FILE.damaged`, and the next process that uses the file writes it without them
 */
export async function* checkFolder(
  folder: string,
  pace: CheckPace,
  takesOut: boolean,
): AsyncGenerator<Damage> {
  const { readings, records, rollups } = layoutOf(folder);
  for (const each of [folder, readings, records, rollups]) {
    const logs = await listLogs(each).catch(unlessMissing);
    for (const [name, generation] of logs ?? []) {
      const lost = each === readings ? lostOf(name) : {};
      const file = generationPath(each, name, generation);
      const found = checkLog(file, lost, pace);
      if (takesOut) yield* takeOut(file, found);
      else for await (const { line: _, ...damage } of found) yield damage;
    }
  }
}

/** A damaged line can have been any reading of its day. */
function lostOf(name: string): { readonly lost?: LostReadings } {
  const day = dayNamed(name);
  if (day === null) return {};
  return { lost: { device: null, metric: null, from: day * DAY, to: (day + 1) * DAY, count: 1 } };
}

async function* takeOut(file: string, found: AsyncIterable<DamagedLine>): AsyncGenerator<Damage> {
  const damages: Damage[] = [];
  const before = keptBytes(file);
  for await (const { line, ...damage } of found) {
    keepDamaged(file, line);
    damages.push(damage);
  }
  if (damages.length === 0) return;
  const isSealed = await sealForCompaction(file);
  if (!isSealed) keepOnly(file, before);
  const fix = isSealed
    ? takenOut(file)
    : 'it stays in the file, because the disk has no room to write that again: make room, and repair again';
  for (const damage of damages) yield { ...damage, fix };
}

/** A line without a newline at the end is being written, or was when its writer was killed. */
async function* checkLog(
  file: string,
  lost: { readonly lost?: LostReadings },
  pace: CheckPace,
): AsyncGenerator<DamagedLine> {
  let rest: Buffer = Buffer.alloc(0);
  let offset = 0;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: CHUNK })) {
      const data = Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, start)) {
        const line = data.subarray(start, end);
        const text = line.toString();
        const what = text.trim() === '' ? null : lineProblem(text);
        if (what !== null) {
          const unit = `line at byte ${offset + start}${nameOf(text)}`;
          yield { file, unit, what, fix: FIX, line, ...lost };
        }
        start = end + 1;
      }
      offset += start;
      rest = data.subarray(start);
      if (rest.length > MAX_LINE) {
        yield { file, unit: `line at byte ${offset}`, what: 'it has no end', fix: FIX, line: rest };
        return;
      }
      await pace();
    }
  } catch (error) {
    // It was replaced, or its day was deleted.
    unlessMissing(error);
  }
}

function lineProblem(text: string): string | null {
  const line = withoutChecksum(text);
  if (line === null) return 'its checksum differs';
  return parseLine(line) === null ? 'it is not an object of JSON' : null;
}

/** What a damaged line is about, as far as it can be read. */
function nameOf(text: string): string {
  const { device, metric, time, key } = parseLine(text) ?? {};
  if (typeof device === 'string' && time !== undefined) return ` of ${device} ${metric} at ${timeText(time)}`;
  return typeof key === 'string' ? ` of ${key}` : '';
}

function unlessMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}
