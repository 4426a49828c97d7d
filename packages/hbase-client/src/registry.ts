import type { Codec } from './codec.ts';
import { toNumber } from './codec.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import {
  ActiveMaster,
  METHODS,
  MetaRegionServer,
  RegionServerInfo,
  type ServerName,
  type VersionInfo,
} from './messages.ts';
import type { ServerAddress, Servers } from './servers.ts';
import { readZnodes, type ZooKeeperHost } from './zookeeper.ts';

/** Finds the server of hbase:meta and the active master of a cluster. */
export interface Registry {
  /** The servers that it uses, for messages. */
  readonly place: string;
  metaServer(deadline: Deadline): Promise<ServerAddress>;
  activeMaster(deadline: Deadline): Promise<ServerAddress>;
}

const OLDEST = [2, 4] as const;
const HINT = 'HBase 2.4 or later is needed';

/** Finds the servers in ZooKeeper, as HBase's client does by default up to 2.x. */
export class ZooKeeperRegistry implements Registry {
  readonly place: string;
  readonly #hosts: readonly ZooKeeperHost[];
  readonly #parent: string;
  readonly #tryMs: number;
  readonly #signal: AbortSignal;
  #isChecked = false;

  /** @param tryMs the timeout of one look-up. A look-up can be repeated. */
  constructor(hosts: readonly ZooKeeperHost[], parent: string, tryMs: number, signal: AbortSignal) {
    this.#tryMs = tryMs;
    this.#hosts = hosts;
    this.#parent = parent;
    this.#signal = signal;
    this.place = `ZooKeeper ${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}`;
  }

  async metaServer(deadline: Deadline): Promise<ServerAddress> {
    const { server } = await this.#read(
      'meta-region-server',
      MetaRegionServer,
      'hbase:meta is not assigned',
      deadline,
    );
    if (!this.#isChecked) await this.#checkVersion(server, deadline);
    return toAddress(server);
  }

  async activeMaster(deadline: Deadline): Promise<ServerAddress> {
    const { master } = await this.#read('master', ActiveMaster, 'no master is active', deadline);
    return toAddress(master);
  }

  /** Each running region server has a znode with its version. */
  async #checkVersion(server: ServerName, deadline: Deadline): Promise<void> {
    const { hostName, port, startCode } = server;
    const path = `${this.#parent}/rs/${hostName},${port},${toNumber(startCode)}`;
    const [bytes] = await this.#znodes([path], deadline);
    // The znode does not exist while the server starts or after it has crashed.
    if (bytes == null) return;
    const { versionInfo } = RegionServerInfo.decode(withoutMagic(bytes, path));
    if (versionInfo !== null) checkVersion(versionInfo, `${hostName}:${port}`);
    this.#isChecked = true;
  }

  #znodes(paths: readonly string[], deadline: Deadline): Promise<(Buffer | null)[]> {
    return readZnodes(this.#hosts, paths, deadline.within(this.#tryMs), this.#signal);
  }

  async #read<T>(name: string, codec: Codec<T>, absence: string, deadline: Deadline): Promise<T> {
    const path = `${this.#parent}/${name}`;
    const [bytes, parent] = await this.#znodes([path, this.#parent], deadline);
    if (bytes == null || bytes.length === 0) {
      const isForeign = parent == null;
      throw new HBaseError(
        'UNAVAILABLE',
        `${this.place}: ${isForeign ? `there is no ${this.#parent}` : absence}`,
        {
          hint: isForeign ? 'is zookeeper.znode.parent another one?' : 'is HBase up?',
          remedy: 'wait',
        },
      );
    }
    try {
      return codec.decode(withoutMagic(bytes, path));
    } catch (cause) {
      throw new HBaseError('UNSUPPORTED_SERVER', `${this.place}: ${path} cannot be read`, {
        hint: HINT,
        cause,
      });
    }
  }
}

/** Finds the servers through the masters (ClientMetaService), without a connection to ZooKeeper. */
export class MasterRegistry implements Registry {
  readonly place: string;
  readonly #masters: readonly ServerAddress[];
  readonly #tryMs: number;
  readonly #servers: Servers;

  constructor(masters: readonly ServerAddress[], tryMs: number, servers: Servers) {
    this.#tryMs = tryMs;
    this.#masters = masters;
    this.#servers = servers;
    this.place = `masters ${masters.map(({ host, port }) => `${host}:${port}`).join(',')}`;
  }

  metaServer(deadline: Deadline): Promise<ServerAddress> {
    return this.#ask('hbase:meta is not assigned', deadline, async (master, share) => {
      const { message } = await this.#servers.call(master, METHODS.metaLocations, {}, { deadline: share });
      return message.metaLocations.find(({ regionInfo }) => regionInfo.replicaId === 0)?.serverName ?? null;
    });
  }

  activeMaster(deadline: Deadline): Promise<ServerAddress> {
    return this.#ask('no master is active', deadline, async (master, share) => {
      const { message } = await this.#servers.call(master, METHODS.activeMaster, {}, { deadline: share });
      return message.serverName;
    });
  }

  async #ask(
    absence: string,
    deadline: Deadline,
    ask: (master: ServerAddress, share: Deadline) => Promise<ServerName | null>,
  ): Promise<ServerAddress> {
    const troubles: string[] = [];
    const end = deadline.within(this.#tryMs);
    for (const [index, master] of this.#masters.entries()) {
      try {
        const found = await ask(master, end.within(end.left / (this.#masters.length - index)));
        if (found !== null) return toAddress(found);
        troubles.push(absence);
      } catch (error) {
        if (!(error instanceof HBaseError) || error.remedy === 'none') throw error;
        troubles.push(error.message);
      }
    }
    const hint = 'is a master up, and are host and port right?';
    throw new HBaseError('UNREACHABLE', `${this.place}: ${troubles.join('; ')}`, { hint, remedy: 'wait' });
  }
}

/** @throws {HBaseError} UNSUPPORTED_SERVER */
function checkVersion({ version }: VersionInfo, host: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new HBaseError('UNSUPPORTED_SERVER', `${host} is HBase ${version}`, { host, hint: HINT });
}

function toAddress({ hostName, port }: ServerName): ServerAddress {
  return { host: hostName, port };
}

/**
 * The content of znodes and of cells of hbase:meta has a prefix. In znodes it is 0xff, the length of an id, the id and
 * `PBUF` (RecoverableZooKeeper, ProtobufMagic). In cells it is only `PBUF`.
 */
function withoutMagic(bytes: Buffer, path: string): Buffer {
  if (bytes.length < 5 || bytes[0] !== 0xff) throw new Error(`${path} has no magic`);
  return unmarked(bytes.subarray(5 + bytes.readInt32BE(1)));
}

/** @throws {Error} if the bytes do not begin with `PBUF`. */
export function unmarked(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 0, 4) !== 'PBUF') throw new Error('PBUF is missing');
  return bytes.subarray(4);
}
