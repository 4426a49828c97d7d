import { type Int64, Messages } from './codec.ts';

// The fields of messages.proto that this client sets or reads. A field that is not sent is 0, false, '' or no bytes.

export interface ServerName {
  readonly hostName: string;
  readonly port: number;
  readonly startCode: Int64 | number;
}

export interface RequestHeader {
  readonly callId: number;
  readonly methodName: string;
  readonly requestParam: true;
  readonly cellBlockMeta?: { readonly length: number };
  readonly priority?: number;
  /** Milliseconds after which the server need not answer. */
  readonly timeout?: number;
}

export interface ResponseHeader {
  readonly callId: number;
  readonly exception: ExceptionResponse | null;
  readonly cellBlockMeta: { readonly length: number } | null;
}

export interface ExceptionResponse {
  readonly exceptionClassName: string;
  readonly stackTrace: string;
  readonly hostname: string;
  readonly port: number;
  readonly doNotRetry: boolean;
  readonly serverOverloaded: boolean;
}

export interface VersionInfo {
  readonly version: string;
  readonly url: string;
  readonly revision: string;
  readonly user: string;
  readonly date: string;
  readonly srcChecksum: string;
  readonly versionMajor?: number;
  readonly versionMinor?: number;
}

export interface ConnectionHeader {
  readonly userInfo: { readonly effectiveUser: string };
  readonly serviceName: string;
  readonly cellBlockCodecClass: string;
  readonly versionInfo: VersionInfo;
}

export interface RegionInfoMessage {
  readonly regionId: Int64;
  readonly tableName: { readonly namespace: Buffer; readonly qualifier: Buffer };
  readonly startKey: Buffer;
  readonly endKey: Buffer;
  readonly offline: boolean;
  readonly split: boolean;
  readonly replicaId: number;
}

/** hbase:meta has one per table, in the column table:state. */
export const TABLE_STATES = { enabled: 0, disabled: 1, disabling: 2, enabling: 3 } as const;

export const REGION_NAME = 1;

export interface RegionSpecifier {
  readonly type: typeof REGION_NAME;
  readonly value: Buffer;
}

export interface NameBytesPair {
  readonly name: string;
  readonly value: Buffer;
}

export interface TimeRangeMessage {
  readonly from: number;
  readonly to: number;
}

export interface ColumnMessage {
  readonly family: Buffer;
  readonly qualifier: readonly Buffer[];
}

export interface FilterMessage {
  readonly name: string;
  readonly serializedFilter: Buffer;
}

export interface ComparatorMessage {
  readonly name: string;
  readonly serializedComparator: Buffer;
}

export interface GetMessage {
  readonly row: Buffer;
  readonly column: readonly ColumnMessage[];
  readonly filter?: FilterMessage;
  readonly timeRange?: TimeRangeMessage;
  readonly maxVersions?: number;
  readonly cacheBlocks?: boolean;
  readonly existenceOnly?: boolean;
}

export interface ResultMessage {
  readonly cell: readonly Buffer[];
  readonly associatedCellCount: number;
  readonly exists: boolean;
  readonly partial: boolean;
}

export interface ConditionMessage {
  readonly row: Buffer;
  readonly family?: Buffer;
  readonly qualifier?: Buffer;
  readonly compareType?: number;
  readonly comparator?: ComparatorMessage;
  readonly timeRange?: TimeRangeMessage;
  readonly filter?: FilterMessage;
}

export const MUTATION_TYPES = { append: 0, increment: 1, put: 2, delete: 3 } as const;
export const DURABILITIES = { default: 0, skip: 1, async: 2, sync: 3, fsync: 4 } as const;

export interface MutationMessage {
  readonly row: Buffer;
  readonly mutateType: number;
  readonly timestamp?: number;
  readonly durability?: number;
  readonly associatedCellCount: number;
  readonly nonce?: Int64;
}

