import type { Logger } from '../logger.ts';
import type { Principal } from './principal.ts';

/** One change, or several equal ones of data within ten seconds. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly time: string;
  /** `token`, `key` or `oidc`, and the id of the key or the subject. */
  readonly kind: Principal['kind'];
  readonly sender: string;
  /** The client's address. */
  readonly client: string;
  /** The operation, such as `putDevice`. */
  readonly action: string;
  /** What was changed: the path, and the query that selects it. */
  readonly resource: string;
  readonly outcome: 'done' | 'refused' | 'failed';
  /** The HTTP status. */
  readonly status: number;
  /** Number of changes. It can be more than 1 for readings and records only. */
  readonly count: number;
}

export interface Change {
  readonly principal: Principal;
  readonly client: string;
  readonly action: string;
  readonly resource: string;
  readonly status: number;
  /** Whether equal changes are counted together: readings and records, of which there can be thousands per second. */
  readonly isData: boolean;
}

const MAX_ENTRIES = 1000;
const MAX_RESOURCE = 300;
/** Equal changes of data within this time are one entry, milliseconds. */
const WINDOW_MS = 10_000;
/** Kinds of changes that are counted at the same time; beyond it the counts are logged early. */
const MAX_SUMS = 1000;

/**
 * Logs who changed what, and keeps the last 1,000 entries. The first change of data by a sender is logged at once, and
 * the following ones are counted for ten seconds. Entries never have keys or bodies.
 */
export class Audit {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #entries: AuditEntry[] = [];
  readonly #sums = new Map<string, { readonly entry: AuditEntry; more: number }>();
  #timer: NodeJS.Timeout | null = null;

  constructor(logger: Logger, now: () => number = Date.now) {
    this.#logger = logger;
    this.#now = now;
  }

  record(change: Change): void {
    if (!change.isData) {
      this.#add(this.#entryOf(change));
      return;
    }
    const { principal, client, action, status } = change;
    const key = `${principal.kind} ${principal.id} ${client} ${action} ${status}`;
    const sum = this.#sums.get(key);
    if (sum !== undefined) {
      sum.more += 1;
      return;
    }
    if (this.#sums.size >= MAX_SUMS) this.flush();
    const entry = this.#entryOf(change);
    this.#sums.set(key, { entry, more: 0 });
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref();
    this.#add(entry);
  }

  /** The entries, the newest first. */
  list(limit: number): readonly AuditEntry[] {
    return this.#entries.slice(-limit).reverse();
  }

  /** Logs what was counted. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const time = new Date(this.#now()).toISOString();
    for (const { entry, more } of this.#sums.values())
      if (more > 0) this.#add({ ...entry, time, count: more });
    this.#sums.clear();
  }

  #add(entry: AuditEntry): void {
    this.#logger.info({ audit: entry }, 'audit');
    this.#entries.push(entry);
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
  }

  #entryOf({ principal, client, action, resource, status }: Change): AuditEntry {
    return {
      time: new Date(this.#now()).toISOString(),
      kind: principal.kind,
      sender: principal.id,
      client,
      action,
      resource: resource.slice(0, MAX_RESOURCE),
      outcome: status < 400 ? 'done' : status < 500 ? 'refused' : 'failed',
      status,
      count: 1,
    };
  }
}
