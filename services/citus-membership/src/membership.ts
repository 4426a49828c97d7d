import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@tidegauge/service';
import { Absences } from './absences.ts';
import { Coordinator, type Job, type Lacking, type State } from './coordinator.ts';
import { type Action, type Bounds, decide, parking, type Sighting, type Worker } from './decide.ts';
import { type Login, type Probed, probe } from './probe.ts';
import { Rebalance } from './rebalance.ts';
import type { Resolve } from './resolve.ts';

export interface Options {
  readonly login: Login;
  readonly host: string;
  readonly port: number;
  readonly workerPort: number;
  readonly resolve: Resolve;
  readonly intervalSeconds: number;
  readonly bounds: Bounds;
  /** Whether to rebalance once, as soon as every worker answers. */
  readonly rebalance: boolean;
}

export const STATES = [
  'active',
  'missing',
  'lost',
  'disabled',
  'returning',
  'unidentified',
  'waiting',
] as const;
export type WorkerState = (typeof STATES)[number];

export const CHANGES = ['identify', 'move', 'disable', 'activate', 'add'] as const;
export const FAILURES = ['resolve', 'coordinator', 'recover', ...CHANGES] as const;

export interface Member {
  readonly id: number;
  readonly address: string;
  readonly identity: string | null;
  readonly state: WorkerState;
  /** Shards of which no other worker has a copy. */
  readonly onlyCopies: number;
}

/** The result of the last round. */
export interface View {
  readonly members: readonly Member[];
  /** Addresses that are not workers yet, with the reason. */
  readonly waiting: ReadonlyMap<string, string>;
  readonly lacking: readonly Lacking[];
  readonly job: Job | null;
}

const NOTHING: View = { members: [], waiting: new Map(), lacking: [], job: null };
// Random variation of the interval, so that several clusters on one network do not query at the same time.
const JITTER = 0.2;
// A round with timeouts is long itself; a longer pause means that the process slept.
const LONGEST_STEP_INTERVALS = 4;

const seconds = (): number => performance.now() / 1000;

/** Keeps the coordinator's list of workers equal to DNS and to the workers themselves, in rounds. */
export class Membership {
  readonly rebalance: Rebalance;
  readonly changes = new Map<string, number>(CHANGES.map((change) => [change, 0]));
  readonly failures = new Map<string, number>(FAILURES.map((failure) => [failure, 0]));
  resolved = 0;
  /** Time when DNS last returned addresses, and of the last successful round; milliseconds since the epoch. */
  lastResolve: number | null = null;
  lastRound: number | null = null;
  view: View = NOTHING;
  readonly #options: Options;
  readonly #logger: Logger;
  readonly #absences: Absences;
  readonly #logged = new Map<string, string>();
  #session: Coordinator | null = null;
  #settled = { addresses: '', since: 0 };
  #rebalanceDue: boolean;

  constructor(options: Options, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#absences = new Absences(options.intervalSeconds * LONGEST_STEP_INTERVALS + 15);
    this.#rebalanceDue = options.rebalance;
    this.rebalance = new Rebalance(options.login, options.host, options.port, logger);
  }

  /** Runs rounds until `signal` is aborted. No failure ends it. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.round();
        this.lastRound = Date.now();
        this.#logged.delete('coordinator');
      } catch (error) {
        this.#fail('coordinator', error);
        await this.#closeSession();
      }
      const spread = 1 + JITTER * (2 * Math.random() - 1);
      await delay(this.#options.intervalSeconds * 1000 * spread, null, { signal }).catch(() => {});
    }
    await this.#closeSession();
    await this.rebalance.stop();
  }

  /** Cancels the current statement by ending its session, so that it is rolled back. */
  cut(): void {
    this.#session?.cut();
  }

  /** Runs one round. Rejects when the coordinator cannot be reached. */
  async round(): Promise<void> {
    const addresses = await this.#addresses();
    const isNewSession = this.#session === null;
    const session = await this.#open();
    let state = await session.read();
    const probed = await this.#probe(addresses ?? [], state, session.version);
    const present = sighted(state, probed.sightings);
    // An empty answer, or one whose addresses are all silent, can be a fault of this network.
    if (addresses === null || addresses.length === 0 || present.size === 0) this.#absences.blind();
    else
      this.#absences.seen(
        state.workers.map(({ id }) => id),
        present,
        seconds(),
      );

