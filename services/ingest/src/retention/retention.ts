import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { type DeleteQuery, isDamaged, type Pace, type Store, StoreError } from '@tidegauge/storage';
import { belowLimit, type Limits } from './limits.ts';
import { PERIODS, type RetentionRules, ruleOf, scopesOf } from './rules.ts';

/** How long a lease is taken or renewed. A run renews it when half of it is over. */
const LEASE_MS = 300_000;
/** A run works a quarter of the time at most, so that writes find the store free. */
const REST_SHARE = 3;
const MAX_REST_MS = 2000;
const MAX_METRICS = 1000;
/**
 * How long readings stay because they are not in rollups yet, milliseconds. A sensor whose clock is years behind changes an
 * old hour all the time, and must not keep what others sent. An import of a history takes less than a day.
 */
const MOST_WAIT_MS = 24 * 3_600_000;
/** The same while the data is too large. */
const MOST_WAIT_FOR_SPACE_MS = 3_600_000;
/** Hours that began later are in rollups soon, so their readings stay longer than that. Microseconds. */
const RECENT_US = 3 * 3_600_000_000;
/** The first run begins this long after the start, at random up to twice it, so that replicas do not start together. */
const FIRST_MS = 30_000;

/** Why readings were deleted. */
export const REASONS = ['age', 'size', 'disk'] as const;
export type Reason = (typeof REASONS)[number];

export interface RetentionOptions {
  readonly store: Store;
  /** The rules now. */
  readonly rules: () => RetentionRules;
  readonly limits: Limits;
  /** This process among the replicas. */
  readonly holder: string;
  readonly everyMs: number;
  /** Readings stay until they are in rollups, on stores that keep them: ingest computes them. */
  readonly waitsForRollups: boolean;
  /** The present time, microseconds since the epoch. Default: that of the system clock. */
  readonly clock?: () => number;
  readonly logger: Logger;
}

/** What the last run did. */
export interface LastRun {
  /** Microseconds. */
  readonly started: number;
  readonly seconds: number;
  readonly result: Result;
  /** Readings, or null if the store did not count all of them. */
  readonly deleted: number | null;
}

export const RESULTS = ['done', 'elsewhere', 'failed'] as const;
/** `elsewhere`: another replica has the lease. */
export type Result = (typeof RESULTS)[number];

/**
 * Deletes readings that are older than their rule allows, and the oldest readings while the store is larger or its disk
 * is fuller than the limits allow. One replica at a time does it, in small parts with rests between them. A run that
 * ends early is continued by the next one: each run begins with the oldest readings.
 */
export class Retention {
  readonly deleted: Record<Reason, number> = { age: 0, size: 0, disk: 0 };
  readonly runs: Record<Result, number> = { done: 0, elsewhere: 0, failed: 0 };
  last: LastRun | null = null;
  /** When runs began to leave readings because of their rollups, by `performance.now()`. */
  #waitingSince: number | null = null;
  readonly #options: RetentionOptions;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Readings deleted since the start, as far as the store counts them. */
  get total(): number {
    return this.deleted.age + this.deleted.size + this.deleted.disk;
  }

  /** Runs now and then until `stop`, unless it does already. */
  start(): void {
    if (this.#timer !== null || this.#stop.signal.aborted) return;
    this.#schedule(Math.min(FIRST_MS, this.#options.everyMs) * (1 + Math.random()));
  }

  /** Ends a run after its present part. */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.run().then(() => {
        if (!this.#stop.signal.aborted) this.#schedule(this.#options.everyMs);
      });
    }, ms).unref();
  }

  /** Applies the rules and limits once. Does not reject. */
  async run(): Promise<LastRun> {
    const { logger, clock = now } = this.#options;
    const [started, begun] = [clock(), performance.now()];
    const waitedMs = begun - (this.#waitingSince ?? begun);
    const run = new Run(this.#options, this.#stop.signal, waitedMs, (reason, rows) => {
      this.deleted[reason] += rows;
    });
    let result: Result = 'done';
    try {
      if (!(await run.begin())) result = 'elsewhere';
      else await run.all(started);
    } catch (error) {
      result = 'failed';
      if (!this.#stop.signal.aborted)
        logger.error({ err: error }, 'retention failed, and continues with the next run');
    }
    if (run.isWaiting) {
      this.#waitingSince ??= begun;
      const level = waitedMs < MOST_WAIT_FOR_SPACE_MS ? 'info' : 'warn';
      logger[level]({ waitedMs }, 'readings that retention should delete are not in rollups');
    } else if (result === 'done') this.#waitingSince = null;
    const seconds = (performance.now() - begun) / 1000;
    this.runs[result]++;
    this.last = { started, seconds, result, deleted: run.deleted };
    if (run.deleted !== 0) logger.info(this.last, 'retention deleted readings');
    return this.last;
  }
}

class Run {
  /** Null when the store did not count a part. */
  deleted: number | null = 0;
  /** Readings that should go are not in rollups yet. */
  isWaiting = false;
  readonly #options: RetentionOptions;
  readonly #signal: AbortSignal;
  readonly #waitedMs: number;
  readonly #count: (reason: Reason, rows: number) => void;
  #renewed = 0;
  /** The last error of a series of which a part is damaged. The others are deleted nevertheless. */
  #damage: StoreError | null = null;
  /** The time of the run, and the time before which all readings are in rollups, microseconds. */
  #time = 0;
  #rolledUp = 0;

