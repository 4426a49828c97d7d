import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { type Pace, type Store, StoreError } from '@tidegauge/storage';
import { belowLimit, type Limits } from './limits.ts';
import { PERIODS, type RetentionRules, ruleOf, scopesOf } from './rules.ts';

/** How long a lease is taken or renewed. A run renews it when half of it is over. */
const LEASE_MS = 300_000;
/** A run works a quarter of the time at most, so that writes find the store free. */
const REST_SHARE = 3;
const MAX_REST_MS = 2000;
const MAX_METRICS = 1000;
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
    const { logger } = this.#options;
    const [started, clock] = [now(), performance.now()];
    const run = new Run(this.#options, this.#stop.signal, (reason, rows) => {
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
    const seconds = (performance.now() - clock) / 1000;
    this.runs[result]++;
    this.last = { started, seconds, result, deleted: run.deleted };
    if (run.deleted !== 0) logger.info(this.last, 'retention deleted readings');
    return this.last;
  }
}

class Run {
  /** Null when the store did not count a part. */
  deleted: number | null = 0;
  readonly #options: RetentionOptions;
  readonly #signal: AbortSignal;
  readonly #count: (reason: Reason, rows: number) => void;
  #renewed = 0;

  constructor(options: RetentionOptions, signal: AbortSignal, count: (reason: Reason, rows: number) => void) {
    this.#options = options;
    this.#signal = signal;
    this.#count = count;
  }

  /** Takes or renews the lease. */
  begin(): Promise<boolean> {
    this.#renewed = performance.now();
    return this.#options.store.lease('retention', this.#options.holder, LEASE_MS);
  }

  async all(time: number): Promise<void> {
    const rules = this.#options.rules();
    const end = await this.#rolledUp(time);
    if (rules.longest !== Number.POSITIVE_INFINITY)
      await this.#expire(Math.min(time - rules.longest, end), 'age');
    if (!rules.isUniform) await this.#byRule(rules, time, end);
    await this.#rollups(rules, time);
    await this.#byLimits(time);
  }

  /** Deletes what is older in all series, with the fastest way of the engine. */
  async #expire(before: number, reason: Reason): Promise<void> {
    const deleted = await this.#options.store.readings.expire(before, this.#pace(reason));
    if (deleted === null) this.deleted = null;
  }

  /** The time before which all readings are in rollups, if this process computes rollups. Otherwise the present time. */
  async #rolledUp(time: number): Promise<number> {
    const { store, waitsForRollups } = this.#options;
    if (!waitsForRollups || !store.capabilities.rollups) return time;
    const { oldestHour } = await store.rollups.status();
    return Math.min(time, oldestHour ?? time);
  }

  /** @param end no reading from this time on is deleted, microseconds */
  async #byRule(rules: RetentionRules, time: number, end: number): Promise<void> {
    const { readings } = this.#options.store;
    await this.#limitRaw(rules, time, end);
    for await (const device of readings.devices()) {
      const ofDevice = rules.ofDevice(device);
      const [first] = ofDevice;
      if (ofDevice.length === 1) {
        if (first!.raw < rules.longest)
          await readings.delete(
            { device, to: Math.min(time - first!.raw, end), keepRollups: true },
            this.#pace('age'),
          );
        continue;
      }
      for (const metric of await readings.metrics(device, MAX_METRICS)) {
        const { raw } = ruleOf(ofDevice, metric);
        if (raw < rules.longest)
          await readings.delete(
            { device, metric, to: Math.min(time - raw, end), keepRollups: true },
            this.#pace('age'),
          );
      }
    }
  }

  /** Rollups stay as they are from now on where the readings of a rule are deleted. */
  async #limitRaw({ rules }: RetentionRules, time: number, end: number): Promise<void> {
    const { capabilities, rollups } = this.#options.store;
    if (!capabilities.rollups) return;
    for (const rule of rules) {
      if (rule.raw === Number.POSITIVE_INFINITY) continue;
      for (const scope of scopesOf(rule)) await rollups.limitRaw(Math.min(time - rule.raw, end), scope);
    }
  }

  async #rollups({ rules }: RetentionRules, time: number): Promise<void> {
    const { capabilities, rollups } = this.#options.store;
    if (!capabilities.rollups) return;
    for (const rule of rules) {
      for (const period of PERIODS) {
        if (rule[period] === Number.POSITIVE_INFINITY) continue;
        for (const scope of scopesOf(rule)) {
          await rollups.expire(period, time - rule[period], scope);
          await this.#pace('age')(0);
        }
      }
    }
  }

  /** Deletes the oldest readings, some time of them at once, until the store is within the limits. */
  async #byLimits(time: number): Promise<void> {
    const { store, limits, logger } = this.#options;
    for await (const { before, reason, isEnough } of belowLimit(store, limits, time)) {
      if (isEnough) {
        await this.#expire(before, reason);
        continue;
      }
      logger.error({ reason }, 'retention cannot free enough space: only readings of the last hour are left');
      return;
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
