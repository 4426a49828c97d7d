import { ConfigError, fileVersion, type Logger, poll } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { replaceFile } from '../routes-writer.ts';
import { checkRollups } from './limits.ts';
import { type Keep, loadRules, parseRules, RetentionRules, type Rule } from './rules.ts';

const POLL_MS = 2000;

export interface RulesFileOptions {
  readonly file: string;
  /** Whether a missing file is a mistake. Otherwise it has no rules. */
  readonly isRequired: boolean;
  /** What is kept of series that no rule of the file matches; null: everything. */
  readonly last: Keep | null;
  readonly store: Pick<Store, 'name' | 'capabilities'>;
  readonly logger: Logger;
  readonly pollMs?: number;
}

/** The rules of RETENTION and of the rules file, which is read again when it changes. */
export class RulesFile {
  /** Files that were used, and files that were refused, since the start. */
  readonly counts = { used: 0, refused: 0 };
  readonly #options: RulesFileOptions;
  readonly #endPoll: () => void;
  #version = '';
  #rules: RetentionRules;
  #trouble: string | null = null;
  #use = () => {};

  /** @throws {ConfigError} when the file has mistakes */
  constructor(options: RulesFileOptions) {
    this.#options = options;
    this.#rules = this.#load();
    this.#endPoll = poll(() => this.refresh(), options.pollMs ?? POLL_MS);
  }

  get rules(): RetentionRules {
    return this.#rules;
  }

  /** Why the rules in use are not those of the file; null when they are. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** `trouble` without the content of the file, for answers that need no login. */
  get warning(): string | null {
    return this.#trouble === null
      ? null
      : 'the retention rules in use are not those of the file: the log has the reason';
  }

  /** Whether there is a rule. */
  get isUsed(): boolean {
    return this.#rules.rules.length > 1 || this.#options.last !== null;
  }

  /** @param use called after the rules have changed; must not throw */
  onChange(use: () => void): void {
    this.#use = use;
  }

  close(): void {
    this.#endPoll();
  }

  /**
   * The rules that a file with these entries would make.
   *
   * @throws {ConfigError} with the place of each mistake
   */
  compile(entries: readonly unknown[]): RetentionRules {
    return this.#compiled(parseRules(textOf(entries), this.#options.file));
  }

  /**
   * Replaces the file, and uses its rules. Comments of the file are not kept.
   *
   * @throws {ConfigError} when an entry has a mistake; nothing is changed then
   * @throws {FileNotReplaced} when the file cannot be written
   */
  async replace(entries: readonly unknown[]): Promise<void> {
    const { file } = this.#options;
    this.compile(entries);
    await replaceFile(file, textOf(entries), 'the file of retention rules');
    this.refresh();
  }

  #load(): RetentionRules {
    const { file, isRequired } = this.#options;
    this.#version = fileVersion(file);
    return this.#compiled(loadRules(file, isRequired));
  }

  #compiled(list: readonly Rule[]): RetentionRules {
    const rules = new RetentionRules(list, this.#options.last);
    checkRollups(this.#options.store, rules);
    return rules;
  }

  /** Uses the rules of a file that has changed. */
  refresh(): void {
    const { file, logger } = this.#options;
    if (fileVersion(file) === this.#version) return;
    try {
      this.#rules = this.#load();
      this.counts.used++;
      this.#trouble = null;
      logger.info({ file }, 'retention rules reloaded');
      this.#use();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.counts.refused++;
      this.#trouble = error.message;
      logger.error(
        { file, problems: error.problems },
        'the file of retention rules has mistakes: the old rules stay in use',
      );
    }
  }
}

/** An entry a line, as YAML. */
function textOf(entries: readonly unknown[]): string {
  return entries.length === 0 ? '[]\n' : entries.map((entry) => `- ${JSON.stringify(entry)}\n`).join('');
}
