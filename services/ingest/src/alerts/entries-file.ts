import { existsSync } from 'node:fs';
import { ConfigError, fileVersion, type Logger, poll } from '@tidegauge/service';
import { type NamedEntry, putEntry, readBounded, removeEntry } from '@tidegauge/yaml-file';
import { FileNotReplaced, replaceFile } from '../routes-writer.ts';

const POLL_MS = 2000;

export interface EntriesFileOptions<T> {
  readonly file: string;
  /** What the entries are, such as `alert rules`. */
  readonly what: string;
  /** Whether a missing file is a mistake. Otherwise it has no entries. */
  readonly isRequired: boolean;
  /** The entries of the text of the file. @throws {ConfigError} */
  readonly parse: (text: string, file: string) => readonly T[];
  readonly logger: Logger;
}

/**
 * A file with a list of entries, YAML or JSON, which people and this process change. A changed file is used without a
 * restart. A file with a mistake changes nothing.
 */
export class EntriesFile<T extends NamedEntry> {
  /** Files that were used, and files that were refused, since the start. */
  readonly counts = { used: 0, refused: 0 };
  readonly #options: EntriesFileOptions<T>;
  #entries: readonly T[];
  #use: (entries: readonly T[]) => void = () => {};
  #version: string;
  #trouble: string | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #endPoll = () => {};

  /** Reads the file. @throws {ConfigError} when it has a mistake */
  constructor(options: EntriesFileOptions<T>) {
    this.#options = options;
    this.#version = fileVersion(options.file);
    this.#entries = this.#read();
  }

  get exists(): boolean {
    return existsSync(this.#options.file);
  }

  /** The entries in use. */
  get entries(): readonly T[] {
    return this.#entries;
  }

  /** Why the entries in use are not those of the file; null when they are. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** `trouble` without the content of the file, for answers that need no login; null without trouble. */
  get warning(): string | null {
    const { what } = this.#options;
    return this.#trouble === null
      ? null
      : `the ${what} in use are not those of their file: the log has the reason`;
  }

  /** @param use uses the entries of a changed file; must not throw */
  watch(use: (entries: readonly T[]) => void, pollMs = POLL_MS): void {
    this.#use = use;
    this.#endPoll = poll(() => this.#look(), pollMs);
  }

  stop(): void {
    this.#endPoll();
  }

  /**
   * Adds an entry, or replaces the one of its name, and uses it.
   *
   * @param entry as it is in the file
   * @returns whether it replaced one
   * @throws {ConfigError} when the file has a mistake, or would have one; it is not changed then
   * @throws {FileNotReplaced} when the file cannot be written
   */
  put(entry: NamedEntry): Promise<boolean> {
    return this.#inTurn(async () => {
      const isKnown = this.#entries.some(({ name }) => name === entry.name);
      await this.#change((text) => putEntry(text, this.#options.file, entry));
      return isKnown;
    });
  }

  /** Removes the entry of a name. Resolves to whether there was one. @throws as `put` does */
  remove(name: string): Promise<boolean> {
    return this.#inTurn(() => this.#change((text) => removeEntry(text, this.#options.file, name)));
  }

  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }

  /** Returns whether the text has changed. */
  async #change(edit: (text: string) => string | null): Promise<boolean> {
    const { file, parse, what } = this.#options;
    const version = fileVersion(file);
    const text = this.#text();
    const changed = edit(text);
    if (changed !== null && changed !== text) {
      parse(changed, file);
      if (fileVersion(file) !== version)
        throw new FileNotReplaced(`${file} was changed at the same time: send the request again`);
      await replaceFile(file, changed, `the file of ${what}`);
    }
    this.#look();
    return changed !== null;
  }

  #text(): string {
    const { file, isRequired } = this.#options;
    return isRequired || existsSync(file) ? readBounded(file) : '';
  }

  #read(): readonly T[] {
    return this.#options.parse(this.#text(), this.#options.file);
  }

  #look(): void {
    const { file, what, logger } = this.#options;
    const version = fileVersion(file);
    if (version === this.#version) return;
    this.#version = version;
    try {
      this.#entries = this.#read();
      this.#use(this.#entries);
      this.counts.used++;
      this.#trouble = null;
      logger.info({ file, entries: this.#entries.length }, `${what} reloaded`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.counts.refused++;
      this.#trouble = error.message;
      logger.error(
        { file, problems: error.problems },
        `the file of ${what} has mistakes: the old ones stay in use`,
      );
    }
  }
}
