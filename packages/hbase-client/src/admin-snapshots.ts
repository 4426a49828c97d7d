import { MASTER_METHODS, type SnapshotMessage } from './admin-messages.ts';
import type { Cluster } from './cluster.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { shortTableName } from './table-name.ts';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** The message for a snapshot of a table. @throws {TypeError} */
export function snapshotOf(name: string, table: string): SnapshotMessage {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) {
    throw new TypeError(`a snapshot has letters, digits, "_", "." and "-", not ${JSON.stringify(name)}`);
  }
  return { name, table: shortTableName(table) };
}

/** The request has no nonce, because HBase 2.4 takes none. So the master refuses a repeated one by its name. */
export async function takeSnapshot(
  cluster: Cluster,
  snapshot: SnapshotMessage,
  deadline: Deadline,
): Promise<void> {
  await cluster.callMaster(MASTER_METHODS.snapshot, { snapshot }, deadline, true);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if ((await cluster.callMaster(MASTER_METHODS.isSnapshotDone, { snapshot }, deadline, false)).done) return;
    if (deadline.left <= pause) {
      const message = `snapshot ${snapshot.name} of ${snapshot.table} is not complete by the deadline`;
      const hint = 'the master may still be working on it: list the snapshots';
      throw new HBaseError('OUTCOME_UNKNOWN', message, { maybeApplied: true, hint });
    }
    await cluster.pauses.wait(pause);
  }
}
