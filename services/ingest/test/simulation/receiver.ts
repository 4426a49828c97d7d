import type { Reading } from '@tidegauge/readings';
import type { Random } from '@tidegauge/workload';
import type { Alerts } from '../../src/alerts/alerts.ts';
import type { Alert } from '../../src/alerts/book.ts';
import type { Notice } from '../../src/alerts/channel.ts';
import { timeOf } from '../../src/alerts/evaluator.ts';
import type { AlertRule } from '../../src/alerts/rule.ts';
import type { ModelStore } from './model-store.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The longest time of a message and its answer, milliseconds. */
const SEND_MS = 200;
/** The share of messages without an answer. */
const UNKNOWN = 0.3;

/** Who receives messages about alerts. It gives no answer for some messages, whether it received them or not. */
export class Receiver {
  /** By `nameOf`. */
  readonly #received = new Set<string>();
  readonly #time: VirtualTime;
  readonly #random: Random;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  readonly send = ({ alert, event }: Notice): Promise<void> =>
    new Promise((resolve, reject) => {
      this.#time.after(this.#random.double() * SEND_MS, this.#time.owner, 'notice', () => {
        const isKnown = this.#random.double() >= UNKNOWN;
        if (isKnown || this.#random.below(2) === 0) this.#received.add(nameOf(alert, event));
        if (isKnown) resolve();
        else reject(new Error('the model gives no answer'));
      });
    });

  /**
   * What must be true when no reading has arrived for some time. Yields what is not: an alert is active exactly when the newest
   * reading of its series violates its rule, or when its rule is about silence, and all messages about alerts were received.
   */
  *mistakes({ rows }: ModelStore, alerts: Alerts): Generator<string> {
    if (!alerts.isEvaluating) yield 'the rules of alerts are not in use';
    const all = [...alerts.book.all()];
    const active = new Set(all.filter(isActive).map(({ rule, device }) => `${rule} ${device}`));
    for (const { device, value } of newestOf(rows.values())) {
      for (const rule of alerts.rules) {
        const isActive = active.has(`${rule.name} ${device}`);
        if (isActive !== isViolated(rule, Number(value)))
          yield `${device} is ${value}, and alert ${rule.name} is ${isActive ? '' : 'not '}active`;
      }
    }
    for (const alert of all) {
      if (alert.due.length > 0) yield `messages wait: ${alert.due} of ${alert.device}`;
      for (const event of isActive(alert) ? (['raised'] as const) : (['raised', 'ended'] as const))
        if (!this.#received.has(nameOf(alert, event)))
          yield `nobody received that ${alert.rule} of ${alert.device} was ${event}`;
    }
  }
}

function nameOf({ id }: Alert, event: Notice['event']): string {
  return `${event} ${id}`;
}

function isActive({ ended }: Alert): boolean {
  return ended === null;
}

function isViolated({ condition }: AlertRule, value: number): boolean {
  if (condition.kind === 'quiet') return true;
  const { above, below } = condition;
  return (above !== null && value > above) || (below !== null && value < below);
}

/** The newest reading of each device. All readings have one metric. */
function newestOf(rows: Iterable<Reading>): Iterable<Reading> {
  const newest = new Map<string, Reading>();
  for (const row of rows) {
    const known = newest.get(row.device);
    if (known === undefined || timeOf(row) > timeOf(known)) newest.set(row.device, row);
  }
  return newest.values();
}
