import { Audit, type AuditEntry, type AuditLog, type Change, entryOf } from '../access/audit.ts';
import type { Begun, ClientLimits } from '../access/client-limits.ts';
import { type Attempt, Guesses } from '../access/guesses.ts';
import { Recent } from '../access/recent.ts';
import { MAX_SESSIONS, type SharedSession } from '../access/sessions.ts';
import type { Logger } from '../logger.ts';
import type { Channel } from './channel.ts';
import type { Desk, WorkerLink } from './supervisor.ts';

/** Clients that are remembered in a worker as having logged in before. */
const MAX_CLIENTS = 10_000;

/**
 * What one client may use, failed logins, sessions and the audit, for all workers of a service. Workers ask it, so the
 * limits are as exact as those of one process. Only what the check of a login needs later is copied to all workers.
 */
export class AccessDesk implements Desk {
  readonly #limits: ClientLimits | null;
  readonly #guesses: Guesses;
  readonly #audit: Audit;
  readonly #workers = new Set<WorkerLink>();
  readonly #sessions = new Map<string, SharedSession>();
  /** Attempts that are being checked, and the requests that wait for their results, by client. */
  readonly #checks = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  /** @param limits null: clients have no limits */
  constructor(limits: ClientLimits | null, logger: Logger) {
    this.#limits = limits;
    this.#guesses = new Guesses(logger, Date.now);
    this.#audit = new Audit(logger);
  }

