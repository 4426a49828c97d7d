import { StoreError } from '../errors.ts';
import { choice, integer, type Option, type OptionValues, readOptions, word } from '../options.ts';
import type { StoreHost, StoreUrl } from '../url.ts';

const W: Option<number | 'majority'> = {
  default: 'majority',
  description: 'Members that must have a write before it resolves.',
  takes: 'majority or 1 to 50',
  parse(text) {
    if (text === 'majority') return text;
    return /^[1-9]\d?$/.test(text) && Number(text) <= 50 ? Number(text) : undefined;
  },
};

/** Options of `mongodb://host/database?...`. Options that MongoDB's own URLs have too mean the same. */
export const MONGODB_OPTIONS = {
  replicaSet: word('a name', 'Replica set of the hosts.'),
  authSource: word('a database', 'Database in which the user is defined. Default: the database of the URL.'),
  w: W,
  j: choice(
    ['true', 'false'],
    'true',
    'true: a write resolves when it is in the journal on the disk. false: when the members have it in memory.',
  ),
  tls: choice(['true', 'false'], 'false', 'Encrypt, and check the certificate of the server.'),
  tlsCAFile: word('a path', 'Certificate authority to trust (PEM file). Default: those of the system.'),
  connect: integer(
    100,
    60_000,
    'ms',
    5000,
    'Longest search for a server that accepts writes. Then the call fails with UNAVAILABLE.',
  ),
  timeout: integer(
    1000,
    600_000,
    'ms',
    30_000,
    'Longest wait for an answer or for w. Then the call fails with TIMEOUT.',
  ),
  connections: integer(1, 100, 'connections', 8, 'Calls at the same time per server. Further calls wait.'),
};

export interface MongodbConfig extends OptionValues<typeof MONGODB_OPTIONS> {
  readonly hosts: readonly StoreHost[];
  readonly user: string | null;
  readonly password: string | null;
  readonly database: string;
}

const EXAMPLE = 'mongodb://user:password@host1,host2/tidegauge?replicaSet=rs0';
// https://www.mongodb.com/docs/manual/reference/limits/#naming-restrictions
const DATABASE = /^[^/\\. "$*<>:|?\0]{1,63}$/;

export function readConfig(url: StoreUrl): MongodbConfig {
  const { hosts, user, password, path } = url;
  const mistake = (problem: string) =>
    new StoreError('MISCONFIGURED', `${url.masked} ${problem}`, { hint: `write ${EXAMPLE}` });
  if (hosts.length === 0) throw mistake('names no host');
  if (path === '') throw mistake('names no database');
  if (!DATABASE.test(path)) throw mistake('names a database that MongoDB does not allow');
  if ((user === null) !== (password === null)) throw mistake('has a user without a password');
  return { hosts, user, password, database: path, ...readOptions(url, MONGODB_OPTIONS) };
}

/** Hosts and database, for error messages. */
export function placeOf({ hosts, database }: MongodbConfig): string {
  return `${hostList(hosts)}/${database}`;
}

export function hostList(hosts: readonly StoreHost[]): string {
  return hosts
    .map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port ?? 27017}`)
    .join(',');
}