    const scene = {
      workers: state.workers.map((worker) => ({ ...worker, absentSeconds: this.#absences.of(worker.id) })),
      coordinator: session.identity,
      resolved: addresses,
      sightings: probed.sightings,
      settledSeconds: seconds() - this.#settled.since,
    };
    const { actions, waiting: held } = decide(scene, this.#options.bounds);
    const waiting = new Map(held);
    if (await this.#carryOut(session, actions, scene.workers)) state = await session.read();
    const members = state.workers.map((worker) => this.#member(worker, probed.sightings));
    if (isNewSession || hasReturned(members, this.view.members)) await this.#recover(session);
    for (const [address, why] of probed.failures) {
      if (addresses?.includes(address) && !members.some((member) => member.address === address)) {
        waiting.set(address, why);
      }
    }
    this.#logWaiting(waiting);
    this.view = { members, waiting, lacking: state.lacking, job: state.job };
    if (this.#rebalanceDue && members.length > 0) {
      this.#rebalanceDue = this.startRebalance() !== null;
    }
  }

  /** Starts a rebalance. Returns null, or the reason why it cannot start. */
  startRebalance(): string | null {
    const { members, lacking, job } = this.view;
    if (this.lastRound === null) return 'the coordinator was not reached yet';
    const away = members.find(
      ({ state }) => state === 'missing' || state === 'lost' || state === 'returning',
    );
    if (away !== undefined) return `worker ${away.id} at ${away.address} is ${away.state}`;
    return this.rebalance.start(lacking, job) ? null : 'one is under way';
  }

  async #addresses(): Promise<readonly string[] | null> {
    try {
      const addresses = await this.#options.resolve();
      this.#logged.delete('resolve');
      this.resolved = addresses.length;
      if (addresses.length > 0) this.lastResolve = Date.now();
      const text = addresses.join(' ');
      if (text !== this.#settled.addresses) this.#settled = { addresses: text, since: seconds() };
      return addresses;
    } catch (error) {
      this.resolved = 0;
      this.#fail('resolve', error);
      return null;
    }
  }

  async #open(): Promise<Coordinator> {
    if (this.#session !== null) return this.#session;
    const { login, host, port, workerPort } = this.#options;
    const session = await Coordinator.open(login, host, port, workerPort);
    this.#session = session;
    if (await session.setHost(host, port))
      this.#logger.info({ host, port }, 'set the host of the coordinator');
    return session;
  }

  /** The last addresses of workers are probed too: a worker that is missing in DNS but answers is present. */
  #probe(addresses: readonly string[], { workers }: State, version: string): Promise<Probed> {
    const known = workers.filter(({ id, address }) => address !== parking(id)).map(({ address }) => address);
    return probe(
      [...new Set([...addresses, ...known])],
      this.#options.workerPort,
      this.#options.login,
      version,
    );
  }

  /** Resolves with whether an action was carried out. */
  async #carryOut(
    session: Coordinator,
    actions: readonly Action[],
    workers: readonly Worker[],
  ): Promise<boolean> {
    for (const action of actions) {
      try {
        await session.carryOut(action);
      } catch (error) {
        this.#fail(action.do, error);
        // Later actions assume that this one succeeds.
        return true;
      }
      this.#logged.delete(action.do);
      const count =
        'steps' in action ? action.steps.length : 'newcomers' in action ? action.newcomers.length : 1;
      this.changes.set(action.do, this.changes.get(action.do)! + count);
      const from = 'steps' in action ? workers.map(({ id, address }) => ({ id, address })) : undefined;
      this.#logger.info(
        { ...action, ...(from === undefined ? {} : { from }) },
        'changed the workers of Citus',
      );
    }
    return actions.length > 0;
  }

  /** Commits what a node prepared before it failed: readings in it are acknowledged, and cannot be seen yet. */
  async #recover(session: Coordinator): Promise<void> {
    try {
      const transactions = await session.recover();
      this.#logged.delete('recover');
      if (transactions > 0) this.#logger.info({ transactions }, 'ended transactions that a failure had left');
    } catch (error) {
      this.#fail('recover', error);
    }
  }

  #member(worker: State['workers'][number], sightings: readonly Sighting[]): Member {
    const { id, address, identity, active, onlyCopies } = worker;
    const here = identity !== null && sightings.some((sighting) => sighting.identity === identity);
    const state = (): WorkerState => {
      if (!active) return here ? 'returning' : 'disabled';
      if (identity === null) return 'unidentified';
      if (here) return 'active';
      return this.#absences.of(id) < this.#options.bounds.lostAfterSeconds ? 'missing' : 'lost';
    };
    return { id, address, identity, onlyCopies, state: state() };
  }

  /** Logs each reason once, when it is new. */
  #logWaiting(waiting: ReadonlyMap<string, string>): void {
    for (const [address, why] of waiting) {
      if (this.view.waiting.get(address) !== why) this.#logger.warn({ address, why }, 'not a worker yet');
    }
  }

  #fail(what: string, error: unknown): void {
    this.failures.set(what, this.failures.get(what)! + 1);
    const { message } = error as Error;
    if (this.#logged.get(what) === message) return;
    this.#logged.set(what, message);
    this.#logger.warn({ err: error, what }, 'failed, will be retried');
  }

  async #closeSession(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await session?.close();
  }
}

/** Whether a worker is active now that was not active, or was at another address, in the last round. */
function hasReturned(members: readonly Member[], before: readonly Member[]): boolean {
  const active = new Set(
    before.flatMap(({ id, address, state }) => (state === 'active' ? `${id} ${address}` : [])),
  );
  return members.some(({ id, address, state }) => state === 'active' && !active.has(`${id} ${address}`));
}

/** Workers that answered with their identity, at any address. */
function sighted({ workers }: State, sightings: readonly Sighting[]): ReadonlySet<number> {
  const identities = new Set(sightings.map(({ identity }) => identity));
  return new Set(
    workers.filter(({ identity }) => identity !== null && identities.has(identity)).map(({ id }) => id),
  );
}
