import { ENCODED_REGION_NAME, flushRegion, MASTER_METHODS, SERVERS_NAME } from './admin-messages.ts';
import { type Bytes, toBytes } from './cells.ts';
import type { Cluster } from './cluster.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { type ServerName, TABLE_STATES } from './messages.ts';
import { carryOut } from './procedures.ts';
import { label, type MetaRow, specify } from './region.ts';
import { Retry } from './retry.ts';
import type { ServerAddress } from './servers.ts';
import { readTableName, shortTableName } from './table-name.ts';

/** A region of a table, as read from hbase:meta. */
export interface RegionLocation {
  readonly table: string;
  /** The name in the form that HBase prints. */
  readonly name: string;
  /** The last part of the name. The master, its log and the directories use it. */
  readonly encodedName: string;
  /** When the region was created, in milliseconds. It distinguishes regions with the same start key. */
  readonly id: number;
  /** The first key. Empty: the start of the table. */
  readonly start: Buffer;
  /** The first key after the region. Empty: the end of the table. */
  readonly end: Buffer;
  /** The server that has the region, or null while no server has it. */
  readonly server: ServerAddress | null;
  /** `OPEN`, `OPENING`, `CLOSED` and so on: RegionState.State. */
  readonly state: string;
}

/** @throws {HBaseError} TABLE_NOT_FOUND */
export async function listRegions(
  cluster: Cluster,
  table: string,
  deadline: Deadline,
): Promise<RegionLocation[]> {
  return (await readRegions(cluster, table, deadline)).map(toLocation);
}

export async function isEnabled(cluster: Cluster, table: string, deadline: Deadline): Promise<boolean> {
  const request = { tableName: readTableName(table) };
  const { tableState } = await cluster.callMaster(MASTER_METHODS.tableState, request, deadline, false);
  return tableState.state === TABLE_STATES.enabled;
}

export async function listServers(cluster: Cluster, deadline: Deadline): Promise<readonly ServerName[]> {
  const request = { options: [SERVERS_NAME] };
  const { clusterStatus } = await cluster.callMaster(MASTER_METHODS.clusterStatus, request, deadline, false);
  return clusterStatus.serversName;
}

export async function splitRegion(
  cluster: Cluster,
  region: RegionLocation,
  at: Bytes | null,
  deadline: Deadline,
): Promise<void> {
  const { table, id, start, end } = region;
  const regionInfo = {
    regionId: id,
    tableName: readTableName(table),
    startKey: start,
    endKey: end,
    replicaId: 0,
  };
  const request = at === null ? { regionInfo } : { regionInfo, splitRow: toBytes(at) };
  await carryOut(cluster, `split region ${region.name}`, MASTER_METHODS.splitRegion, request, deadline);
}

export async function mergeRegions(
  cluster: Cluster,
  regions: readonly RegionLocation[],
  deadline: Deadline,
): Promise<void> {
  if (regions.length < 2) throw new TypeError('a merge takes two regions or more');
  const request = { region: regions.map(specifyEncoded), forcible: false };
  const what = `merge regions ${regions.map(({ name }) => name).join(' and ')}`;
  await carryOut(cluster, what, MASTER_METHODS.mergeRegions, request, deadline);
}

export async function moveRegion(
  cluster: Cluster,
  region: RegionLocation,
  server: ServerAddress | null,
  deadline: Deadline,
): Promise<void> {
  const request = {
    region: specifyEncoded(region),
    ...(server === null ? {} : { destServerName: await findServer(cluster, server, deadline) }),
  };
  // The call may be repeated: a region that is already at the server stays there.
  await cluster.callMaster(MASTER_METHODS.moveRegion, request, deadline, true);
}

/** Writes the memory of every region of the table to files. */
export async function flushTable(cluster: Cluster, table: string, deadline: Deadline): Promise<void> {
  const retry = new Retry(deadline, cluster.pauses, false);
  const flushed = new Set<string>();
  for (;;) {
    const regions = await readRegions(cluster, table, deadline);
    const left = regions.filter(({ name }) => !flushed.has(label(name)));
    const outcomes = await Promise.allSettled(left.map((region) => flush(cluster, region, deadline)));
    for (const [index, { name }] of left.entries()) {
      if (outcomes[index]!.status === 'fulfilled') flushed.add(label(name));
    }
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure === undefined) return;
    // A region that moved may have been split or closed since, so the regions are listed again.
    if (!(await isEnabled(cluster, table, deadline))) {
      throw new HBaseError('TABLE_DISABLED', `table ${table} is disabled`, { hint: 'enable the table' });
    }
    await retry.afterFailure(failure.reason);
  }
}

async function flush(cluster: Cluster, { region, name }: MetaRow, deadline: Deadline): Promise<void> {
  if (region === null) {
    throw new HBaseError('UNAVAILABLE', `no server has region ${label(name)} now`, { remedy: 'wait' });
  }
  await cluster.callRegion(region, flushRegion, { region: specify(region) }, { deadline });
}

async function findServer(cluster: Cluster, server: ServerAddress, deadline: Deadline): Promise<ServerName> {
  const live = await listServers(cluster, deadline);
  const found = live.find(({ hostName, port }) => hostName === server.host && port === server.port);
  if (found !== undefined) return found;
  const names = live.map(({ hostName, port }) => `${hostName}:${port}`).join(', ');
  throw new HBaseError('REJECTED', `${server.host}:${server.port} is not a running region server`, {
    hint: `the running region servers are ${names}`,
  });
}

async function readRegions(cluster: Cluster, table: string, deadline: Deadline): Promise<MetaRow[]> {
  const rows = await cluster.locations.all(shortTableName(table), deadline);
  // A table has at least one region.
  if (rows.length > 0) return rows;
  throw new HBaseError('TABLE_NOT_FOUND', `there is no table ${table}`, { hint: 'create the table' });
}

/** A region's name is `table,start,id.encoded.`. The start can contain any bytes. */
function toLocation({ table, name, start, end, region, state }: MetaRow): RegionLocation {
  const [, id = '0', encodedName = ''] = /,(\d+)\.([0-9a-f]{32})\.$/.exec(name.toString('latin1')) ?? [];
  const server = region?.server ?? null;
  return { table, name: label(name), encodedName, id: Number(id), start, end, server, state };
}

function specifyEncoded({ encodedName }: RegionLocation) {
  return { type: ENCODED_REGION_NAME, value: Buffer.from(encodedName) } as const;
}
