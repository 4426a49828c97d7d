import { EMPTY } from './cells.ts';
import { toNumber } from './codec.ts';
import { REGION_NAME, RegionInfo, type RegionSpecifier } from './messages.ts';
import { unmarked } from './registry.ts';
import type { Row } from './row.ts';
import type { ServerAddress } from './servers.ts';

export const META_TABLE = 'hbase:meta';

/** A region and its server. Its key range is [start, end). An empty end is the end of the table. */
export interface Region {
  readonly table: string;
  /** The name that the server uses. */
  readonly name: Buffer;
  /** The name for messages. */
  readonly label: string;
  readonly start: Buffer;
  readonly end: Buffer;
  readonly server: ServerAddress;
  /** Distinguishes the server from one that has the same address after a restart. */
  readonly startCode: string;
}

/** A row of hbase:meta: the region and its state. */
export interface MetaRow {
  readonly table: string;
  /** The name of the region that the server uses. */
  readonly name: Buffer;
  readonly start: Buffer;
  readonly end: Buffer;
  readonly isOffline: boolean;
  /** The number of the replica. Replica 0 accepts writes. */
  readonly replica: number;
  /** RegionState.State; empty in tables of HBase 1. */
  readonly state: string;
  readonly region: Region | null;
}

const INFO = Buffer.from('info');
const REGION_INFO = Buffer.from('regioninfo');
const SERVER = Buffer.from('server');
const START_CODE = Buffer.from('serverstartcode');
const STATE = Buffer.from('state');

export function metaRegion(server: ServerAddress): Region {
  const name = `${META_TABLE},,1`;
  return {
    table: META_TABLE,
    name: Buffer.from(name),
    label: name,
    start: EMPTY,
    end: EMPTY,
    server,
    startCode: '',
  };
}

export function specify({ name }: Region): RegionSpecifier {
  return { type: REGION_NAME, value: name };
}

/** Null for other rows (states of tables). Keys are copied, because they are kept longer than the answer. */
export function readMetaRow(row: Row): MetaRow | null {
  const bytes = row.value(INFO, REGION_INFO);
  if (bytes === undefined || bytes.length === 0) return null;
  const info = RegionInfo.decode(unmarked(bytes));
  const { namespace, qualifier } = info.tableName;
  const table = tableLabel(namespace.toString(), qualifier.toString());
  const [start, end] = [Buffer.from(info.startKey), Buffer.from(info.endKey)];
  const server = readAddress(row.value(INFO, SERVER));
  const name = Buffer.from(row.key);
  const startCode = row.value(INFO, START_CODE)?.toString('hex') ?? '';
  return {
    table,
    name,
    start,
    end,
    isOffline: info.offline || info.split,
    replica: toNumber(info.replicaId),
    state: row.value(INFO, STATE)?.toString() ?? '',
    region: server === null ? null : { table, name, label: label(name), start, end, server, startCode },
  };
}

/** A table's name in the form that HBase prints: without the namespace `default`. */
export function tableLabel(namespace: string, qualifier: string): string {
  return namespace === 'default' ? qualifier : `${namespace}:${qualifier}`;
}

function readAddress(bytes: Buffer | undefined): ServerAddress | null {
  if (bytes === undefined || bytes.length === 0) return null;
  const text = bytes.toString();
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

/** A name in the form of Bytes.toStringBinary. A long name is shortened. */
export function label(name: Buffer): string {
  const text = name.toString('latin1').replace(/[^\x20-\x7e]/g, (char) => {
    return `\\x${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return text.length <= 200 ? text : `${text.slice(0, 120)}...${text.slice(-60)}`;
}
