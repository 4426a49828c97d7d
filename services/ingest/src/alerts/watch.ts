import type { AlertRule, QuietCondition, RangeCondition } from './rule.ts';

/** The limit that a value violates, or no reading at all. */
export type AlertKind = 'above' | 'below' | 'quiet';

/** What a step of a watch does with its alert. */
export type Change = 'raise' | 'end' | null;

/**
 * How long ingest has received all readings before time alone raises an alert, microseconds. Messages that waited during
 * an interruption arrive first: the newest of them can be within the limits.
 */
const CATCH_UP = 10_000_000;

/** Newest readings of a device or of a series. */
export interface Clock {
  /** The time of the newest reading, microseconds since the epoch; 0 before the first. */
  newest: number;
}

/**
 * One rule applied to one series, or to one device. Its phases:
 *
 *     idle ──a value violates the rule──▶ pending ──for the time of the rule──▶ active
 *       ▲                                    │                                    │
 *       └──────── a value is well ───────────┴──── a value has returned (clear) ──┘
 *
 * A rule without a time, and one about silence, go from idle to active. The steps are pure: they change the watch only,
 * and all times are arguments, in microseconds since the epoch.
 */
export class Watch {
  readonly device: string;
  /** Null for a device as a whole. */
  readonly metric: string | null;
  readonly clock: Clock;
  rule: AlertRule;
  phase: 'idle' | 'pending' | 'active' = 'idle';
  /** The limit that is violated. */
  kind: AlertKind = 'quiet';
  /** The time of the first reading that violates the rule; of a quiet watch that of the last reading. */
  since = 0;
  /** The identifier of the alert; null without one, also when it was not listed because there were too many. */
  alert: string | null = null;

  constructor(rule: AlertRule, device: string, metric: string | null, clock: Clock) {
    this.rule = rule;
    this.device = device;
    this.metric = metric;
    this.clock = clock;
  }

  /** A newer value of the series, or another value of the same time. */
  value(condition: RangeCondition, time: number, value: number): Change {
    const kind = violated(condition, value, this.phase === 'active');
    if (kind === null) {
      const wasActive = this.phase === 'active';
      this.phase = 'idle';
      return wasActive ? 'end' : null;
    }
    if (this.phase === 'active') return null;
    if (this.phase === 'idle') {
      this.phase = 'pending';
      this.since = time;
    }
    this.kind = kind;
    return this.#raiseAfter(time - this.since, condition.holds);
  }

  /**
   * Time passes without a newer reading: the last value still holds, also during an interruption of ingest.
   *
   * @param from since when newer readings would have been received
   */
  hold({ holds }: RangeCondition, now: number, from: number): Change {
    if (this.phase !== 'pending' || now - from < Math.min(holds, CATCH_UP)) return null;
    return this.#raiseAfter(now - this.since, holds);
  }

  /**
   * An earlier value of a series whose newest value violates the rule.
   *
   * @returns whether it belongs to the violation, so that the one before it can too
   */
  extend(condition: RangeCondition, time: number, value: number): boolean {
    if (this.phase !== 'pending' || time > this.since) return false;
    if (violated(condition, value, false) === null) return false;
    this.since = time;
    return true;
  }

  /** A newer reading was received. */
  heard(condition: QuietCondition, now: number): Change {
    if (this.phase !== 'active' || now - this.clock.newest >= condition.quiet) return null;
    this.phase = 'idle';
    return 'end';
  }

  /**
   * Time passes.
   *
   * @param from since when a reading would have been received
   */
  silence(condition: QuietCondition, now: number, from: number): Change {
    if (this.phase === 'active' || now - Math.max(this.clock.newest, from) < condition.quiet) return null;
    this.phase = 'active';
    this.kind = 'quiet';
    this.since = this.clock.newest;
    return 'raise';
  }

  #raiseAfter(held: number, holds: number): Change {
    if (held < holds) return null;
    this.phase = 'active';
    return 'raise';
  }
}

/** The limit that a value violates. An active alert needs a value beyond `clear` to end (hysteresis). */
function violated(
  { above, below, clearAbove, clearBelow }: RangeCondition,
  value: number,
  isActive: boolean,
): AlertKind | null {
  const upper = isActive ? clearAbove : above;
  const lower = isActive ? clearBelow : below;
  if (upper !== null && value > upper) return 'above';
  return lower !== null && value < lower ? 'below' : null;
}
