import { type Stats, statSync } from 'node:fs';
import { ConfigError, fileVersion, type Logger, poll, readSettingFile } from '@tidegauge/service';

const POLL_MS = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
const OTHER_WRITERS = 0o022;

/**
 * A file whose changes are used within a second. A file that cannot be used keeps its last good content, and the log has
 * the reason.
 */
export class WatchedFile<T> {
  readonly #path: string;
  readonly #variable: string;
  readonly #parse: (text: string, file: string) => T;
  readonly #logger: Logger;
  readonly #endPoll: () => void;
  #version = '';
  #complaint = '';
  #content: T;

  /**
   * @param variable the setting that names the file, for messages
   * @throws {ConfigError} when the file cannot be used
   */
  constructor(variable: string, path: string, parse: (text: string, file: string) => T, logger: Logger) {
    this.#variable = variable;
    this.#path = path;
    this.#parse = parse;
    this.#logger = logger;
    this.#content = this.#read();
    this.#endPoll = poll(() => this.#look(), POLL_MS);
  }

  /** The same object until the file changes. */
  get content(): T {
    return this.#content;
  }

  close(): void {
    this.#endPoll();
  }

  #look(): void {
    if (fileVersion(this.#path) === this.#version) return;
    try {
      this.#content = this.#read();
      this.#complaint = '';
      this.#logger.info({ file: this.#path }, 'file read again');
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#complaint)
        this.#logger.error({ reason: message }, 'the changed file cannot be used');
      this.#complaint = message;
    }
  }

  #read(): T {
    const version = fileVersion(this.#path);
    const problem = problemOf(statSync(this.#path, { throwIfNoEntry: false }), this.#path);
    if (problem !== null) throw new ConfigError([`${this.#variable} names ${this.#path}, which ${problem}`]);
    const content = this.#parse(readSettingFile(this.#variable, this.#path).toString(), this.#path);
    this.#version = version;
    return content;
  }
}

/** Why a file that decides who may log in is not read; null when it can be, or does not exist. */
function problemOf(stats: Stats | undefined, path: string): string | null {
  if (stats === undefined) return null;
  // A read of a pipe could wait for ever.
  if (!stats.isFile()) return 'is not a file';
  if (stats.size > MAX_BYTES) return 'is larger than 16 MiB';
  return (stats.mode & OTHER_WRITERS) === 0
    ? null
    : `can be changed by other users of this machine: chmod go-w ${path}`;
}
