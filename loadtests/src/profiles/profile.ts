import type { Config, Schema } from '@tidegauge/service';
import type { Plan } from '../operations/plan.ts';
import type { Summary } from '../results/summary.ts';
import type { Closers } from '../targets/closers.ts';
import type { CommonConfig } from './settings.ts';

/** What a profile is given to prepare with. */
export interface Preparation {
  readonly closers: Closers;
  readonly signal: AbortSignal;
  /** A line to the person who waits. */
  readonly say: (line: string) => void;
}

/** A plan without what is the same for all profiles, and what is left to do when it has been run. */
export interface Prepared extends Pick<Plan, 'parts' | 'api' | 'broker'> {
  /** Does without k6. */
  readonly drive?: () => Promise<Summary>;
  /** Checks what the run has left behind. */
  readonly verify?: (summary: Summary) => Promise<Pick<Summary, 'facts' | 'failures'>>;
}

/** One kind of load test: `npm run loadtest -- NAME`. */
export interface Profile<S extends Schema, T = unknown> {
  readonly summary: string;
  readonly settings: S;
  /** The script in loadtests/k6. */
  readonly script: string;
  /** Takes `-p name=value`. */
  readonly takesProperties: boolean;
  /**
   * Finds every mistake that can be found before anything is started.
   * @throws {ConfigError | WorkloadError}
   */
  check(config: Config<S> & CommonConfig, properties: Readonly<Record<string, string>>): T;
  /** Starts what is missing and fills it; resolves to what k6 is to do, or null when that was all. */
  prepare(config: Config<S> & CommonConfig, checked: T, preparation: Preparation): Promise<Prepared | null>;
}
