import { createHash } from 'node:crypto';
import { firstLevelOf } from '@tidegauge/readings';
import { removeOfMost } from '@tidegauge/service';
import { DeviceShares } from '../device-shares.ts';
import type { EndReason } from './evaluator.ts';
import type { AlertRule, Severity } from './rule.ts';
import type { AlertKind, Watch } from './watch.ts';

/**
 * Alerts that are active at the same time, at most; a client has as many as are free. Further ones are counted. An alert has
 * about 700 bytes.
 */
const MOST_ACTIVE = 10_000;
/** Ended alerts that are kept. The client with the most loses its oldest. */
const MOST_ENDED = 500;

/** An alert that was raised. Times are microseconds since the epoch. */
export interface Alert {
  /** The same for the same rule, series and first reading, so that receivers can detect repetitions. */
  readonly id: string;
  readonly rule: string;
  readonly severity: Severity;
  readonly kind: AlertKind;
  readonly device: string;
  readonly metric: string | null;
  /** The limit that was violated; the time without a reading for `quiet`, seconds. */
  readonly limit: number;
  /** The value that raised it; null for `quiet`. */
  readonly value: number | null;
  /** The time of the first reading that violated the rule; of the last reading for `quiet`. */
  readonly since: number;
  /** When ingest raised it. */
  readonly raised: number;
  readonly ended: number | null;
  readonly reason: EndReason | null;
  /** Messages that receivers have not accepted yet, such as `webhook:raised`. It changes, also in an ended alert. */
  readonly due: string[];
}

/** Counts of one rule. */
export interface RuleCount {
  readonly rule: string;
  readonly severity: Severity;
  active: number;
  /** Alerts raised since the start of the process. */
  raised: number;
}

/** A position in the list of alerts: active ones first, the newest first of each state. */
export interface AlertPosition {
  readonly state: 'active' | 'ended';
  readonly at: number;
  readonly id: string;
}

export interface AlertFilter {
  readonly state: 'active' | 'ended' | null;
  readonly rule: string | null;
  readonly severity: Severity | null;
  /** Whether the alerts of a device are listed. */
  readonly isListed: (device: string) => boolean;
}

/** Active alerts, and those that ended last. Both are bounded. */
export class AlertBook {
  /** In the order in which they were raised. */
  readonly #active = new Map<string, Alert>();
  readonly #shares = new DeviceShares(MOST_ACTIVE);
  /** In the order in which they ended. */
  #ended: Alert[] = [];
  readonly #counts = new Map<string, RuleCount>();
  /** The names of the receivers. */
  #channels: readonly string[];
  /** Active alerts that are not listed, because there are too many. */
  unlisted = 0;
  /** The times of alerts differ, so that pages of the list continue exactly. */
  #lastRaised = 0;
  #lastEnded = 0;

  /** @param channels the receivers of messages about each alert */
  constructor(channels: readonly string[] = []) {
    this.#channels = channels;
  }

  /** Uses other receivers for the next messages. Messages to those that are gone are not due any more. */
  setChannels(channels: readonly string[]): readonly Alert[] {
    this.#channels = channels;
    const changed: Alert[] = [];
    for (const alert of this.all()) {
      const due = alert.due.filter((each) => channels.some((channel) => each.startsWith(`${channel}:`)));
      if (due.length === alert.due.length) continue;
      alert.due.splice(0, alert.due.length, ...due);
      changed.push(alert);
    }
    return changed;
  }

  get active(): number {
    return this.#active.size;
  }

