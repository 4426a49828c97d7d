import { readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { RequestHandler, Response } from 'express';

/** Pictures and fonts are compressed already. */
const TEXT = /\.(css|html|js|svg)$/;
const compress = promisify(gzip);

interface Gzipped {
  /** Size and time of change of the file that was compressed. */
  readonly version: string;
  readonly body: Promise<Buffer>;
}

/**
 * Answers requests for text files of a directory with gzip, for clients that accept it; others go to the next handler.
 * Each file is compressed once and kept, so that requests for a page cost a board no compression. The names bound the
 * memory: the pages and Swagger UI take about 0.6 MB.
 *
 * @param names the files that can be requested
 * @param setHeaders sets further headers of an answer
 */
export function gzippedFiles(
  directory: string,
  names: readonly string[],
  setHeaders: (response: Response) => void,
): RequestHandler {
  const files = new Set(names.filter((name) => TEXT.test(name)).map((name) => `/${name}`));
  const known = new Map<string, Gzipped>();

  async function gzipped(path: string): Promise<Gzipped> {
    const file = join(directory, path);
    const { size, mtimeMs } = await stat(file);
    const version = `${size.toString(36)}-${mtimeMs.toString(36)}`;
    const before = known.get(path);
    if (before?.version === version) return before;
    const body = readFile(file).then((bytes) => compress(bytes, { level: constants.Z_BEST_COMPRESSION }));
    const entry = { version, body };
    known.set(path, entry);
    // A failure is not kept. The request that waits for it reports it.
    body.catch(() => known.delete(path));
    return entry;
  }

  return async (request, response, next) => {
    const path = request.path === '/' ? '/index.html' : request.path;
    if (!files.has(path) || !['GET', 'HEAD'].includes(request.method)) return next();
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings('gzip', 'identity') !== 'gzip' || request.headers.range !== undefined)
      return next();
    const { version, body } = await gzipped(path);
    setHeaders(response);
    response.type(extname(path));
    response.set({ 'Content-Encoding': 'gzip', ETag: `"${version}-gzip"` });
    response.send(await body);
  };
}
