import { existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  BatchWriter,
  type CopyState,
  copyStore,
  isEmptyStore,
  patiently,
  readState,
  writeState,
} from '@tidegauge/copy';
import { type Device, isTable } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import {
  DISK_FULL,
  decodeReading,
  openStore,
  parseUrl,
  type SeriesUnit,
  type Store,
  StoreError,
} from '@tidegauge/storage';
import { maskUrl } from '@tidegauge/text';
import { copyPart, damagedLine, isOutOfSpace, type Line, linesOf, syncPath } from './backup-files.ts';
import { contentsProblem, readStore, type Watching } from './contents.ts';
import { sqliteUrl } from './dump-sqlite.ts';
import { type Manifest, SQLITE_FILE } from './manifest.ts';

const UNITS = 1000;
const WATCH_EVERY = 5000;

/**
 * Writes a backup to an empty store, reads the store again, and compares it with the manifest by number and digest. A
 * restore that was interrupted continues when it runs again. A new SQLite file is written beside its place, and gets its
 * name when it is verified.
 *
 * @returns what differs, or null
 * @throws {ConfigError} when the store has other data
 */
export async function restoreBackup(
  folder: string,
  manifest: Manifest,
  url: string,
  watching: Watching,
): Promise<string | null> {
  const { scheme, path } = parseUrl(url);
  if (scheme !== 'sqlite' || path.startsWith(':') || existsSync(path))
    return fillStore(folder, manifest, url, watching);
  return manifest.method === 'sqlite'
    ? placeSqliteFile(path, async (copy, remove) => {
        await remove();
        const file = join(folder, SQLITE_FILE);
        await copyPart(file, copy);
        return problemOf(file, copy, manifest, watching);
      })
    : placeSqliteFile(path, async (copy, remove, keep) => {
        if (existsSync(copy) && !(await continues(copy, manifest))) await remove();
        try {
          return await fillStore(folder, manifest, sqliteUrl(copy), watching);
        } catch (error) {
          if (watching.signal.aborted) keep();
          throw error;
        }
      });
}

/** Writes a backup to a store that is empty, or has a part of this backup. */
async function fillStore(
  folder: string,
  manifest: Manifest,
  url: string,
  watching: Watching,
): Promise<string | null> {
  const store = await openStore(url);
  try {
    const state = await stateOf(store, stateName(manifest), url);
    const problem =
      (manifest.method === 'sqlite'
        ? await copySqliteFile(join(folder, SQLITE_FILE), store, state, watching)
        : await restoreLines(folder, manifest, store, watching)) ??
      contentsProblem(await readStore(store, watching), manifest);
    // Last, because ingest writes to the store from then on.
    if (problem === null && manifest.identity != null) await store.identify(manifest.identity);
    return problem;
  } finally {
    await store.close();
  }
}

function stateName({ readings }: Manifest): string {
  return `backup:${readings.digest}`;
}

/** Whether a file that an interrupted restore left is of the same backup. */
async function continues(copy: string, manifest: Manifest): Promise<boolean> {
  try {
    const store = await openStore(sqliteUrl(copy));
    try {
      return (await readState(store, stateName(manifest))) !== null;
    } finally {
      await store.close();
    }
  } catch {
    return false;
  }
}

/** The state of an earlier restore of the same backup, or a new one if the store is empty. */
async function stateOf(store: Store, place: string, url: string): Promise<CopyState> {
  const known = await readState(store, place);
  if (known !== null) return known;
  if (!(await isEmptyStore(store))) {
    const message = `${maskUrl(url)} is not empty: restore to an empty store, and use tidegauge copy to merge`;
    throw new ConfigError([message]);
  }
  const state: CopyState = { version: 1, from: place, merge: false, after: null, finished: null };
  await writeState(store, place, state);
  return state;
}

/**
 * Makes a SQLite file beside its place, and gives it its name.
 *
 * @param write writes and verifies the file `copy`, and resolves to what is wrong with it, or null. `keep`: the file stays
 * for a later attempt
 */
