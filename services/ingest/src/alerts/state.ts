import { firstLevelOf, isTable } from '@tidegauge/readings';
import { inTurns, type Logger } from '@tidegauge/service';
import { ALERT_TABLE, type Store } from '@tidegauge/storage';
import type { Alert } from './book.ts';
import type { KeptPending } from './evaluator.ts';

/** Alerts are kept in this number of records, so that a change writes a small part of them. */
const BUCKETS = 64;
const FIELD = 'field0';
const PENDING = 'pending';
const MARK = 'mark';
/** Series whose time for a rule is running that are kept, at most. Clients have as many each. */
const MOST_PENDING = 2000;

/** What is kept of alerts. */
export interface KeptState {
  readonly alerts: readonly Alert[];
  readonly pending: readonly KeptPending[];
  /** Readings received until then were evaluated, microseconds; null when nothing is known. */
  readonly until: number | null;
}

/**
 * The durable state of alerts: a table of records in the store, so that another replica continues where one ended. An
 * alert that begins or ends writes one record, which has 1/64 of all alerts, about 350 bytes each.
 */
export class AlertState {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #dirty = new Set<number>();
  #saved = '';

  constructor(store: Store, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Whether alerts changed since the last `save`. */
  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  /** @throws {StoreError} */
  async load(): Promise<KeptState> {
    this.#dirty.clear();
    await this.#store.records.createTable(ALERT_TABLE, 1);
    const alerts: Alert[] = [];
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      alerts.push(...(await this.#list(keyOf(bucket), isAlert)));
    }
    const pending = await this.#list(PENDING, isPending);
    this.#saved = JSON.stringify(pending);
    const until = await this.#read(MARK);
    return { alerts, pending, until: typeof until === 'number' ? until : null };
  }

  /** Marks an alert as changed. */
  touch({ id }: Alert): void {
    this.#dirty.add(bucketOf(id));
  }

  /**
   * Writes the parts of the alerts that changed. After a failure they count as changed again.
   *
   * @param all the alerts that are kept
   * @throws {StoreError}
   */
  async save(all: Iterable<Alert>): Promise<void> {
    const parts = new Map([...this.#dirty].map((bucket) => [bucket, [] as Alert[]]));
    this.#dirty.clear();
    for (const alert of all) parts.get(bucketOf(alert.id))?.push(alert);
    try {
      for (const [bucket, alerts] of parts) {
        await this.#write(keyOf(bucket), alerts);
        parts.delete(bucket);
      }
    } catch (error) {
      for (const bucket of parts.keys()) this.#dirty.add(bucket);
      throw error;
    }
  }

  /** @throws {StoreError} */
  async savePending(pending: readonly KeptPending[]): Promise<void> {
    const kept = inTurns(pending, MOST_PENDING, ({ device }) => firstLevelOf(device));
    const text = JSON.stringify(kept);
    if (text === this.#saved) return;
    await this.#write(PENDING, kept);
    this.#saved = text;
  }

  /** @throws {StoreError} */
  async saveMark(until: number): Promise<void> {
    await this.#write(MARK, until);
  }

  /** The entries of a record. Those of another form are left out: an operator can have changed them. */
  async #list<T>(key: string, isEntry: (value: unknown) => value is T): Promise<readonly T[]> {
    const found = await this.#read(key);
    const list = Array.isArray(found) ? (found as readonly unknown[]) : [];
    const entries = list.filter(isEntry);
    if (entries.length < list.length || (found !== null && !Array.isArray(found)))
      this.#logger.error({ key }, 'a part of the state of alerts cannot be read and is left out');
    return entries;
  }

  async #read(key: string): Promise<unknown> {
    const fields = await this.#store.records.read(ALERT_TABLE, key, null);
    const text = fields?.[FIELD];
    if (text === undefined) return null;
    try {
      return JSON.parse(text);
    } catch (error) {
      this.#logger.error({ err: error, key }, 'a part of the state of alerts cannot be read and is left out');
      return null;
    }
  }

  async #write(key: string, value: unknown): Promise<void> {
    const { records } = this.#store;
    const fields = { [FIELD]: JSON.stringify(value) };
    if (!(await records.update(ALERT_TABLE, key, fields))) await records.insert(ALERT_TABLE, key, fields);
  }
}

function keyOf(bucket: number): string {
  return `alerts-${bucket}`;
}

/** The bucket of an alert, by the first digits of its identifier, which is a hash. */
function bucketOf(id: string): number {
  return Number.parseInt(id.slice(0, 4), 16) % BUCKETS;
}

function isAlert(value: unknown): value is Alert {
  if (!isPending(value)) return false;
  const { id, raised, ended, due } = value as unknown as Alert;
  const isTime = (time: unknown) => Number.isSafeInteger(time);
  return (
    /^[0-9a-f]{24}$/.test(id) && isTime(raised) && (ended === null || isTime(ended)) && Array.isArray(due)
  );
}

/** Whether a value has what alerts and running times have in common. */
function isPending(value: unknown): value is KeptPending {
  if (!isTable(value)) return false;
  const { rule, device, metric, since } = value;
  const isName = (name: unknown) => typeof name === 'string';
  return isName(rule) && isName(device) && (metric === null || isName(metric)) && Number.isSafeInteger(since);
}