  /** Uses the rules for the counts. Alerts of other rules were ended before. */
  setRules(rules: readonly AlertRule[]): void {
    const before = new Map(this.#counts);
    this.#counts.clear();
    for (const { name, severity } of rules) {
      const known = before.get(name);
      const [active, raised] = [known?.active ?? 0, known?.raised ?? 0];
      this.#counts.set(name, { rule: name, severity, active, raised });
    }
  }

  counts(): Iterable<RuleCount> {
    return this.#counts.values();
  }

  /** Adds an alert. Null when there are too many; `unlisted` counts it then. */
  raise({ rule, device, metric, kind, since }: Watch, value: number | null, now: number): Alert | null {
    this.#count(rule.name, 1);
    if (!this.#shares.hasRoom(device, 1)) {
      this.unlisted++;
      return null;
    }
    const { condition, name, severity } = rule;
    const limit =
      condition.kind === 'quiet'
        ? condition.quiet / 1e6
        : (kind === 'above' ? condition.above : condition.below)!;
    const id = createHash('sha256')
      .update(JSON.stringify([name, device, metric, kind, since]))
      .digest('hex')
      .slice(0, 24);
    const alert: Alert = {
      id,
      rule: name,
      severity,
      kind,
      device,
      metric,
      limit,
      value,
      since,
      raised: Math.max(now, this.#lastRaised + 1),
      ended: null,
      reason: null,
      due: this.#channels.map((channel) => `${channel}:raised`),
    };
    this.#add(alert);
    this.#lastRaised = alert.raised;
    return alert;
  }

  /** Ends the alert of a watch. Null when it was not listed. */
  end({ rule, alert: id }: Watch, reason: EndReason, now: number): Alert | null {
    const count = this.#counts.get(rule.name);
    if (count !== undefined) count.active--;
    const alert = id === null ? undefined : this.#active.get(id);
    if (alert !== undefined) return this.#end(alert, reason, now);
    this.unlisted--;
    return null;
  }

  #add(alert: Alert): void {
    if (!this.#active.has(alert.id)) this.#shares.add(alert.device, 1);
    this.#active.set(alert.id, alert);
  }

  #end(alert: Alert, reason: EndReason, now: number): Alert {
    if (this.#active.delete(alert.id)) this.#shares.add(alert.device, -1);
    this.#lastEnded = Math.max(now, this.#lastEnded + 1);
    alert.due.push(...this.#channels.map((channel) => `${channel}:ended`));
    const ended: Alert = { ...alert, ended: this.#lastEnded, reason };
    this.#ended.push(ended);
    return ended;
  }

  /** Removes the ended alerts that are too many, and returns them. */
  trim(): readonly Alert[] {
    const removed: Alert[] = [];
    while (this.#ended.length > MOST_ENDED)
      removed.push(removeOfMost(this.#ended, ({ device }) => firstLevelOf(device)));
    return removed;
  }

  /** Removes everything but the counts of alerts raised. */
  clear(): void {
    for (const alert of this.#active.values()) this.#shares.add(alert.device, -1);
    this.#active.clear();
    this.#ended = [];
    this.unlisted = 0;
    for (const count of this.#counts.values()) count.active = 0;
  }

  /**
   * Continues with alerts of an earlier process, which do not count as raised.
   *
   * @param watch finds the watch of an active alert; false ends it, because its rule is gone
   */
  restore(alerts: readonly Alert[], now: number, watch: (alert: Alert) => boolean): readonly Alert[] {
    const gone: Alert[] = [];
    for (const alert of alerts.toSorted((a, b) => (a.ended ?? a.raised) - (b.ended ?? b.raised))) {
      this.#lastRaised = Math.max(this.#lastRaised, alert.raised);
      this.#lastEnded = Math.max(this.#lastEnded, alert.ended ?? 0);
      if (alert.ended !== null) this.#ended.push(alert);
      else if (watch(alert)) {
        this.#add(alert);
        this.#count(alert.rule, 0);
      } else gone.push(alert);
    }
    return gone.map((alert) => this.#end(alert, 'removed', now));
  }

  /** Active alerts, the newest first, then ended ones, the newest first. */
  *all(): Generator<Alert> {
    yield* [...this.#active.values()].reverse();
    yield* this.#ended.toReversed();
  }

  /**
   * A page of the alerts that match, after a position.
   *
   * @returns the alerts, and whether there are more
   */
  list(
    limit: number,
    after: AlertPosition | null,
    filter: AlertFilter,
  ): { readonly alerts: readonly Alert[]; readonly more: boolean } {
    const alerts: Alert[] = [];
    for (const alert of this.all()) {
      const position = positionOf(alert);
      if (after !== null && compare(position, after) <= 0) continue;
      if (!isMatch(alert, position.state, filter)) continue;
      if (alerts.length === limit) return { alerts, more: true };
      alerts.push(alert);
    }
    return { alerts, more: false };
  }

  #count(rule: string, raised: number): void {
    const count = this.#counts.get(rule);
    if (count === undefined) return;
    count.active++;
    count.raised += raised;
  }
}

function isMatch(
  alert: Alert,
  itsState: AlertPosition['state'],
  { state, rule, severity, isListed }: AlertFilter,
): boolean {
  if (state !== null && itsState !== state) return false;
  if (rule !== null && alert.rule !== rule) return false;
  if (severity !== null && alert.severity !== severity) return false;
  return isListed(alert.device);
}

export function positionOf({ id, raised, ended }: Alert): AlertPosition {
  return ended === null ? { state: 'active', at: raised, id } : { state: 'ended', at: ended, id };
}

/** Below zero when `a` is before `b` in the list. */
function compare(a: AlertPosition, b: AlertPosition): number {
  if (a.state !== b.state) return a.state === 'active' ? -1 : 1;
  if (a.at !== b.at) return b.at - a.at;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