export interface ScanMessage {
  readonly column: readonly ColumnMessage[];
  readonly startRow: Buffer;
  readonly stopRow: Buffer;
  readonly includeStartRow: boolean;
  readonly includeStopRow: boolean;
  readonly reversed: boolean;
  readonly maxResultSize: number;
  readonly filter?: FilterMessage;
  readonly timeRange?: TimeRangeMessage;
  readonly maxVersions?: number;
  readonly cacheBlocks?: boolean;
}

export interface ScanRequest {
  readonly region?: RegionSpecifier;
  readonly scan?: ScanMessage;
  readonly scannerId?: Int64;
  readonly numberOfRows?: number;
  readonly closeScanner?: boolean;
  readonly nextCallSeq?: number;
  readonly clientHandlesPartials?: boolean;
  readonly clientHandlesHeartbeats?: boolean;
  readonly renew?: boolean;
  readonly limitOfRows?: number;
}

export interface ScanResponse {
  readonly cellsPerResult: readonly number[];
  readonly scannerId: Int64;
  readonly moreResults: boolean;
  /** Milliseconds that the server keeps the scanner between calls. */
  readonly ttl: number;
  readonly results: readonly ResultMessage[];
  readonly partialFlagPerResult: readonly boolean[];
  readonly moreResultsInRegion: boolean;
  readonly heartbeatMessage: boolean;
}

export interface Action {
  readonly index: number;
  readonly mutation?: MutationMessage;
  readonly get?: GetMessage;
}

export interface RegionAction {
  readonly region: RegionSpecifier;
  readonly action: readonly Action[];
  readonly atomic?: boolean;
  readonly condition?: ConditionMessage;
}

export interface RegionActionResult {
  readonly resultOrException: readonly {
    readonly index: number;
    readonly result: ResultMessage | null;
    readonly exception: NameBytesPair | null;
  }[];
  readonly exception: NameBytesPair | null;
  readonly processed: boolean;
}

export const messages = new Messages('messages.proto');

export const ConnectionHeader = messages.codec<ConnectionHeader>('ConnectionHeader');
export const RequestHeader = messages.codec<RequestHeader>('RequestHeader');
export const ResponseHeader = messages.codec<ResponseHeader>('ResponseHeader');
export const TableState = messages.codec<{ readonly state: number }>('TableState');
export const RegionInfo = messages.codec<RegionInfoMessage>('RegionInfo');

/** The content of znodes after the magic `PBUF`. */
export const MetaRegionServer = messages.codec<{ readonly server: ServerName }>('MetaRegionServer');
export const ActiveMaster = messages.codec<{ readonly master: ServerName }>('Master');
export const RegionServerInfo = messages.codec<{ readonly versionInfo: VersionInfo | null }>(
  'RegionServerInfo',
);

const CLIENT = 'ClientService';
const REGISTRY = 'ClientMetaService';

export const METHODS = {
  get: messages.method<
    { readonly region: RegionSpecifier; readonly get: GetMessage },
    { readonly result: ResultMessage | null }
  >(CLIENT, 'Get'),
  mutate: messages.method<
    {
      readonly region: RegionSpecifier;
      readonly mutation: MutationMessage;
      readonly condition?: ConditionMessage;
      readonly nonceGroup?: Int64;
    },
    { readonly result: ResultMessage | null; readonly processed: boolean }
  >(CLIENT, 'Mutate'),
  scan: messages.method<ScanRequest, ScanResponse>(CLIENT, 'Scan'),
  multi: messages.method<
    { readonly regionAction: readonly RegionAction[]; readonly nonceGroup?: Int64 },
    { readonly regionActionResult: readonly RegionActionResult[]; readonly processed: boolean }
  >(CLIENT, 'Multi'),
  activeMaster: messages.method<object, { readonly serverName: ServerName | null }>(
    REGISTRY,
    'GetActiveMaster',
  ),
  metaLocations: messages.method<
    object,
    {
      readonly metaLocations: readonly {
        readonly regionInfo: RegionInfoMessage;
        readonly serverName: ServerName | null;
      }[];
    }
  >(REGISTRY, 'GetMetaRegionLocations'),
} as const;
