import type { BackendLogger } from '../context.ts';

const MAX_REMEMBERED = 10_000;

/** Counts invalid lines, and logs each of them once even if its file is read again. */
export class SkippedLines {
  readonly #logger: BackendLogger;
  readonly #seen = new Set<string>();

  constructor(logger: BackendLogger) {
    this.#logger = logger;
  }

  get count(): number {
    return this.#seen.size;
  }

  add(file: string, offset: number, length: number): void {
    const place = `${file}:${offset}`;
    if (this.#seen.has(place) || this.#seen.size >= MAX_REMEMBERED) return;
    this.#seen.add(place);
    this.#logger.warn({ file, offset, length }, 'skipped an invalid or incomplete line');
  }
}
