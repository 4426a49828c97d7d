/** A worker in the coordinator's metadata (a row of pg_dist_node), with its identity if that is known. */
export interface Worker {
  readonly id: number;
  readonly group: number;
  readonly address: string;
  readonly active: boolean;
  /** `system_identifier` of its data directory; null when it was added manually and has not been probed. */
  readonly identity: string | null;
  /** Whether this service disabled it. A worker that an administrator disabled stays disabled. */
  readonly disabledByUs: boolean;
  /** Shards of which no other active worker has a copy. */
  readonly onlyCopies: number;
  /** Seconds of absence, counted only while there was evidence; see `Absences`. */
  readonly absentSeconds: number;
}

/** A server that answered at an address from DNS, or at the last address of a worker. */
export interface Sighting {
  readonly address: string;
  readonly identity: string;
  /** Its own group id: 0 when it never joined a cluster. */
  readonly group: number;
  /** Why it cannot join yet, such as a missing extension; null when it can. */
  readonly unfit: string | null;
}

export interface Scene {
  readonly workers: readonly Worker[];
  /** The identity of the coordinator. */
  readonly coordinator: string;
  /** The addresses from DNS; null when DNS did not answer. */
  readonly resolved: readonly string[] | null;
  readonly sightings: readonly Sighting[];
  /** Seconds since the addresses from DNS last changed. */
  readonly settledSeconds: number;
}

export interface Bounds {
  readonly lostAfterSeconds: number;
  /** The first workers join together when DNS has not changed for this long and there are `founders` of them. */
  readonly settleSeconds: number;
  readonly founders: number;
}

export type Action =
  | { readonly do: 'identify'; readonly id: number; readonly identity: string }
  /** One transaction, in this order. Two workers can exchange addresses by way of a parking address. */
  | { readonly do: 'move'; readonly steps: readonly { readonly id: number; readonly to: string }[] }
  | { readonly do: 'disable'; readonly id: number; readonly address: string }
  | { readonly do: 'activate'; readonly id: number; readonly address: string }
  | { readonly do: 'add'; readonly newcomers: readonly { address: string; identity: string }[] };

export interface Decision {
  readonly actions: readonly Action[];
  /** Addresses that answer and cannot join yet, with the reason. */
  readonly waiting: ReadonlyMap<string, string>;
}

/** The address of a worker whose address belongs to another one now. It never resolves (RFC 6761, section 6.4). */
export function parking(id: number): string {
  return `worker-${id}.invalid`;
}

/**
 * Decides which actions make the coordinator's metadata correct. No worker is ever removed: a worker that returns is
 * recognised by the identity of its data, at any address. Without evidence there are no actions: a missing or empty
 * answer of DNS is evidence about DNS and the network, not about the workers.
 */
export function decide(scene: Scene, bounds: Bounds): Decision {
  const waiting = new Map<string, string>();
  if (scene.resolved === null || scene.resolved.length === 0) return { actions: [], waiting };

  const sightings = unambiguous(scene, waiting);
  const { workers, identified } = adopt(scene.workers, sightings);
  const steps = moves(workers, sightings);
  const settled = steps.reduce(
    (now, { id, to }) => now.map((worker) => (worker.id === id ? { ...worker, address: to } : worker)),
    workers,
  );
  const seen = new Map(sightings.map((sighting) => [sighting.identity, sighting]));
  const present = (worker: Worker): boolean => worker.identity !== null && seen.has(worker.identity);

  const actions: Action[] = [...identified];
  if (steps.length > 0) actions.push({ do: 'move', steps });
  actions.push(...disabling(settled, present, bounds));
  // Citus copies metadata to every active worker in one transaction, so no worker can join while one is missing.
  const missing = settled.find((worker) => worker.active && !present(worker));
  const obstacle = missing === undefined ? null : `waits for ${missing.address}, which does not answer`;
  actions.push(...activating(settled, seen, obstacle, waiting));
  const newcomers = strangers(scene, bounds, settled, sightings, waiting);
  if (obstacle !== null) for (const { address } of newcomers) waiting.set(address, obstacle);
  else if (newcomers.length > 0) {
    actions.push({
      do: 'add',
      newcomers: newcomers.map(({ address, identity }) => ({ address, identity })),
    });
  }
  return { actions, waiting };
}

/** Activates workers that this service disabled and that answer again. Adds to `waiting` why others cannot join. */
function activating(
  workers: readonly Worker[],
  seen: ReadonlyMap<string, Sighting>,
  obstacle: string | null,
  waiting: Map<string, string>,
): Action[] {
  const actions: Action[] = [];
  for (const worker of workers) {
    const sighting = worker.identity === null ? undefined : seen.get(worker.identity);
    if (sighting === undefined || worker.active || !worker.disabledByUs) continue;
    const reason = sighting.unfit ?? obstacle;
    if (reason === null) actions.push({ do: 'activate', id: worker.id, address: worker.address });
    else waiting.set(worker.address, reason);
  }
  return actions;
}