  /** @param waitedMs how long runs have left readings because of their rollups */
  constructor(
    options: RetentionOptions,
    signal: AbortSignal,
    waitedMs: number,
    count: (reason: Reason, rows: number) => void,
  ) {
    this.#options = options;
    this.#signal = signal;
    this.#waitedMs = waitedMs;
    this.#count = count;
  }

  /** Takes or renews the lease. */
  begin(): Promise<boolean> {
    this.#renewed = performance.now();
    return this.#options.store.lease('retention', this.#options.holder, LEASE_MS);
  }

  /** @param time now, microseconds */
  async all(time: number): Promise<void> {
    this.#time = time;
    this.#rolledUp = await this.#endOfRollups(time);
    const rules = this.#options.rules();
    if (rules.longest !== Number.POSITIVE_INFINITY) await this.#expire(this.#olderThan(rules.longest), 'age');
    if (!rules.isUniform) await this.#byRule(rules);
    await this.#rollups(rules);
    await this.#byLimits();
    if (this.#damage !== null) throw this.#damage;
  }

  /** The time before which readings of this age (microseconds) can be deleted. */
  #olderThan(age: number): number {
    return this.#deletable(this.#time - age, MOST_WAIT_MS);
  }

  /** The time up to `before` before which readings can be deleted: they are in rollups, or have waited for long. */
  #deletable(before: number, mostWaitMs: number): number {
    const late = Math.min(before, this.#time - RECENT_US);
    if (late <= this.#rolledUp) return Math.min(before, this.#rolledUp);
    this.isWaiting = true;
    return this.#waitedMs < mostWaitMs ? this.#rolledUp : late;
  }

  /** Deletes what is older in all series, with the fastest way of the engine. */
  async #expire(before: number, reason: Reason): Promise<void> {
    const deleted = await this.#options.store.readings.expire(before, this.#pace(reason));
    if (deleted === null) this.deleted = null;
  }

  /** The time before which all readings are in rollups, if this process computes rollups. Otherwise the present time. */
  async #endOfRollups(time: number): Promise<number> {
    const { store, waitsForRollups } = this.#options;
    if (!waitsForRollups || !store.capabilities.rollups) return time;
    const { oldestHour } = await store.rollups.status();
    return Math.min(time, oldestHour ?? time);
  }

  async #byRule(rules: RetentionRules): Promise<void> {
    const { readings } = this.#options.store;
    await this.#limitRaw(rules);
    for await (const device of readings.devices()) {
      const ofDevice = rules.ofDevice(device);
      const [first] = ofDevice;
      if (ofDevice.length === 1) {
        if (first!.raw < rules.longest) await this.#delete({ device, to: this.#olderThan(first!.raw) });
        continue;
      }
      for (const metric of await readings.metrics(device, MAX_METRICS)) {
        const { raw } = ruleOf(ofDevice, metric);
        if (raw < rules.longest) await this.#delete({ device, metric, to: this.#olderThan(raw) });
      }
    }
  }

  async #delete(query: DeleteQuery): Promise<void> {
    try {
      await this.#options.store.readings.delete({ ...query, keepRollups: true }, this.#pace('age'));
    } catch (error) {
      if (!isDamaged(error)) throw error;
      this.#damage = error;
    }
  }

  /** Rollups stay as they are from now on where the readings of a rule are deleted. */
  async #limitRaw({ rules }: RetentionRules): Promise<void> {
    const { capabilities, rollups } = this.#options.store;
    if (!capabilities.rollups) return;
    for (const rule of rules) {
      if (rule.raw === Number.POSITIVE_INFINITY) continue;
      for (const scope of scopesOf(rule)) await rollups.limitRaw(this.#olderThan(rule.raw), scope);
    }
  }

  async #rollups({ rules }: RetentionRules): Promise<void> {
    const { capabilities, rollups } = this.#options.store;
    if (!capabilities.rollups) return;
    for (const rule of rules) {
      for (const period of PERIODS) {
        if (rule[period] === Number.POSITIVE_INFINITY) continue;
        for (const scope of scopesOf(rule)) {
          await rollups.expire(period, this.#time - rule[period], scope);
          await this.#pace('age')(0);
        }
      }
    }
  }

  /** Deletes the oldest readings, some time of them at once, until the store is within the limits. */
  async #byLimits(): Promise<void> {
    const { store, limits, logger } = this.#options;
    for await (const { before, reason, isEnough } of belowLimit(store, limits, this.#time)) {
      if (!isEnough) {
        logger.error(
          { reason },
          'retention cannot free enough space: only readings of the last hour are left',
        );
        return;
      }
      const to = this.#deletable(before, MOST_WAIT_FOR_SPACE_MS);
      await this.#expire(to, reason);
      if (to < before) return;
    }
  }

  /** Counts a part, then rests three times as long as it took, and renews the lease in time. */
  #pace(reason: Reason): Pace {
    let began = performance.now();
    return async (rows) => {
      if (rows === null) this.deleted = null;
      else {
        this.#count(reason, rows);
        if (this.deleted !== null) this.deleted += rows;
      }
      const took = performance.now() - began;
      if (rows !== 0) await sleep(Math.min(REST_SHARE * took, MAX_REST_MS), null, { ref: false });
      if (this.#signal.aborted) throw new StoreError('CLOSED', 'retention is stopping');
      if (performance.now() - this.#renewed > LEASE_MS / 2 && !(await this.begin()))
        throw new StoreError('CLOSED', 'another replica continues retention');
      began = performance.now();
    };
  }
}
