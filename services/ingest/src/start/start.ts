import type { Config, Logger, Metrics } from '@tidegauge/service';
import type { settings } from '../settings.ts';

/** What each step of the start of ingest has. */
export interface Start {
  readonly config: Config<typeof settings>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What a stop does, last step first. */
  readonly undo: (() => unknown)[];
  /** Called once when readings can no longer be stored without an operator. */
  readonly onBroken: (error: unknown) => void;
}
