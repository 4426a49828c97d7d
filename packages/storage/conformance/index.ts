import { describe } from 'node:test';
import { concurrency } from './concurrency.ts';
import { crash } from './crash.ts';
import { devices } from './devices.ts';
import { identity } from './identity.ts';
import { leases } from './leases.ts';
import { lifecycle } from './lifecycle.ts';
import { readingsAggregate } from './readings-aggregate.ts';
import { readingsDelete } from './readings-delete.ts';
import { readingsDevices } from './readings-devices.ts';
import { readingsExpire } from './readings-expire.ts';
import { readingsGroupRollups } from './readings-group-rollups.ts';
import { rangeOfDevices, readingsGroups } from './readings-groups.ts';
import { readingsLatest } from './readings-latest.ts';
import { readingsRange } from './readings-range.ts';
import { readingsRollUp } from './readings-roll-up.ts';
import { readingsUnits } from './readings-units.ts';
import { readingsWrite } from './readings-write.ts';
import { recordLoads } from './record-loads.ts';
import { recordTables } from './record-tables.ts';
import { records } from './records.ts';
import { rollups } from './rollups.ts';
import { type StoreTarget, withOnePlace } from './target.ts';

export { testDerived } from './open.ts';
export type { Outsider } from './outsider.ts';
export type { StorePlace, StoreTarget } from './target.ts';

const SUBJECTS = [
  lifecycle,
  leases,
  identity,
  readingsWrite,
  readingsRange,
  readingsLatest,
  readingsAggregate,
  readingsGroups,
  readingsGroupRollups,
  rangeOfDevices,
  readingsRollUp,
  readingsDelete,
  readingsExpire,
  readingsUnits,
  readingsDevices,
  devices,
  rollups,
  records,
  recordLoads,
  recordTables,
  concurrency,
  crash,
];
/** Subjects whose outcome can depend on the number of nodes: copies, conditional writes, retries, failures. */
const OF_CLUSTERS = [readingsWrite, devices, records, concurrency, crash];

/** Readings of the largest call on a cluster, each of which every node stores. One node gets more. */
const CLUSTERS_LARGEST_CALL = 20_000;

/** Subjects that use only their own names, so that they can share a database. The others count what is in theirs. */
const SHARING: ReadonlySet<(target: StoreTarget) => void> = new Set([
  leases,
  identity,
  readingsWrite,
  readingsRange,
  readingsLatest,
  readingsAggregate,
  rangeOfDevices,
  readingsDelete,
  devices,
  records,
  recordLoads,
  concurrency,
  crash,
]);

/**
 * Registers the suite that every store must pass, with node's test runner. It reads differences from the
 * capabilities of the store, not from its name, and tests each capability in both directions. With
 * `ofClustersOnly`, only the subjects that several nodes can change. With `isShared`, subjects share a database where they
 * can: a server takes seconds to make its tables.
 */
export function describeStore(target: StoreTarget, { ofClustersOnly = false, isShared = false } = {}): void {
  describe(`store ${target.name}`, () => {
    const own: StoreTarget = ofClustersOnly ? { ...target, largestCall: CLUSTERS_LARGEST_CALL } : target;
    const shared = isShared ? withOnePlace(own) : own;
    for (const subject of ofClustersOnly ? OF_CLUSTERS : SUBJECTS)
      subject(SHARING.has(subject) ? shared : own);
  });
}
