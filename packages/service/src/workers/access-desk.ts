import { Audit, type AuditEntry, type AuditLog, type Change, entryOf } from '../access/audit.ts';
import type { Begun, ClientLimits } from '../access/client-limits.ts';
import { type Attempt, Guesses } from '../access/guesses.ts';
import { MAX_SESSIONS, type SharedSession } from '../access/sessions.ts';
import type { Logger } from '../logger.ts';
import type { Channel } from './channel.ts';
import type { Desk, WorkerLink } from './supervisor.ts';

/**
 * What one client may use, failed logins, sessions and the audit, for all workers of a service. Workers ask it, so the
 * limits are as exact as those of one process. Only the sessions are copied to all workers.
 */
export class AccessDesk implements Desk {
  readonly #limits: ClientLimits | null;
  readonly #guesses: Guesses;
  readonly #audit: Audit;
  readonly #workers = new Set<WorkerLink>();
  readonly #sessions = new Map<string, SharedSession>();

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
    channel.on<readonly [string, Attempt]>('login.failed', ([client, attempt]) =>
      this.#guesses.failed(client, attempt) ? 0 : this.#guesses.retryAfter(client),
    );
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

/** The desk, for the access control of a worker. */
export class SharedAccess {
  readonly limits: { begin(name: string): Promise<Begun | number> };
  readonly audit: AuditLog;
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
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

  /** Counts a wrong credential. Resolves to the seconds to wait, 0 when its client had an attempt left. */
  failed(client: string, attempt: Attempt): Promise<number> {
    return this.#channel.call('login.failed', [client, attempt]);
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