async function placeSqliteFile(
  path: string,
  write: (copy: string, remove: () => Promise<void>, keep: () => void) => Promise<string | null>,
): Promise<string | null> {
  // SQLite would apply the log of another file to this one.
  if (existsSync(`${path}-wal`))
    throw new ConfigError([
      `${path}-wal is left from another database: move it away, or restore to another path`,
    ]);
  const copy = `${path}.restoring`;
  const remove = async () => {
    for (const end of ['', '-wal', '-shm']) await rm(`${copy}${end}`, { force: true });
  };
  let stays = false;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const problem = await write(copy, remove, () => {
      stays = true;
    });
    if (problem !== null) return problem;
    // SQLite writes its log to the file when the store is closed, and the log does not get the new name.
    if ((statSync(`${copy}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
      throw new StoreError('UNAVAILABLE', `${copy}-wal: SQLite could not write its log to the file`, {
        hint: DISK_FULL,
      });
    await syncPath(copy);
    await rename(copy, path);
    await syncPath(dirname(path));
    return null;
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
    throw new StoreError('UNAVAILABLE', `${path}: the disk is full`, { hint: DISK_FULL, cause: error });
  } finally {
    if (!stays) await remove();
  }
}

/** @param file of the backup, of which `copy` is a copy. It is named in problems. */
async function problemOf(
  file: string,
  copy: string,
  manifest: Manifest,
  watching: Watching,
): Promise<string | null> {
  const store = await openCopy(file, copy);
  try {
    const problem = contentsProblem(await readStore(store, watching), manifest);
    return problem === null ? null : `${file}: ${problem}`;
  } catch (error) {
    throw damagedFile(file, error);
  } finally {
    await store.close();
  }
}

async function openCopy(file: string, copy: string): Promise<Store> {
  try {
    return await openStore(sqliteUrl(copy));
  } catch (error) {
    throw damagedFile(file, error);
  }
}

/** Names the file of the backup if the store cannot read its copy. */
function damagedFile(file: string, error: unknown): unknown {
  if (!(error instanceof StoreError) || error.code === 'UNAVAILABLE') return error;
  return new ConfigError([`${file} is damaged: ${error.message}: use another backup`]);
}

/** Copies a SQLite file to another store. A store that is open can change its file, so a copy of it is read. */
async function copySqliteFile(
  file: string,
  target: Store,
  state: CopyState,
  { signal, progress }: Watching,
): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-restore-'));
  try {
    const copy = join(folder, SQLITE_FILE);
    await copyPart(file, copy);
    const source = await openCopy(file, copy);
    try {
      const options = { place: state.from, state, signal, progress };
      return (await copyStore({ source, target }, options)).problems[0] ?? null;
    } finally {
      await source.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function restoreLines(
  folder: string,
  { files, readings: { count } }: Manifest,
  store: Store,
  { signal, progress }: Watching,
): Promise<string | null> {
  const namesOf = (kind: string) =>
    files.map(({ name }) => name).filter((name) => name.startsWith(`${kind}-`));
  const writer = new BatchWriter(store);
  progress.expectReadings(count);
  const attempt = async () => {
    await writer.reset();
    let unreported = 0;
    for await (const line of linesOf(folder, namesOf('readings'))) {
      const reading = decodeReading(line.text);
      if (reading === null) throw damagedLine(line, 'not a reading');
      const waits = writer.add(reading);
      if (waits !== null) await waits;
      unreported += 1;
      if (unreported < WATCH_EVERY) continue;
      signal.throwIfAborted();
      progress.advance(unreported, 'all', 0);
      unreported = 0;
    }
    await writer.flush();
    progress.advance(unreported, 'all', 0);
    await restoreUnits(linesOf(folder, namesOf('units')), store);
    for await (const line of linesOf(folder, namesOf('devices'))) {
      signal.throwIfAborted();
      const device = tableOf(line, 'a device', ['name']) as unknown as Device;
      await placed(line, () => store.devices.put(device));
    }
  };
  await patiently(attempt, signal, (line) => progress.line(line));
  return writer.refused === 0 ? null : `it refused ${writer.refused} readings: ${writer.reasons[0]}`;
}

async function restoreUnits(lines: AsyncIterable<Line>, store: Store): Promise<void> {
  let units: SeriesUnit[] = [];
  let last: Line | null = null;
  const flush = async () => {
    if (last !== null) await placed(last, () => store.readings.setUnits(units));
    units = [];
  };
  for await (const line of lines) {
    units.push(tableOf(line, 'a unit', ['device', 'metric', 'unit']) as unknown as SeriesUnit);
    last = line;
    if (units.length === UNITS) await flush();
  }
  await flush();
}

/** @throws {ConfigError} when a line is not an object with these texts */
function tableOf(line: Line, what: string, texts: readonly string[]): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    throw damagedLine(line, 'not JSON');
  }
  if (isTable(value) && texts.every((name) => typeof value[name] === 'string')) return value;
  throw damagedLine(line, `not ${what}`);
}

/** Adds the place of a line to the reason why the store refuses it. */
async function placed({ file, number }: Line, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (error instanceof StoreError && error.code !== 'REJECTED') throw error;
    throw new ConfigError([`${file}, line ${number}: ${(error as Error).message}`]);
  }
}