  attach(worker: WorkerLink): () => void {
    const { channel } = worker;
    this.#workers.add(worker);
    const endRequests = this.#attachLimits(channel);
    const endChecks = this.#attachLogins(channel);
    channel.on<SharedSession>('session.begin', (session) => this.#addSession(session, worker));
    channel.on<string>('session.end', (key) => this.#endSession(key, worker));
    channel.on<readonly [AuditEntry, boolean]>('audit.add', ([entry, isData]) =>
      this.#audit.add(entry, isData),
    );
    channel.on<number>('audit.list', (limit) => this.#audit.list(limit));
    for (const session of this.#sessions.values()) channel.tell('session.add', session);
    return () => {
      this.#workers.delete(worker);
      endRequests();
      endChecks();
    };
  }

  close(): void {
    this.#audit.flush();
  }

  #attachLimits(channel: Channel): () => void {
    const active = new Map<string, Begun[]>();
    channel.on<string>('limit.begin', (name) => {
      const begun = this.#limits?.begin(name) ?? 0;
      if (typeof begun === 'number') return begun;
      const own = active.get(name);
      if (own === undefined) active.set(name, [begun]);
      else own.push(begun);
      return 0;
    });
    channel.on<readonly [string, number]>('limit.end', ([name, bytes]) => {
      const own = active.get(name);
      own?.pop()?.end(bytes);
      if (own?.length === 0) active.delete(name);
    });
    return () => {
      for (const begun of [...active.values()].flat()) begun.end(0);
    };
  }

  #attachLogins(channel: Channel): () => void {
    const checks = new Map<number, Check>();
    let last = 0;
    let hasEnded = false;
    channel.on<string>('login.take', async (client): Promise<CheckTurn> => {
      const found = await this.#take(client);
      if (typeof found === 'number') return { id: null, wait: found };
      if (hasEnded) this.#endCheck(client);
      last += 1;
      checks.set(last, found);
      return { id: last, wait: 0 };
    });
    channel.on<readonly [id: number, result: CheckResult, attempt: Attempt]>(
      'login.checked',
      ([id, result, attempt]) => {
        const { client, isTaken } = checks.get(id)!;
        checks.delete(id);
        if (result === 'right') this.#succeeded(client);
        if (result === 'wrong' && isTaken) this.#guesses.warn(client, attempt);
        else if (result === 'wrong') this.#guesses.failed(client, attempt);
        else if (isTaken) this.#guesses.giveBack(client);
        this.#endCheck(client);
      },
    );
    channel.on<string>('login.known', (client) => this.#succeeded(client));
    channel.on<readonly [string, Attempt]>('login.failed', ([client, attempt]) =>
      this.#guesses.failed(client, attempt) ? 0 : this.#guesses.retryAfter(client),
    );
    return () => {
      hasEnded = true;
      for (const { client } of checks.values()) this.#endCheck(client);
    };
  }

  /** Begins the check of a credential, or resolves to the seconds that its client has to wait. */
  async #take(client: string): Promise<Check | number> {
    for (;;) {
      const checks = this.#checks.get(client) ?? { running: 0, waiting: [] };
      const isTaken = !this.#guesses.isKnown(client);
      if (!isTaken || this.#guesses.take(client)) {
        this.#checks.set(client, checks);
        checks.running += 1;
        return { client, isTaken };
      }
      if (checks.running === 0) return this.#guesses.retryAfter(client);
      // One of the checks can be right, and then the client may go on.
      await new Promise<void>((resolve) => checks.waiting.push(resolve));
    }
  }

  #endCheck(client: string): void {
    const checks = this.#checks.get(client);
    if (checks === undefined) return;
    checks.running -= 1;
    for (const resume of checks.waiting.splice(0)) resume();
    if (checks.running === 0) this.#checks.delete(client);
  }

  #succeeded(client: string): void {
    this.#guesses.succeeded(client);
    for (const { channel } of this.#workers) channel.tell('login.success', client);
  }

  async #addSession(session: SharedSession, from: WorkerLink): Promise<void> {
    for (const [key, { expires }] of this.#sessions) if (expires <= Date.now()) this.#sessions.delete(key);
    // Workers end the sessions that are too many. The oldest one is the first.
    if (this.#sessions.size >= MAX_SESSIONS) this.#sessions.delete(this.#sessions.keys().next().value!);
    this.#sessions.set(session.key, session);
    await this.#toOthers('session.add', session, from);
  }

  async #endSession(key: string, from: WorkerLink): Promise<void> {
    this.#sessions.delete(key);
    await this.#toOthers('session.drop', key, from);
  }

  /** Resolves when all other workers have done it. One that ends meanwhile has nothing to do. */
  async #toOthers(topic: string, value: unknown, from: WorkerLink): Promise<void> {
    const others = [...this.#workers].filter((worker) => worker !== from);
    await Promise.allSettled(others.map(({ channel }) => channel.call(topic, value)));
  }
}

/** The check of a credential in a worker. */
interface Check {
  readonly client: string;
  /** Whether an attempt was taken for it. Clients that have logged in before need none. */
  readonly isTaken: boolean;
}

/** Whether a credential may be checked: the id of the check, or the seconds to wait. */
export interface CheckTurn {
  readonly id: number | null;
  readonly wait: number;
}

/** `other`: neither right nor wrong, such as an expired key. */
export type CheckResult = 'right' | 'wrong' | 'other';

/** The desk, for the access control of a worker. */
export class SharedAccess {
  readonly limits: { begin(name: string): Promise<Begun | number> };
  readonly audit: AuditLog;
  readonly #channel: Channel;
  readonly #known = new Recent<true>(MAX_CLIENTS);

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.on<string>('login.success', (client) => this.#known.set(client, true));
    this.limits = {
      async begin(name) {
        const wait = await channel.call<number>('limit.begin', name);
        return wait > 0 ? wait : { end: (bytes) => channel.tell('limit.end', [name, bytes]) };
      },
    };
    this.audit = {
      record: (change: Change) => channel.tell('audit.add', [entryOf(change, Date.now()), change.isData]),
      list: (limit) => channel.call<readonly AuditEntry[]>('audit.list', limit),
      flush: () => {},
    };
  }

  /** Whether a client has logged in before, so that its credentials may be checked at once. */
  isKnown(client: string): boolean {
    return this.#known.get(client) !== undefined;
  }

  /** Requests the check of a credential of a client. `checked` then reports the result. */
  take(client: string): Promise<CheckTurn> {
    return this.#channel.call('login.take', client);
  }

  checked(id: number, result: CheckResult, attempt: Attempt): void {
    this.#channel.tell('login.checked', [id, result, attempt]);
  }

  /** Counts a wrong credential of a known client. Resolves to the seconds to wait, 0 when it had an attempt left. */
  failed(client: string, attempt: Attempt): Promise<number> {
    return this.#channel.call('login.failed', [client, attempt]);
  }

  succeeded(client: string): void {
    if (this.isKnown(client)) return;
    this.#known.set(client, true);
    this.#channel.tell('login.known', client);
  }

  /** Receives the sessions of all workers. */
  onSessions(add: (session: SharedSession) => void, drop: (key: string) => void): void {
    this.#channel.on('session.add', add);
    this.#channel.on('session.drop', drop);
  }

  /** Resolves when all workers have the session. */
  beginSession(session: SharedSession): Promise<void> {
    return this.#channel.call('session.begin', session);
  }

  /** Resolves when no worker has the session any more. */
  endSession(key: string): Promise<void> {
    return this.#channel.call('session.end', key);
  }
}
