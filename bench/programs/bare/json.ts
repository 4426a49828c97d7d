import { mkdir, open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseUrl } from '@tidegauge/storage';
import type { Bare } from './bare.ts';

/** Appends readings to one file. It has no index and cannot read. */
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
