import { mkdir, open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseUrl } from '@tidegauge/storage';
import type { Bare } from './bare.ts';

/** Appending to one file, which keeps what it is given and finds nothing again. */
export async function open(url: string): Promise<Bare> {
  const { path } = parseUrl(url);
  await mkdir(path, { recursive: true });
  const file = await openFile(`${join(path)}.bare`, 'a');
  return {
    async write(batch) {
      await file.appendFile(`${batch.map((reading) => JSON.stringify(reading)).join('\n')}\n`);
      await file.datasync();
    },
    close: () => file.close(),
  };
}
