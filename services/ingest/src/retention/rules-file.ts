import { ConfigError, fileVersion, type Logger, poll } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { checkRollups } from './limits.ts';
import { type Keep, loadRules, RetentionRules } from './rules.ts';

const POLL_MS = 2000;

/** The rules of RETENTION and of the rules file, which is read again when it changes. */
export class RulesFile {
  /** Files that were used, and files that were refused, since the start. */
  readonly counts = { used: 0, refused: 0 };
  readonly #file: string | null;
  readonly #last: Keep | null;
  readonly #store: Pick<Store, 'name' | 'capabilities'>;
  readonly #logger: Logger;
  readonly #endPoll: () => void = () => {};
  #version = '';
  #rules: RetentionRules;
  #trouble: string | null = null;

  /** @throws {ConfigError} when the file has mistakes */
  constructor(
    file: string | null,
    last: Keep | null,
    store: Pick<Store, 'name' | 'capabilities'>,
    logger: Logger,
    pollMs = POLL_MS,
  ) {
    this.#file = file;
    this.#last = last;
    this.#store = store;
    this.#logger = logger;
    this.#rules = this.#load();
    if (file !== null) this.#endPoll = poll(() => this.#look(), pollMs);
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
    return this.#file !== null || this.#last !== null;
  }

  close(): void {
    this.#endPoll();
  }

  #load(): RetentionRules {
    if (this.#file !== null) this.#version = fileVersion(this.#file);
    const rules = new RetentionRules(this.#file === null ? [] : loadRules(this.#file), this.#last);
    checkRollups(this.#store, rules);
    return rules;
  }

  #look(): void {
    const file = this.#file!;
    if (fileVersion(file) === this.#version) return;
    try {
      this.#rules = this.#load();
      this.counts.used++;
      this.#trouble = null;
      this.#logger.info({ file }, 'retention rules reloaded');
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.counts.refused++;
      this.#trouble = error.message;
      this.#logger.error(
        { file, problems: error.problems },
        'the file of retention rules has mistakes: the old rules stay in use',
      );
    }
  }
}
