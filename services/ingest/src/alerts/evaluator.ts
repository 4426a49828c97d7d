import { ANNOTATION_METRIC, type Reading } from '@tidegauge/readings';
import { copyString } from '@tidegauge/text';
import { ByteCache } from '../byte-cache.ts';
import { DeviceShares } from '../device-shares.ts';
import { BOUNDS } from '../memory.ts';
import { type AlertRule, concernsDevice, concernsMetric, isOfDevice, isSameRule } from './rule.ts';
import { type AlertKind, type Change, type Clock, Watch } from './watch.ts';

const CLIENT_BYTES = 100;
const DEVICE_BYTES = 360;
const SERIES_BYTES = 180;
const WATCH_BYTES = 160;
/** Memory for the names of devices without rules. */
const OTHER_BYTES = 1024 * 1024;

/** A reading, as far as alerts need it. */
export type Observed = Pick<Reading, 'device' | 'metric' | 'time' | 'value' | 'received' | 'quality'>;

/** An alert that is kept, as far as its watch needs it. */
export interface KeptAlert {
  readonly id: string;
  readonly rule: string;
  readonly device: string;
  readonly metric: string | null;
  readonly kind: AlertKind;
  readonly since: number;
  /** The time of the newest reading when it was kept. */
  readonly newest: number;
}

/** A watch whose values violate its rule, but not for long enough yet. */
export type KeptPending = Omit<KeptAlert, 'id'>;

/** `removed`: its rule or its device was removed. */
export type EndReason = 'cleared' | 'removed';

export interface EvaluatorEvents {
  /** An alert begins. Returns its identifier, or null when it is not listed. */
  raise(watch: Watch, value: number | null, now: number): string | null;
  /** An alert ends. `watch.alert` is its identifier. */
  end(watch: Watch, reason: EndReason, now: number): void;
}

interface Series extends Clock {
  /** When the newest reading was received. */
  received: number;
  /** The newest number; null when there was none. */
  value: number | null;
  ranges: readonly Watch[];
  quiets: readonly Watch[];
}

interface Device extends Clock {
  quiets: readonly Watch[];
  /** Null for metrics without rules. */
  readonly metrics: Map<string, Series | null>;
  /** The last pass over the registered devices that found it, or in which a reading arrived. */
  pass: number;
}

/**
 * Applies rules to readings, in any order, and to the time. Only a reading that is at least as new as the newest one of
 * its series counts, of two with one time the one that was received last. The time of a reading is its own, but not later
 * than its reception, and that of its reception when the sensor has no clock.
 *
 * Memory is bounded in bytes, also of each client. Series beyond the bound are not watched, and their readings are counted.
 */
export class Evaluator {
  /** Readings of series that are not watched, because there are too many. */
  unwatched = 0;
  readonly #events: EvaluatorEvents;
  readonly #shares: DeviceShares;
  readonly #devices = new Map<string, Device>();
  /** Devices without rules, and (true) those that were not watched for want of memory. */
  #others = newOthers();
  readonly #quiets = new Set<Watch>();
  readonly #pending = new Set<Watch>();
  #rules: readonly AlertRule[];
  /** No quiet watch can raise an alert before this time. */
  #quietDue = 0;
  #from = 0;
  #series = 0;
  #pass = 0;

  constructor(rules: readonly AlertRule[], events: EvaluatorEvents, maxBytes = BOUNDS.alertStates) {
    this.#rules = rules;
    this.#events = events;
    this.#shares = new DeviceShares(maxBytes, (client) => CLIENT_BYTES + 2 * client.length);
  }

  get rules(): readonly AlertRule[] {
    return this.#rules;
  }

  /** Series with rules. */
  get series(): number {
    return this.#series;
  }

  /** Approximate bytes of memory in use; bounded. */
  get bytes(): number {
    return this.#shares.all;
  }

  /** Whether a rule concerns a device. */
  concerns(device: string): boolean {
    return this.#rules.some((rule) => concernsDevice(rule, device));
  }

