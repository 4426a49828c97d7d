import { type Int64, Messages, type Method } from './codec.ts';
import type { RegionSpecifier, ServerName } from './messages.ts';

// The fields of admin.proto that this client sets or reads.

export interface TableNameMessage {
  readonly namespace: Buffer;
  readonly qualifier: Buffer;
}

export interface BytesPair {
  readonly first: Buffer;
  readonly second: Buffer;
}

export interface FamilyMessage {
  readonly name: Buffer;
  readonly attributes: readonly BytesPair[];
  readonly configuration?: readonly { readonly name: string; readonly value: string }[];
}

export interface TableMessage {
  readonly tableName: TableNameMessage;
  readonly attributes: readonly BytesPair[];
  readonly columnFamilies: readonly FamilyMessage[];
}

/** Identifies a request, so that the master can recognize a repeated one. */
export interface Nonce {
  readonly nonceGroup: Int64;
  readonly nonce: Int64;
}

export interface ProcedureStarted {
  readonly procId: Int64;
}

/** A call that starts a procedure on the master. Its nonce is added when the call is made. */
export type ProcedureMethod<Request> = Method<Request & Nonce, ProcedureStarted>;

export const PROCEDURE_STATES = { notFound: 0, running: 1, finished: 2 } as const;

export interface ProcedureResult {
  readonly state: number;
  readonly exception: {
    readonly genericException: { readonly className: string; readonly message: string } | null;
  } | null;
}

/** ClusterStatus.proto, Option. */
export const SERVERS_NAME = 10;
/** HBase.proto, RegionSpecifierType: the master requires encoded names of regions. */
export const ENCODED_REGION_NAME = 2;

interface EncodedRegion {
  readonly type: typeof ENCODED_REGION_NAME;
  readonly value: Buffer;
}

/** `table` is absent where only the name counts. */
export interface SnapshotMessage {
  readonly name: string;
  readonly table?: string;
}

interface OfSnapshot {
  readonly snapshot: SnapshotMessage;
}

interface OfTable {
  readonly tableName: TableNameMessage;
}

const messages = new Messages('messages.proto', 'admin.proto');

const MASTER = 'MasterService';

/** `request` and `response` are for calls whose messages have other names than the call. */
function method<Request, Response>(
  name: string,
  request = name,
  response = request,
): Method<Request, Response> {
  return {
    service: MASTER,
    name,
    request: messages.codec<Request>(`${request}Request`),
    response: messages.codec<Response>(`${response}Response`),
  };
}

function procedure<Request>(name: string, request = name): ProcedureMethod<Request> {
  return method<Request & Nonce, ProcedureStarted>(name, request, 'Procedure');
}

export const MASTER_METHODS = {
  createNamespace: procedure<{ readonly namespaceDescriptor: { readonly name: Buffer } }>('CreateNamespace'),
  deleteNamespace: procedure<{ readonly namespaceName: string }>('DeleteNamespace'),
  listNamespaces: method<object, { readonly namespaceName: readonly string[] }>('ListNamespaces'),
  createTable: procedure<{ readonly tableSchema: TableMessage; readonly splitKeys: readonly Buffer[] }>(
    'CreateTable',
  ),
  enableTable: procedure<OfTable>('EnableTable'),
  disableTable: procedure<OfTable>('DisableTable'),
  deleteTable: procedure<OfTable>('DeleteTable'),
  truncateTable: procedure<OfTable & { readonly preserveSplits: boolean }>('truncateTable', 'TruncateTable'),
  addColumn: procedure<OfTable & { readonly columnFamilies: FamilyMessage }>('AddColumn'),
  modifyColumn: procedure<OfTable & { readonly columnFamilies: FamilyMessage }>('ModifyColumn'),
  deleteColumn: procedure<OfTable & { readonly columnName: Buffer }>('DeleteColumn'),
  splitRegion: procedure<{
    readonly regionInfo: {
      readonly regionId: number;
      readonly tableName: TableNameMessage;
      readonly startKey: Buffer;
      readonly endKey: Buffer;
      readonly replicaId: number;
    };
    readonly splitRow?: Buffer;
  }>('SplitRegion', 'SplitTableRegion'),
  mergeRegions: procedure<{ readonly region: readonly EncodedRegion[]; readonly forcible: boolean }>(
    'MergeTableRegions',
  ),
  moveRegion: method<{ readonly region: EncodedRegion; readonly destServerName?: ServerName }, object>(
    'MoveRegion',
  ),
  balance: method<object, { readonly balancerRan: boolean }>('Balance'),
  setBalancer: method<
    { readonly on: boolean; readonly synchronous: boolean },
    { readonly prevBalanceValue: boolean }
  >('SetBalancerRunning'),
  tableNames: method<{ readonly namespace?: string }, { readonly tableNames: readonly TableNameMessage[] }>(
    'GetTableNames',
  ),
  tableDescriptors: method<
    { readonly tableNames: readonly TableNameMessage[] },
    { readonly tableSchema: readonly TableMessage[] }
  >('GetTableDescriptors'),
  tableState: method<OfTable, { readonly tableState: { readonly state: number } }>('GetTableState'),
  clusterStatus: method<
    { readonly options: readonly number[] },
    { readonly clusterStatus: { readonly serversName: readonly ServerName[] } }
  >('GetClusterStatus'),
  snapshot: method<OfSnapshot, object>('Snapshot'),
  isSnapshotDone: method<OfSnapshot, { readonly done: boolean }>('IsSnapshotDone'),
  restoreSnapshot: procedure<OfSnapshot>('RestoreSnapshot'),
  deleteSnapshot: method<OfSnapshot, object>('DeleteSnapshot'),
  completedSnapshots: method<object, { readonly snapshots: readonly SnapshotMessage[] }>(
    'GetCompletedSnapshots',
  ),
  procedureResult: method<ProcedureStarted, ProcedureResult>('getProcedureResult', 'GetProcedureResult'),
} as const;

/** A call of a region server. */
export const flushRegion = messages.method<{ readonly region: RegionSpecifier }, object>(
  'AdminService',
  'FlushRegion',
);
