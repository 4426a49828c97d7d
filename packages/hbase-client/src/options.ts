import { userInfo } from 'node:os';

export interface HBaseClientOptions {
  /** The ZooKeeper servers: `host` or `host:port` (2181), comma-separated or as a list. */
  readonly zookeeper?: string | readonly string[];
  /** The cluster's path in ZooKeeper (`zookeeper.znode.parent`). Default `/hbase`. */
  readonly znodeParent?: string;
  /** Instead of ZooKeeper: `host` or `host:port` (16000) of the masters. */
  readonly masters?: string | readonly string[];
  /** The user name for simple authentication. Default: the user of this process. */
  readonly user?: string;
  /** For `open` as a whole, and for each connection. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** For a whole call, with all its tries. A call can override it. Default 30,000. */
  readonly timeoutMs?: number;
  /** For one try at one server. After it, the region is looked up again. Default 10,000. */
  readonly tryTimeoutMs?: number;
  /** The most calls per server that await an answer. More calls wait in this process. Default 256. */
  readonly maxInFlight?: number;
  /** The most calls per server that wait in this process. More calls are OVERLOADED. Default 10,000. */
  readonly maxWaiting?: number;
}

export interface Settings {
  readonly zookeeper: readonly Host[];
  readonly znodeParent: string;
  readonly masters: readonly Host[];
  readonly user: string;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly tryTimeoutMs: number;
  readonly maxInFlight: number;
  readonly maxWaiting: number;
}

interface Host {
  readonly host: string;
  readonly port: number;
}

const ZOOKEEPER_PORT = 2181;
const MASTER_PORT = 16_000;
const LONGEST_MS = 2 ** 31 - 1;
const MOST_CALLS = 1_000_000;

/** Checks the options and adds the defaults. @throws {TypeError} with the name of the wrong option. */
export function readOptions(options: HBaseClientOptions): Settings {
  const zookeeper = hosts('zookeeper', options.zookeeper ?? [], ZOOKEEPER_PORT);
  const masters = hosts('masters', options.masters ?? [], MASTER_PORT);
  if ((zookeeper.length === 0) === (masters.length === 0)) {
    throw new TypeError('give either zookeeper or masters, to find the cluster');
  }
  const znodeParent = options.znodeParent ?? '/hbase';
  if (!/^\/.*[^/]$/.test(znodeParent)) throw new TypeError('znodeParent is a path such as /hbase');
  return {
    zookeeper,
    znodeParent,
    masters,
    user: options.user ?? currentUser(),
    connectTimeoutMs: count('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, LONGEST_MS),
    timeoutMs: count('timeoutMs', options.timeoutMs ?? 30_000, LONGEST_MS),
    tryTimeoutMs: count('tryTimeoutMs', options.tryTimeoutMs ?? 10_000, LONGEST_MS),
    maxInFlight: count('maxInFlight', options.maxInFlight ?? 256, MOST_CALLS),
    maxWaiting: count('maxWaiting', options.maxWaiting ?? 10_000, MOST_CALLS),
  };
}

function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    // The user has no name in the password file, for example in a container.
    return String(process.getuid?.() ?? 'nobody');
  }
}

/** A whole number from 1 to `max`. @throws {TypeError} */
export function count(name: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new TypeError(`${name} is a whole number from 1 to ${max}, not ${value}`);
}

function hosts(name: string, given: string | readonly string[], defaultPort: number): Host[] {
  const list = typeof given === 'string' ? given.split(',') : given;
  return list.map((text) => {
    const match = /^(\[[0-9a-fA-F:.%]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text.trim());
    const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
    if (match === null || port < 1 || port > 65_535) {
      throw new TypeError(`${name} has host or host:port, not ${JSON.stringify(text)}`);
    }
    return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
  });
}