  /**
   * Takes a reading. Annotations are not looked at: they do not show that a device works.
   *
   * @param counts false: only the time of the reading counts, not its value
   */
  observe(reading: Observed, now: number, counts = true): void {
    if (reading.metric === ANNOTATION_METRIC) return;
    const device = this.#devices.get(reading.device) ?? this.#addDevice(reading.device);
    if (device === null) return;
    const time = timeOf(reading);
    if (time > device.newest) {
      device.newest = time;
      device.pass = this.#pass;
      this.#hear(device.quiets, now);
    }
    const known = device.metrics.get(reading.metric);
    const series = known === undefined ? this.#addSeries(reading.device, device, reading.metric) : known;
    if (series === null || time < series.newest) return;
    // The store can return a reading after its correction was received.
    if (time === series.newest && reading.received < series.received) return;
    series.received = reading.received;
    if (time > series.newest) {
      series.newest = time;
      this.#hear(series.quiets, now);
    }
    if (typeof reading.value !== 'number') return;
    series.value = reading.value;
    if (counts) for (const watch of series.ranges) this.#value(watch, time, reading.value, now);
  }

  /**
   * Lets time pass.
   *
   * @param from since when ingest has received all readings without an interruption
   */
  tick(now: number, from: number): void {
    for (const watch of this.#pending) {
      const { condition } = watch.rule;
      if (condition.kind !== 'range') continue;
      const value = this.#devices.get(watch.device)?.metrics.get(watch.metric!)?.value ?? null;
      this.#apply(watch, watch.hold(condition, now, from), value, now);
    }
    if (now >= this.#quietDue || from !== this.#from) this.#tickQuiets(now, from);
  }

  /** Checks all quiet watches. A newer reading only delays an alert, so they rest until the first one is due. */
  #tickQuiets(now: number, from: number): void {
    this.#from = from;
    this.#quietDue = Number.POSITIVE_INFINITY;
    for (const watch of this.#quiets) {
      const { condition } = watch.rule;
      if (condition.kind !== 'quiet') continue;
      this.#apply(watch, watch.silence(condition, now, from), null, now);
      if (watch.phase === 'active') continue;
      this.#quietDue = Math.min(this.#quietDue, Math.max(watch.clock.newest, from) + condition.quiet);
    }
  }

  /** Continues the alert of an earlier process. Returns false when no rule has its name, or its watch does not exist. */
  restore({ id, kind, ...kept }: KeptAlert): boolean {
    const watch = this.#watchOf(kept);
    if (watch === null || watch.rule.condition.kind !== (kind === 'quiet' ? 'quiet' : 'range')) return false;
    watch.phase = 'active';
    watch.kind = kind;
    watch.since = kept.since;
    watch.alert = id;
    return true;
  }

  /** Continues to wait until the time of a rule is over. */
  restorePending({ kind, ...kept }: KeptPending): void {
    const watch = this.#watchOf(kept);
    if (watch === null || watch.rule.condition.kind !== 'range' || watch.phase !== 'idle') return;
    watch.phase = 'pending';
    watch.kind = kind;
    watch.since = kept.since;
    this.#pending.add(watch);
  }

  /** All watches that are pending. */
  pending(): Iterable<Watch> {
    return this.#pending;
  }

  /**
   * Uses other rules. Alerts of rules that are gone, and of changed rules that no longer concern their series, end. A
   * changed rule keeps its alerts until their next readings.
   */
  replace(rules: readonly AlertRule[], now: number): void {
    this.#rules = rules;
    this.#quietDue = 0;
    this.#others = newOthers();
    const byName = new Map(rules.map((rule) => [rule.name, rule]));
    for (const [name, device] of this.#devices) {
      device.quiets = this.#renew(name, null, device, device.quiets, byName, now);
      for (const [metric, series] of device.metrics) {
        if (series === null) {
          if (rules.some((rule) => concernsDevice(rule, name) && concernsMetric(rule, metric))) {
            device.metrics.delete(metric);
            this.#shares.add(name, -otherBytes(metric));
          }
          continue;
        }
        const all = this.#renew(name, metric, series, [...series.ranges, ...series.quiets], byName, now);
        series.ranges = all.filter(({ rule }) => rule.condition.kind === 'range');
        series.quiets = all.filter(({ rule }) => rule.condition.kind === 'quiet');
      }
      if (!this.concerns(name)) this.#remove(name, device, now);
    }
  }