/** Leaves out the coordinator, and identities that answer at several addresses, which are copied data directories. */
function unambiguous(scene: Scene, waiting: Map<string, string>): Sighting[] {
  const count = new Map<string, number>();
  for (const { identity } of scene.sightings) count.set(identity, (count.get(identity) ?? 0) + 1);
  return scene.sightings.filter(({ address, identity }) => {
    if (identity === scene.coordinator) waiting.set(address, 'is the coordinator itself');
    else if (count.get(identity)! > 1)
      waiting.set(address, 'answers at several addresses with the same data');
    else return true;
    return false;
  });
}

/** Identifies workers that were added manually, when they first answer with their group id. */
function adopt(
  workers: readonly Worker[],
  sightings: readonly Sighting[],
): { readonly workers: readonly Worker[]; readonly identified: readonly Action[] } {
  const taken = new Set(workers.map(({ identity }) => identity));
  const identified: Action[] = [];
  const known = workers.map((worker) => {
    if (worker.identity !== null) return worker;
    const there = sightings.find(
      ({ address, group }) => address === worker.address && group === worker.group,
    );
    if (there === undefined || taken.has(there.identity)) return worker;
    taken.add(there.identity);
    identified.push({ do: 'identify', id: worker.id, identity: there.identity });
    return { ...worker, identity: there.identity };
  });
  return { workers: known, identified };
}

/**
 * Moves every sighted worker to its address, and away from addresses where another server answers, because statements
 * for a worker must not reach another one. A worker at a needed address is parked first, so that no two workers have
 * one address, which Citus refuses.
 */
function moves(workers: readonly Worker[], sightings: readonly Sighting[]): { id: number; to: string }[] {
  const owner = new Map(workers.map((worker) => [worker.identity, worker.id]));
  const answersAt = new Map(sightings.map((sighting) => [sighting.address, sighting.identity]));
  const seenAt = new Map(sightings.map((sighting) => [sighting.identity, sighting.address]));
  const finals: { id: number; to: string }[] = [];
  const displaced = new Set<number>();
  for (const { id, identity, address } of workers) {
    const at = identity === null ? undefined : seenAt.get(identity);
    const there = answersAt.get(address);
    if (at !== undefined && at !== address) finals.push({ id, to: at });
    // A worker that was never probed is only moved for a known worker.
    else if (at === undefined && there !== undefined && (identity !== null || owner.has(there)))
      displaced.add(id);
  }
  const wanted = new Set(finals.map(({ to }) => to));
  const parked = workers.filter(({ id, address }) => displaced.has(id) || wanted.has(address));
  return [...parked.map(({ id }) => ({ id, to: parking(id) })), ...finals];
}

/**
 * Decides which lost worker to disable. A lost worker blocks writes to tables with copies until it is disabled; a
 * worker with the only copy of a shard cannot be disabled. At least half of the active workers must be sighted:
 * otherwise this process is probably cut off itself. One worker is disabled at a time, because each one can make the
 * copies of another the only ones.
 */
function disabling(
  workers: readonly Worker[],
  present: (worker: Worker) => boolean,
  { lostAfterSeconds }: Bounds,
): Action[] {
  const active = workers.filter((worker) => worker.active);
  const inSight = active.filter(present).length;
  if (inSight === 0 || inSight * 2 < active.length) return [];
  const lost = active.find(
    (worker) =>
      worker.identity !== null &&
      !present(worker) &&
      worker.absentSeconds >= lostAfterSeconds &&
      worker.onlyCopies === 0,
  );
  return lost === undefined ? [] : [{ do: 'disable', id: lost.id, address: lost.address }];
}

/** Servers that belong to no cluster and can join. */
function strangers(
  scene: Scene,
  { founders, settleSeconds }: Bounds,
  workers: readonly Worker[],
  sightings: readonly Sighting[],
  waiting: Map<string, string>,
): readonly Sighting[] {
  const known = new Set(workers.map(({ identity }) => identity));
  const unidentified = new Set(
    workers.filter(({ identity }) => identity === null).map(({ address }) => address),
  );
  const resolved = new Set(scene.resolved);
  const newcomers = sightings.filter(({ address, identity, group, unfit }) => {
    if (known.has(identity) || !resolved.has(address)) return false;
    if (unidentified.has(address))
      waiting.set(address, 'was added manually and does not answer as that worker');
    // Joining would discard its data.
    else if (group !== 0) waiting.set(address, 'holds data of another coordinator, or of this one before');
    else if (unfit !== null) waiting.set(address, unfit);
    else return true;
    return false;
  });
  // Tables are distributed over the existing workers. The first workers join in one transaction, because otherwise
  // the first one would get all shards.
  if (workers.length > 0 || (newcomers.length >= founders && scene.settledSeconds >= settleSeconds))
    return newcomers;
  for (const { address } of newcomers)
    waiting.set(address, `waits for the first ${founders} workers to settle`);
  return [];
}
