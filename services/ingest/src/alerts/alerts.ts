import { firstLevelOf, now, type Reading } from '@tidegauge/readings';
import { inTurns, type Logger, removeOfMost } from '@tidegauge/service';
import { type Store, StoreError } from '@tidegauge/storage';
import { type Alert, AlertBook } from './book.ts';
import { Channel, type ChannelOptions, type Notice } from './channel.ts';
import { Evaluator, timeOf } from './evaluator.ts';
import type { Lease } from './lease.ts';
import { ReadingQueue } from './reading-queue.ts';
import { Receiving } from './receiving.ts';
import type { AlertRule } from './rule.ts';
import { AlertState, type KeptState } from './state.ts';
import type { Watch } from './watch.ts';

const TICK_MS = 1000;
/** Readings received up to this long before a moment without waiting readings count as evaluated, microseconds. */
const SETTLE = 60_000_000;
/** Without a kept state, stored values that were received earlier than this do not raise alerts, microseconds. */
const RECENT = 900_000_000;
/** How often the newest readings are read from the store: with several ingest processes, and alone. */
const SHARED_PASS_MS = 15_000;
const PASS_MS = 3_600_000;
/** How often running times of rules are kept, and how often the mark, milliseconds. */
const PENDING_MS = 60_000;
const MARK_MS = 300_000;
/** A running time of a rule is kept when it is longer than this, or has run for longer, microseconds. */
const LEAST_PENDING = SETTLE;
/** Messages that wait for the state to be kept, at most. Beyond it the client with the most loses its oldest. */
const MOST_UNKEPT = 4000;
/** Devices in one read of the store. */
const PAGE = 1000;
const AT_ONCE = 50;
/** Earlier readings of one series, and series in one pass, in which the beginning of a violation is looked for. */
const MOST_EARLIER = 10_000;
const MOST_TRACED = 1000;

export type AlertReceiver = Pick<ChannelOptions, 'name' | 'version' | 'send'>;

export interface AlertsOptions {
  readonly rules: readonly AlertRule[];
  readonly store: Store;
  readonly lease: Lease;
  readonly logger: Logger;
  /** Whether readings of all sensors are received and stored without delay. */
  readonly isReceiving: () => boolean;
  /** Receivers of messages about each alert. */
  readonly receivers?: readonly AlertReceiver[];
  readonly tickMs?: number;
}

/**
 * The alerts of one ingest process. Of all processes with one store, the one with the lease evaluates the rules: on
 * the readings that it stored itself, and on the newest readings in the store for those that others stored, and for
 * those that were missed. Its state is in the store, so the next holder of the lease continues it.
 */
