/** A worker as the coordinator knows it: a row of pg_dist_node, and who it is as far as that is known. */
export interface Worker {
  readonly id: number;
  readonly group: number;
  readonly address: string;
  readonly active: boolean;
  /** `system_identifier` of its data directory, or null when it was added by hand and never asked. */
  readonly identity: string | null;
  /** We disabled it; what a person disabled stays so. */
  readonly disabledByUs: boolean;
  /** Shards of which no other active worker has a copy. */
  readonly onlyCopies: number;
  /** Seconds without a sighting, counted only while there was evidence; see `Absences`. */
  readonly absentSeconds: number;
}

/** What answered at an address that DNS gave, or at which a worker was last. */
export interface Sighting {
  readonly address: string;
  readonly identity: string;
  /** The group that it believes to be: 0 when it never joined a cluster. */
  readonly group: number;
  /** Why it cannot join yet, such as a missing extension; null when it can. */
  readonly unfit: string | null;
}

export interface Scene {
  readonly workers: readonly Worker[];
  /** Who the coordinator itself is. */
  readonly coordinator: string;
  /** Addresses that DNS gave; null when it gave no answer. */
  readonly resolved: readonly string[] | null;
  readonly sightings: readonly Sighting[];
  /** Seconds for which DNS has been giving these addresses. */
  readonly settledSeconds: number;
}

export interface Bounds {
  readonly lostAfterSeconds: number;
  /** The first workers join together once DNS has been quiet for so long, and there are so many. */
  readonly settleSeconds: number;
  readonly founders: number;
}

export type Action =
  | { readonly do: 'identify'; readonly id: number; readonly identity: string }
  /** One transaction, in this order: two may trade places, by way of an address that is nobody's. */
  | { readonly do: 'move'; readonly steps: readonly { readonly id: number; readonly to: string }[] }
  | { readonly do: 'disable'; readonly id: number; readonly address: string }
  | { readonly do: 'activate'; readonly id: number; readonly address: string }
  | { readonly do: 'add'; readonly newcomers: readonly { address: string; identity: string }[] };

export interface Decision {
  readonly actions: readonly Action[];
  /** Addresses that answer and are not taken, each with the reason. */
  readonly waiting: ReadonlyMap<string, string>;
}

/** Where a worker is kept whose address another one has now; reserved never to resolve (RFC 6761, section 6.4). */
export function parking(id: number): string {
  return `worker-${id}.invalid`;
}

/**
 * What has to be done so that the coordinator finds every worker where it is. Nothing is ever removed: a worker
 * that comes back is known by the identity of its data, wherever it comes back. Without evidence nothing is done:
 * no answer of DNS, and an empty one, say something of DNS and of our own network, not of the workers.
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
  // Citus brings metadata to every active worker in one transaction: while one is missing, nobody can join.
  const missing = settled.filter((worker) => worker.active && !present(worker));
  const complete = missing.length === 0;
  for (const worker of settled) {
    const sighting = worker.identity === null ? undefined : seen.get(worker.identity);
    if (sighting === undefined || worker.active || !worker.disabledByUs) continue;
    if (sighting.unfit !== null) waiting.set(worker.address, sighting.unfit);
    else if (!complete)
      waiting.set(worker.address, `waits for ${missing[0]!.address}, which does not answer`);
    else actions.push({ do: 'activate', id: worker.id, address: worker.address });
  }
  const newcomers = strangers(scene, bounds, settled, sightings, waiting);
  if (newcomers.length > 0 && !complete) {
    for (const { address } of newcomers)
      waiting.set(address, `waits for ${missing[0]!.address}, which does not answer`);
  } else if (newcomers.length > 0) {
    actions.push({
      do: 'add',
      newcomers: newcomers.map(({ address, identity }) => ({ address, identity })),
    });
  }
  return { actions, waiting };
}

/** Leaves out the coordinator, and who answers in several places at once: a copied data directory is nobody. */
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

/** A worker that was added by hand is known from the first time that it answers as the group it was given. */
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
 * Brings every worker that was seen to its address, and away from an address where somebody else answers: what is
 * asked of a worker must not go to another one. Whoever stands in the way is parked first, so that no two workers
 * ever have one address, which Citus refuses.
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
    // One that was never asked gives way only to a worker that is known.
    else if (at === undefined && there !== undefined && (identity !== null || owner.has(there)))
      displaced.add(id);
  }
  const wanted = new Set(finals.map(({ to }) => to));
  const parked = workers.filter(({ id, address }) => displaced.has(id) || wanted.has(address));
  return [...parked.map(({ id }) => ({ id, to: parking(id) })), ...finals];
}

/**
 * A worker that is gone for good keeps every write to tables with copies waiting until it is disabled; one with
 * the only copy of a shard cannot be done without. At least half of the active workers must be in sight: when
 * more is gone than that, it is rather us who are cut off. One at a time, since each may make another's copies
 * the only ones.
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

/** Who is nobody's data yet and fit to join. */
function strangers(
  scene: Scene,
  { founders, settleSeconds }: Bounds,
  workers: readonly Worker[],
  sightings: readonly Sighting[],
  waiting: Map<string, string>,
): readonly Sighting[] {
  const known = new Set(workers.map(({ identity }) => identity));
  const unasked = new Set(workers.filter(({ identity }) => identity === null).map(({ address }) => address));
  const resolved = new Set(scene.resolved);
  const newcomers = sightings.filter(({ address, identity, group, unfit }) => {
    if (known.has(identity) || !resolved.has(address)) return false;
    if (unasked.has(address)) waiting.set(address, 'was added by hand and does not answer as that worker');
    // Joining would have it forget what it holds.
    else if (group !== 0) waiting.set(address, 'holds data of another coordinator, or of this one before');
    else if (unfit !== null) waiting.set(address, unfit);
    else return true;
    return false;
  });
  // Tables are cut over the workers that are there: the first ones join in one transaction, or the very first has all.
  if (workers.length > 0 || (newcomers.length >= founders && scene.settledSeconds >= settleSeconds))
    return newcomers;
  for (const { address } of newcomers)
    waiting.set(address, `waits for the first ${founders} workers to settle`);
  return [];
}
