import type { Config, Schema } from '@tidegauge/service';
import type { Plan } from '../operations/plan.ts';
import type { Summary } from '../results/summary.ts';
import type { Closers } from '../targets/closers.ts';
import type { CommonConfig } from './settings.ts';

/** The arguments of `Profile.prepare`. */
export interface Preparation {
  readonly closers: Closers;
  readonly signal: AbortSignal;
  /** Shows a line to the user. */
  readonly say: (line: string) => void;
}

/** The part of a plan that a profile defines, and the steps that the profile runs itself. */
export interface Prepared extends Pick<Plan, 'parts' | 'api' | 'broker'> {
  /** The script in loadtests/k6, if it is not that of the profile. */
  readonly script?: string;
  /** Runs the operations without k6. After an abort it resolves to the figures so far. */
  readonly drive?: (signal: AbortSignal) => Promise<Summary>;
  /** Checks the result of the run, such as the stored readings. */
  readonly verify?: (summary: Summary) => Promise<Pick<Summary, 'facts' | 'failures'>>;
}

/** One kind of load test: `npm run loadtest -- NAME`. */
export interface Profile<S extends Schema, T = unknown> {
  readonly summary: string;
  readonly settings: S;
  /** The script in loadtests/k6. */
  readonly script: string;
  /** The names of the meters in the script. */
  readonly operations: readonly string[];
  /** The profile accepts `-p name=value`. */
  readonly takesProperties: boolean;
  /**
   * Checks the options before anything is started.
   * @throws {ConfigError | WorkloadError}
   */
  check(config: Config<S> & CommonConfig, properties: Readonly<Record<string, string>>): T;
  /** Starts the missing servers and loads the data. Resolves to the plan for k6, or null if there is nothing to run. */
  prepare(config: Config<S> & CommonConfig, checked: T, preparation: Preparation): Promise<Prepared | null>;
}