export class Alerts {
  readonly book: AlertBook;
  readonly queue: ReadingQueue;
  readonly #options: AlertsOptions;
  readonly #state: AlertState;
  readonly #receiving: Receiving;
  #channels: readonly Channel[];
  #rules: readonly AlertRule[];
  #evaluator: Evaluator | null = null;
  /** Whether the state is loaded and the rules are applied. */
  #isEvaluating = false;
  /** Readings received until then were evaluated, microseconds. */
  #until = 0;
  #passDue = 0;
  #pendingDue = 0;
  #markDue = 0;
  #unwatched = 0;
  /** Messages about changes that are not kept yet. A message is sent after its alert is kept. */
  #unkept: Notice[] = [];
  #trouble: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #working: Promise<void> = Promise.resolve();
  #isBusy = false;
  #isStopping = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.#rules = options.rules;
    this.#channels = (options.receivers ?? []).map((receiver) => this.#newChannel(receiver));
    this.book = new AlertBook(this.channels.map(({ name }) => name));
    this.book.setRules(options.rules);
    this.#state = new AlertState(options.store, options.logger);
    this.#receiving = new Receiving(now(), performance.now());
    this.queue = new ReadingQueue({
      take: (reading) => this.#evaluator?.observe(reading, now()),
      onDropped: () => {
        this.#passDue = 0;
        options.logger.warn('too many readings wait for alert rules: the oldest were dropped');
      },
    });
  }

  /** Whether there are rules, or were since the start of the process. */
  get isConfigured(): boolean {
    return this.#timer !== null;
  }

  /** The queues of the receivers. */
  get channels(): readonly Channel[] {
    return this.#channels;
  }

  get rules(): readonly AlertRule[] {
    return this.#rules;
  }

  /** Whether this process evaluates the rules now. */
  get isEvaluating(): boolean {
    return this.#isEvaluating;
  }

  /** Why the state of alerts cannot be read or kept; null when it can. */
  get trouble(): string | null {
    return this.#trouble;
  }

  get series(): number {
    return this.#evaluator?.series ?? 0;
  }

  /** Approximate bytes of memory of series and waiting readings; bounded. */
  get bytes(): number {
    return (this.#evaluator?.bytes ?? 0) + this.queue.bytes;
  }

  /** Readings of series that were not watched, because there are too many. */
  get unwatched(): number {
    return this.#unwatched + (this.#evaluator?.unwatched ?? 0);
  }

  /** Takes readings that were stored and acknowledged. Returns at once. */
  push(readings: readonly Reading[]): void {
    if (this.#evaluator !== null && this.#rules.length > 0) this.queue.push(readings);
  }

  /** Begins to compete for the lease and to evaluate, unless it has begun. */
  start(): void {
    if (this.#timer !== null) return;
    this.#timer = setInterval(() => this.#tick(), this.#options.tickMs ?? TICK_MS).unref();
    this.#tick();
  }

  /** Keeps the state and releases the lease. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#isStopping = true;
    await this.#working;
    if (this.#isEvaluating) {
      this.#markDue = 0;
      await this.#save(performance.now()).catch((error) => this.#fail(error));
    }
    this.#resign();
    await this.#options.lease.release();
  }

  /** Uses other rules. */
  replace(rules: readonly AlertRule[]): void {
    this.#rules = rules;
    this.#evaluator?.replace(rules, now());
    this.book.setRules(rules);
    // Series of new rules get their newest values from the store.
    this.#passDue = 0;
    this.#until = Math.min(this.#until, now() - RECENT);
  }

  /** Uses other receivers. The messages to a receiver that stays the same are continued. */
  replaceReceivers(receivers: readonly AlertReceiver[]): void {
    const before = this.#channels;
    const same = ({ name, version }: AlertReceiver) =>
      before.find((channel) => channel.name === name && channel.version === version);
    this.#channels = receivers.map((receiver) => same(receiver) ?? this.#newChannel(receiver));
    for (const channel of before) if (!this.#channels.includes(channel)) channel.clear();
    for (const alert of this.book.setChannels(receivers.map(({ name }) => name))) this.#state.touch(alert);
    // A changed receiver gets the messages that the earlier one did not accept, as soon as they are kept.
    const fresh = this.#channels.filter((channel) => !before.includes(channel));
    const unkept = new Set(this.#unkept.map(({ alert, event }) => `${alert.id} ${event}`));
    for (const notice of dueOf([...this.book.all()])) {
      if (!unkept.has(`${notice.alert.id} ${notice.event}`)) this.#send(notice, fresh);
    }
  }

  #newChannel({ name, version, send }: AlertReceiver): Channel {
    const onDone = (notice: Notice) => this.#done(name, notice);
    return new Channel({ name, version, send, onDone, logger: this.#options.logger }, now);
  }

  #tick(): void {
    this.#receiving.tick(now(), performance.now(), this.#options.isReceiving());
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#working = this.#work()
      .then(
        () => {
          this.#trouble = null;
        },
        (error) => this.#fail(error),
      )
      .finally(() => {
        this.#isBusy = false;
      });
  }

  async #work(): Promise<void> {
    const holds = await this.#options.lease.renew();
    if (!holds) {
      this.#resign();
      return;
    }
    if (!this.#isEvaluating) await this.#begin();
    const elapsed = performance.now();
    if (elapsed >= this.#passDue) await this.#pass();
    const wall = now();
    // The times of readings that wait are not known yet.
    if (this.#options.isReceiving() && this.queue.bytes === 0) {
      this.#evaluator!.tick(wall, this.#receiving.since);
      if (!this.#options.lease.isShared) this.#until = Math.max(this.#until, wall - SETTLE);
    }
    await this.#save(elapsed);
  }

  /** Continues with the state in the store. Readings that arrive in the meantime wait. */
  async #begin(): Promise<void> {
    this.#evaluator ??= this.#newEvaluator();
    const kept = await this.#state.load();
    this.#restore(kept, this.#evaluator);
    this.#receiving.since = now();
    this.#isEvaluating = true;
    this.#passDue = 0;
    // The newest readings of the store can follow later: only the times of readings decide.
    this.queue.open(true);
    this.#options.logger.info(
      { rules: this.#rules.length, active: this.book.active },
      'this process evaluates the alert rules',
    );
  }

  #restore({ alerts, pending, until }: KeptState, evaluator: Evaluator): void {
    for (const notice of dueOf(alerts)) this.#send(notice);
    const gone = this.book.restore(alerts, now(), (alert) => {
      return evaluator.restore({ ...alert, newest: alert.since });
    });
    for (const alert of gone) this.#changed(alert, 'ended');
    for (const each of pending) evaluator.restorePending(each);
    this.#until = until ?? now() - RECENT;
  }

  #newEvaluator(): Evaluator {
    return new Evaluator(this.#rules, {
      raise: (watch, value, wall) => {
        const alert = this.book.raise(watch, value, wall);
        if (alert !== null) this.#changed(alert, 'raised');
        return alert?.id ?? null;
      },
      end: (watch, reason, wall) => {
        const alert = this.book.end(watch, reason, wall);
        if (alert !== null) this.#changed(alert, 'ended');
      },
    });
  }

  #changed(alert: Alert, event: Notice['event']): void {
    this.#state.touch(alert);
    if (this.channels.length > 0) this.#unkept.push({ alert, event });
    if (this.#unkept.length > MOST_UNKEPT)
      removeOfMost(this.#unkept, (notice) => firstLevelOf(notice.alert.device));
    for (const old of this.book.trim()) this.#state.touch(old);
  }

  /**
   * Reads the registered devices and their newest readings from the store. Values of readings that were received
   * before `until` were evaluated earlier. A stop ends it early: the next process reads them again.
   */
  async #pass(): Promise<void> {
    const { lease } = this.#options;
    const evaluator = this.#evaluator!;
    const begun = now();
    evaluator.beginPass();
    await this.#readNewest(evaluator);
    if (this.#isStopping) return;
    evaluator.endPass(now());
    const lone = [...evaluator.pending()].filter(({ since, clock }) => since === clock.newest);
    for (const watch of inTurns(lone, MOST_TRACED, ({ device }) => firstLevelOf(device))) {
      await this.#trace(watch);
      if (this.#isStopping) return;
    }
    // Readings that other processes store during the pass belong to the next one.
    if (lease.isShared) this.#until = begun - SETTLE;
    this.#passDue = performance.now() + (lease.isShared ? SHARED_PASS_MS : PASS_MS);
  }

  async #readNewest(evaluator: Evaluator): Promise<void> {
    const { devices } = this.#options.store;
    const until = this.#until;
    for (let after: string | undefined; ; ) {
      const page = await devices.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      const names = page.map(({ name }) => name).filter((name) => evaluator.concerns(name));
      for (const name of names) evaluator.found(name);
      for (let first = 0; first < names.length; first += AT_ONCE) {
        const readings = await this.#latest(names.slice(first, first + AT_ONCE));
        if (this.#isStopping) return;
        for (const reading of readings) evaluator.observe(reading, now(), reading.received > until);
      }
      after = page.at(-1)?.name;
      if (page.length < PAGE) return;
    }
  }

  /**
   * Finds the first value of a violation of which only the newest one is known: the others were stored before this
   * process evaluated the rule, or by another one.
   */
  async #trace(watch: Watch): Promise<void> {
    const { device, metric, since } = watch;
    const { condition } = watch.rule;
    if (condition.kind !== 'range') return;
    const query = { device, metric: metric!, to: since, order: 'desc', limit: MOST_EARLIER } as const;
    for await (const reading of this.#options.store.readings.range(query)) {
      if (typeof reading.value !== 'number') continue;
      if (!watch.extend(condition, timeOf(reading), reading.value)) return;
      if (now() - watch.since >= condition.holds) return;
    }
  }

  /** The newest readings of devices. A device with too many metrics for the store is left out. */
  async #latest(names: readonly string[]): Promise<readonly Reading[]> {
    const { store, logger } = this.#options;
    try {
      return await store.readings.latest(names);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'REJECTED')) throw error;
      if (names.length === 1) {
        logger.warn(
          { err: error, device: names[0] },
          'the newest readings of a device cannot be read for alerts',
        );
        return [];
      }
      const found: Reading[] = [];
      for (const name of names) found.push(...(await this.#latest([name])));
      return found;
    }
  }

  /** Keeps what changed. What was read from a slow store can be old: another process can have taken the lease meanwhile. */
  async #save(elapsed: number): Promise<void> {
    if (!(await this.#options.lease.renew())) {
      this.#resign();
      return;
    }
    const kept = new Set(this.#unkept);
    if (this.#state.isDirty) await this.#state.save(this.book.all());
    this.#unkept = this.#unkept.filter((notice) => !kept.has(notice));
    for (const notice of kept) this.#send(notice);
    // Values before the mark are not evaluated again, so the mark needs their running times.
    if (elapsed >= this.#pendingDue || elapsed >= this.#markDue) {
      await this.#state.savePending(this.#keptPending());
      this.#pendingDue = elapsed + PENDING_MS;
    }
    if (elapsed >= this.#markDue) {
      await this.#state.saveMark(this.#until);
      this.#markDue = elapsed + MARK_MS;
    }
  }

  /** Gives a message to the receivers that have not accepted it. */
  #send(notice: Notice, channels = this.#channels): void {
    for (const channel of channels) {
      if (notice.alert.due.includes(`${channel.name}:${notice.event}`)) channel.push(notice);
    }
  }

  /** A receiver accepted a message, or it was given up. */
  #done(channel: string, { alert, event }: Notice): void {
    const index = alert.due.indexOf(`${channel}:${event}`);
    if (index >= 0) alert.due.splice(index, 1);
    this.#state.touch(alert);
  }

  #keptPending() {
    const list = [];
    const settled = now() - LEAST_PENDING;
    for (const { rule, device, metric, kind, since } of this.#evaluator!.pending()) {
      // Time raises no alert until readings have been received for a while, however short the time of the rule is.
      if (rule.condition.kind !== 'range' || (rule.condition.holds < LEAST_PENDING && since > settled))
        continue;
      list.push({ rule: rule.name, device, metric, kind, since, newest: since });
    }
    return list;
  }

  /** Another process evaluates the rules, or this one ends. */
  #resign(): void {
    if (this.#evaluator === null) return;
    this.#unwatched += this.#evaluator.unwatched;
    this.#evaluator = null;
    this.#isEvaluating = false;
    this.queue.open(false);
    this.queue.clear();
    this.book.clear();
    this.#unkept = [];
    for (const channel of this.channels) channel.clear();
  }

  #fail(error: unknown): void {
    const { message } = error as Error;
    if (this.#trouble === null)
      this.#options.logger.error({ err: error }, 'the state of alerts cannot be read or kept, retrying');
    this.#trouble = message;
  }
}

/** The messages of kept alerts that were not accepted, in the order of their events. */
function dueOf(alerts: readonly Alert[]): readonly Notice[] {
  const notices: Notice[] = [];
  for (const alert of alerts) {
    for (const event of ['raised', 'ended'] as const) {
      if (alert.due.some((due) => due.endsWith(`:${event}`))) notices.push({ alert, event });
    }
  }
  const at = ({ alert, event }: Notice) => (event === 'raised' ? alert.raised : (alert.ended ?? 0));
  return notices.toSorted((a, b) => at(a) - at(b));
}
