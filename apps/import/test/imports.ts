import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Progress } from '@tidegauge/copy';
import { temporaryDirectory } from '@tidegauge/process';
import { formatTime, type Reading } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { type ImportResult, importReadings } from '../src/import-readings.ts';
import type { ImportSource } from '../src/import-source.ts';

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

const folder = temporaryDirectory('import');
process.once('exit', () => folder.remove());

/** A path in a folder that is removed at the end. */
export function pathOf(name: string): string {
  return `${folder.path}/${name}`;
}

/** Writes a file. @returns its path */
export function fileWith(name: string, content: string | Uint8Array): string {
  writeFileSync(pathOf(name), content);
  return pathOf(name);
}

/** Imports a source. A `signal` stops it. */
export async function imported(
  store: Store,
  open: (received: number) => ImportSource,
  signal = new AbortController().signal,
): Promise<ImportResult> {
  const progress = new Progress({ write: () => true }, 'import');
  try {
    return await importReadings(store, open, { signal, progress });
  } finally {
    progress.stop();
  }
}

/** All readings of a store, as `device metric time value`. */
export async function linesOf(store: Store): Promise<string[]> {
  return (await readingsOf(store)).map(
    ({ device, metric, time, value }) => `${device} ${metric} ${formatTime(time)} ${JSON.stringify(value)}`,
  );
}

export async function readingsOf(store: Store): Promise<Reading[]> {
  const found: Reading[] = [];
  for await (const device of store.readings.devices()) {
    for await (const reading of store.readings.range({ device, order: 'asc', limit: 100_000 }))
      found.push(reading);
  }
  return found;
}
