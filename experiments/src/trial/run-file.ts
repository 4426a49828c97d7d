import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { RUN_COLUMNS } from '../model.ts';

/** The fastest level: at higher ones, gzip takes longer than many short runs. */
const LEVEL = 1;

export interface RunFile {
  readonly rows: number;
  /** Of the compressed file, in hexadecimal digits. */
  readonly sha256: string;
}

/**
 * Writes the operations of a run as gzip CSV with the columns `RUN_COLUMNS`. The file is on disk under its name only
 * when it is complete.
 *
 * @param blocks text of whole lines, each with its line feed
 */
export async function writeRunFile(
  path: string,
  blocks: Iterable<string> | AsyncIterable<string>,
): Promise<RunFile> {
  const unfinished = `${path}.tmp`;
  const hash = createHash('sha256');
  let rows = 0;
  async function* text(): AsyncGenerator<string> {
    yield `${RUN_COLUMNS.join(',')}\n`;
    for await (const block of blocks) {
      for (let at = block.indexOf('\n'); at !== -1; at = block.indexOf('\n', at + 1)) rows += 1;
      yield block;
    }
  }
  const hashed = new PassThrough();
  hashed.on('data', (part: Buffer) => hash.update(part));
  try {
    await pipeline(
      Readable.from(text(), { highWaterMark: 1 }),
      createGzip({ level: LEVEL }),
      hashed,
      createWriteStream(unfinished),
    );
    const file = await open(unfinished, 'r+');
    await file.sync().finally(() => file.close());
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  return { rows, sha256: hash.digest('hex') };
}
