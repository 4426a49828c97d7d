import { ConfigError, fileVersion, type Logger, poll } from '@tidegauge/service';
import type { AlertRule } from './rule.ts';

const POLL_MS = 2000;

/** Uses a changed file of alert rules without a restart. A file with a mistake changes nothing. */
export class RulesReloader {
  /** Files that were used, and files that were refused, since the start. */
  readonly counts = { used: 0, refused: 0 };
  readonly #file: string;
  readonly #load: (file: string) => readonly AlertRule[];
  readonly #use: (rules: readonly AlertRule[]) => void;
  readonly #logger: Logger;
  #version: string;
  #trouble: string | null = null;
  #endPoll = () => {};

  /**
   * @param load reads the rules of the file; may throw a ConfigError
   * @param use uses the rules of a changed file; must not throw
   */
  constructor(
    file: string,
    load: (file: string) => readonly AlertRule[],
    use: (rules: readonly AlertRule[]) => void,
    logger: Logger,
  ) {
    this.#file = file;
    this.#load = load;
    this.#use = use;
    this.#logger = logger;
    this.#version = fileVersion(file);
  }

  /** Why the rules in use are not those of the file; null when they are. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** `trouble` without the content of the file, for answers that need no login; null without trouble. */
  get warning(): string | null {
    return this.#trouble === null
      ? null
      : 'the alert rules in use are not those of their file: the log has the reason';
  }

  watch(pollMs = POLL_MS): void {
    this.#endPoll = poll(() => this.#look(), pollMs);
  }

  stop(): void {
    this.#endPoll();
  }

  #look(): void {
    const version = fileVersion(this.#file);
    if (version === this.#version) return;
    this.#version = version;
    try {
      const rules = this.#load(this.#file);
      this.#use(rules);
      this.counts.used++;
      this.#trouble = null;
      this.#logger.info({ file: this.#file, rules: rules.length }, 'alert rules reloaded');
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.counts.refused++;
      this.#trouble = error.message;
      this.#logger.error(
        { file: this.#file, problems: error.problems },
        'the file of alert rules has mistakes: the old rules stay in use',
      );
    }
  }
}
