import { copyString } from '@tidegauge/text';
import type { Logger } from '../logger.ts';
import { removeOfMost } from '../round-robin.ts';
import type { Principal } from './principal.ts';

/** One change, or several equal ones within ten seconds: of data, or refused. */
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
  /** Number of changes. It can be more than 1 for readings, records and refusals only; the resource is the first one's. */
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

/** Entries that are kept. Beyond it the sender with the most loses its oldest. */
const MAX_ENTRIES = 1000;
const MAX_ACTION = 64;
const MAX_RESOURCE = 300;
/** Equal changes of data, and equal refusals, within this time are one entry, milliseconds. */
const WINDOW_MS = 10_000;
/** Kinds of changes that are counted at the same time; beyond it the counts are logged early. */
const MAX_SUMS = 1000;
/** Kinds of refusals of one sender that are counted at the same time, for all its clients. Further ones are one kind. */
const MAX_REFUSALS = 50;
/** The action of refusals beyond it. */
const OTHERS = 'others';

/** Where changes are recorded: in this process, or in the one that its worker processes share. */
export interface AuditLog {
  record(change: Change): void;
  /** The entries, the newest first. */
  list(limit: number): readonly AuditEntry[] | Promise<readonly AuditEntry[]>;
  /** Logs what was counted. */
  flush(): void;
}

/**
 * Logs who changed what, and keeps 1,000 entries. The first change of data by a sender is logged at once, and
 * the following ones are counted for ten seconds; so are refusals, which cost a sender nothing. Entries never have keys
 * or bodies.
 */
export class Audit implements AuditLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #entries: AuditEntry[] = [];
  readonly #sums = new Map<string, { readonly entry: AuditEntry; more: number }>();
  /** The number of kinds of refusals among the sums, by sender. */
  readonly #refusals = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(logger: Logger, now: () => number = Date.now) {
    this.#logger = logger;
    this.#now = now;
  }

  record(change: Change): void {
    const { principal, client, action, status, isData } = change;
    if (this.#isCounted(keyOf(principal.kind, principal.id, client, action, status))) return;
    this.#begin(entryOf(change, this.#now()), isData);
  }

  /** Like `record`, for a change of another process. */
  add(entry: AuditEntry, isData: boolean): void {
    const { kind, sender, client, action, status } = entry;
    if (!this.#isCounted(keyOf(kind, sender, client, action, status))) this.#begin(entry, isData);
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
    this.#refusals.clear();
  }

  #isCounted(key: string): boolean {
    const sum = this.#sums.get(key);
    if (sum === undefined) return false;
    sum.more += 1;
    return true;
  }

  #begin(entry: AuditEntry, isData: boolean): void {
    if (entry.outcome === 'refused') this.#beginRefusal(entry);
    else if (isData) this.#beginSum(entry, entry.client);
    else this.#add(entry);
  }

  #beginRefusal(entry: AuditEntry): void {
    const { kind, sender, status } = entry;
    const login = `${kind} ${sender}`;
    const kinds = this.#refusals.get(login) ?? 0;
    if (kinds < MAX_REFUSALS) {
      this.#beginSum(entry, entry.client);
      this.#refusals.set(login, kinds + 1);
    } else if (!this.#isCounted(keyOf(kind, sender, '', OTHERS, status)))
      this.#beginSum({ ...entry, action: OTHERS }, '');
  }

  /** @param client for which client equal ones are counted; empty: for all */
  #beginSum(entry: AuditEntry, client: string): void {
    if (this.#sums.size >= MAX_SUMS) this.flush();
    const { kind, sender, action, status } = entry;
    this.#sums.set(keyOf(kind, sender, client, action, status), { entry, more: 0 });
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref();
    this.#add(entry);
  }

  #add(entry: AuditEntry): void {
    this.#logger.info({ audit: entry }, 'audit');
    this.#entries.push(entry);
    if (this.#entries.length > MAX_ENTRIES) removeOfMost(this.#entries, senderOf);
  }
}

/** @param now milliseconds since the epoch */
export function entryOf({ principal, client, action, resource, status }: Change, now: number): AuditEntry {
  return {
    time: new Date(now).toISOString(),
    kind: principal.kind,
    sender: principal.id,
    client,
    action: copyString(action.slice(0, MAX_ACTION)),
    resource: copyString(resource.slice(0, MAX_RESOURCE)),
    outcome: status < 400 ? 'done' : status < 500 ? 'refused' : 'failed',
    status,
    count: 1,
  };
}

function senderOf({ kind, sender, client }: AuditEntry): string {
  return `${kind} ${sender} ${client}`;
}

function keyOf(kind: string, sender: string, client: string, action: string, status: number): string {
  return `${kind} ${sender} ${client} ${action.slice(0, MAX_ACTION)} ${status}`;
}
