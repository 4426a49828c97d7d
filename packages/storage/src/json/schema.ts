import { access, constants, mkdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { StoreError } from '../errors.ts';
import { publish, removeAbandoned, syncFolder } from './files.ts';

/**
 * The folder:
 *
 *     format.json                   {"format":"tidegauge-json","version":1}
 *     readings/2026-11-21.jsonl     a reading per line, by UTC day of its time
 *     series.jsonl                  which series have readings on which day
 *     units.jsonl                   the units of the metrics of a device per line, since version 0.2.0
 *     marks.jsonl                   hours whose rollups are to be computed
 *     state.jsonl                   which readings and rollups are complete
 *     rollups/hour-2026-11.jsonl    rows of rollups by period and time: see rollup-files.ts
 *     devices.jsonl                 a device per line
 *     lease-retention.7.jsonl       who has a lease until when; each renewal is the next generation
 *     records/usertable.jsonl       a record per line; {"made":"tidegauge"} is the mark without which no call drops it
 *
 * Lines begin with their CRC-32 as a member `crc`, since version 0.3.0, except marks, seals and leases. Of lines with one identity,
 * the last counts. Blank lines have no meaning. A name can have a generation, as in
 * `devices.2.jsonl`: the highest counts. Four other lines change the meaning of lines before them:
 * `{"expired":T}` removes readings older than T, `{"deleted":{...}}` (since version 0.2.0) those of a device in a
 * range of times, `{"dropped":D}` removes a day, and `{"sealed":...}` ends the file. The folder must be on a local file system: O_APPEND of NFS does not keep batches together.
 */
export interface Layout {
  readonly folder: string;
  readonly readings: string;
  readonly records: string;
  readonly rollups: string;
}

const FORMAT = 'tidegauge-json';
const VERSION = 1;

export function layoutOf(path: string): Layout {
  const folder = resolve(path);
  return {
    folder,
    readings: join(folder, 'readings'),
    records: join(folder, 'records'),
    rollups: join(folder, 'rollups'),
  };
}

/** Creates the folder if it does not exist. Refuses a folder of another program or of a newer version. */
export async function openFolder(layout: Layout): Promise<void> {
  await mkdir(layout.folder, { recursive: true, mode: 0o700 });
  await access(layout.folder, constants.R_OK | constants.W_OK | constants.X_OK);
  await readVersion(layout);
}

/** Creates what is missing. Several processes can do this at the same time. */
export async function migrateFolder(layout: Layout): Promise<void> {
  for (const folder of [layout.folder, layout.readings, layout.records, layout.rollups]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await removeAbandoned(folder);
  }
  if ((await readVersion(layout)) === null) {
    const text = `${JSON.stringify({ format: FORMAT, version: VERSION })}\n`;
    await publish(layout.folder, formatPath(layout), pieces(text));
    await readVersion(layout);
  }
  await syncFolder(layout.folder);
  await syncFolder(dirname(layout.folder));
}

async function readVersion(layout: Layout): Promise<number | null> {
  const path = formatPath(layout);
  const text = await readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { format, version } = parseFormat(text);
  if (format !== FORMAT || !Number.isInteger(version)) {
    throw new StoreError('MISCONFIGURED', `${path} does not belong to a Tidegauge store`, {
      hint: 'use a separate folder, or restore the file',
    });
  }
  if (Number(version) > VERSION) {
    throw new StoreError('MISCONFIGURED', `${path} has version ${version}, this program reads ${VERSION}`, {
      hint: 'run the version of Tidegauge that wrote it, or a later one',
    });
  }
  return Number(version);
}

function parseFormat(text: string): { format?: unknown; version?: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function formatPath(layout: Layout): string {
  return join(layout.folder, 'format.json');
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}

const MS_PER_DAY = 86_400_000;

/** A day's file name: `2026-11-21` for days since the epoch. */
export function dayName(day: number): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
}

/** Days since the epoch, or null if the name is not a day. */
export function dayNamed(name: unknown): number | null {
  if (typeof name !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(name)) return null;
  const day = Date.parse(`${name}T00:00:00Z`) / MS_PER_DAY;
  return Number.isInteger(day) ? day : null;
}