  /** Begins a pass over the registered devices: each is passed to `found`, and then `endPass` is called. */
  beginPass(): void {
    this.#pass++;
  }

  found(device: string): void {
    const known = this.#devices.get(device);
    if (known !== undefined) known.pass = this.#pass;
  }

  /** Ends the alerts of devices that are no longer registered, and no longer watches them. */
  endPass(now: number): void {
    for (const [name, device] of this.#devices) {
      if (device.pass === this.#pass) continue;
      this.#remove(name, device, now);
      // There is room for a device that had none.
      this.#others = newOthers();
    }
  }

  #value(watch: Watch, time: number, value: number, now: number): void {
    const { condition } = watch.rule;
    if (condition.kind !== 'range') return;
    const before = watch.phase;
    const change = watch.value(condition, time, value);
    if (watch.phase !== before && (watch.phase === 'pending' || before === 'pending')) {
      if (watch.phase === 'pending') this.#pending.add(watch);
      else this.#pending.delete(watch);
    }
    this.#apply(watch, change, value, now);
  }

  #hear(watches: readonly Watch[], now: number): void {
    for (const watch of watches) {
      const { condition } = watch.rule;
      if (condition.kind !== 'quiet') continue;
      const change = watch.heard(condition, now);
      if (change === 'end') this.#quietDue = Math.min(this.#quietDue, watch.clock.newest + condition.quiet);
      this.#apply(watch, change, null, now);
    }
  }

  #apply(watch: Watch, change: Change, value: number | null, now: number): void {
    if (change === null) return;
    if (change === 'raise') {
      this.#pending.delete(watch);
      watch.alert = this.#events.raise(watch, value, now);
    } else {
      this.#events.end(watch, 'cleared', now);
      watch.alert = null;
    }
  }

  #addDevice(given: string): Device | null {
    const isFull = this.#others.get(given);
    if (isFull !== undefined) {
      if (isFull) this.unwatched++;
      return null;
    }
    const name = copyString(given);
    if (!this.concerns(name)) {
      this.#others.set(name, false);
      return null;
    }
    const rules = this.#rules.filter((rule) => isOfDevice(rule) && concernsDevice(rule, name));
    if (!this.#take(name, DEVICE_BYTES + 2 * name.length + WATCH_BYTES * rules.length)) {
      this.#others.set(name, true);
      return null;
    }
    const device: Device = { newest: 0, quiets: [], metrics: new Map(), pass: this.#pass };
    device.quiets = rules.map((rule) => new Watch(rule, name, null, device));
    for (const watch of device.quiets) this.#addQuiet(watch);
    this.#devices.set(name, device);
    return device;
  }

  #addSeries(given: string, device: Device, givenMetric: string): Series | null {
    const [name, metric] = [copyString(given), copyString(givenMetric)];
    const rules = this.#rules.filter((rule) => concernsDevice(rule, name) && concernsMetric(rule, metric));
    const bytes = SERIES_BYTES + 2 * (name.length + metric.length) + WATCH_BYTES * rules.length;
    if (!this.#take(name, rules.length === 0 ? otherBytes(metric) : bytes)) return null;
    if (rules.length === 0) {
      device.metrics.set(metric, null);
      return null;
    }
    const series: Series = { newest: 0, received: 0, value: null, ranges: [], quiets: [] };
    const all = rules.map((rule) => new Watch(rule, name, metric, series));
    series.ranges = all.filter(({ rule }) => rule.condition.kind === 'range');
    series.quiets = all.filter(({ rule }) => rule.condition.kind === 'quiet');
    for (const watch of series.quiets) this.#addQuiet(watch);
    device.metrics.set(metric, series);
    this.#series++;
    return series;
  }

  #addQuiet(watch: Watch): void {
    this.#quiets.add(watch);
    this.#quietDue = 0;
  }

  /** Whether there is room for the bytes of a device. They are in use then. */
  #take(device: string, bytes: number): boolean {
    const hasRoom = this.#shares.take(device, bytes);
    if (!hasRoom) this.unwatched++;
    return hasRoom;
  }

  /** The watch of a rule and a series or a device, with a clock that is at least at `newest`. */
  #watchOf(kept: Pick<KeptAlert, 'rule' | 'device' | 'metric' | 'newest'>): Watch | null {
    const device = this.#devices.get(kept.device) ?? this.#addDevice(kept.device);
    if (device === null) return null;
    if (kept.metric === null) {
      device.newest = Math.max(device.newest, kept.newest);
      return device.quiets.find(({ rule }) => rule.name === kept.rule) ?? null;
    }
    const series = device.metrics.get(kept.metric) ?? this.#addSeries(kept.device, device, kept.metric);
    if (series === null) return null;
    series.newest = Math.max(series.newest, kept.newest);
    return [...series.ranges, ...series.quiets].find(({ rule }) => rule.name === kept.rule) ?? null;
  }

  /** The watches of a device or series for the current rules. Watches of rules that stay keep their phase. */
  #renew(
    device: string,
    metric: string | null,
    clock: Clock,
    before: readonly Watch[],
    byName: ReadonlyMap<string, AlertRule>,
    now: number,
  ): readonly Watch[] {
    const concerns = (rule: AlertRule) =>
      concernsDevice(rule, device) && (metric === null ? isOfDevice(rule) : concernsMetric(rule, metric));
    const kept: Watch[] = [];
    for (const watch of before) {
      const rule = byName.get(watch.rule.name);
      const stays = rule !== undefined && rule.condition.kind === watch.rule.condition.kind && concerns(rule);
      if (!stays) {
        this.#drop(watch, now);
        continue;
      }
      if (!isSameRule(rule, watch.rule) && watch.phase === 'pending') this.#calm(watch);
      watch.rule = rule;
      kept.push(watch);
    }
    const names = new Set(kept.map(({ rule }) => rule.name));
    for (const rule of this.#rules) {
      if (names.has(rule.name) || !concerns(rule) || !this.#take(device, WATCH_BYTES)) continue;
      const watch = new Watch(rule, device, metric, clock);
      if (rule.condition.kind === 'quiet') this.#addQuiet(watch);
      kept.push(watch);
    }
    return kept;
  }

  #calm(watch: Watch): void {
    watch.phase = 'idle';
    this.#pending.delete(watch);
  }

  #drop(watch: Watch, now: number): void {
    if (watch.phase === 'active') this.#events.end(watch, 'removed', now);
    if (watch.phase === 'pending') this.#calm(watch);
    this.#quiets.delete(watch);
    this.#shares.add(watch.device, -WATCH_BYTES);
  }

  #remove(name: string, device: Device, now: number): void {
    this.#devices.delete(name);
    this.#shares.add(name, -(DEVICE_BYTES + 2 * name.length));
    for (const watch of device.quiets) this.#drop(watch, now);
    for (const [metric, series] of device.metrics) {
      if (series === null) {
        this.#shares.add(name, -otherBytes(metric));
        continue;
      }
      this.#series--;
      this.#shares.add(name, -(SERIES_BYTES + 2 * (name.length + metric.length)));
      for (const watch of [...series.ranges, ...series.quiets]) this.#drop(watch, now);
    }
  }
}

/** Bytes of a metric without rules. */
function otherBytes(metric: string): number {
  return 2 * metric.length + 80;
}

function newOthers(): ByteCache<boolean> {
  return new ByteCache<boolean>(OTHER_BYTES, () => 8);
}

/** The time that counts for alerts. A clock that is ahead would otherwise hide later readings. */
export function timeOf({ time, received, quality }: Observed): number {
  return quality === 'unsynced' ? received : Math.min(time, received);
}
