import { randomBytes } from 'node:crypto';
import type { Caller } from './caller.ts';
import type { Int64, Method } from './codec.ts';
import type { Answer } from './connection.ts';
import { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { fromRemote } from './exceptions.ts';
import { Locations } from './locations.ts';
import type { NameBytesPair } from './messages.ts';
import type { Settings } from './options.ts';
import { META_TABLE, type Region } from './region.ts';
import { MasterRegistry, type Registry, ZooKeeperRegistry } from './registry.ts';
import { Pauses, Retry } from './retry.ts';
import { metaPlan, scanRows } from './scanner.ts';
import { type ServerAddress, Servers } from './servers.ts';

/** HConstants.HIGH_QOS: calls on hbase:meta have their own handlers. */
const META_PRIORITY = 200;

/** The connections, locations and pauses that all calls on one cluster share. */
export class Cluster implements Caller {
  readonly settings: Settings;
  readonly servers: Servers;
  readonly locations: Locations;
  readonly pauses = new Pauses();
  readonly registry: Registry;
  /** The group of this client's nonces, for calls that must not be applied twice. */
  readonly nonceGroup: Int64 = randomInt64();
  readonly nonces = { group: this.nonceGroup, next: randomInt64 };
  #master: ServerAddress | null = null;

  constructor(settings: Settings) {
    this.settings = settings;
    this.servers = new Servers(settings);
    const { zookeeper, znodeParent, masters, tryTimeoutMs } = settings;
    this.registry =
      zookeeper.length > 0
        ? new ZooKeeperRegistry(zookeeper, znodeParent, tryTimeoutMs, this.pauses.signal)
        : new MasterRegistry(masters, tryTimeoutMs, this.servers);
    this.locations = new Locations(this.registry, (range, deadline) =>
      scanRows(this, { table: META_TABLE, ...metaPlan(range) }, this.settings.timeoutMs, deadline),
    );
  }

  /** Reads hbase:meta once. A failure to find its server is not retried. */
  async open(): Promise<void> {
    const deadline = Deadline.after(this.settings.connectTimeoutMs);
    await this.registry.metaServer(deadline);
    const range = { start: Buffer.alloc(0), stop: Buffer.alloc(0), reversed: false, limit: 1 };
    const plan = { table: META_TABLE, ...metaPlan(range) };
    for await (const _row of scanRows(this, plan, this.settings.connectTimeoutMs, deadline)) return;
  }

  /** Ends all calls, connections and timers. */
  close(): void {
    this.pauses.end();
    this.servers.close();
  }

  deadline(ms: number, overall?: Deadline): Deadline {
    return overall === undefined ? Deadline.after(ms) : overall.within(ms);
  }

  callRegion<Request, Response>(
    region: Region,
    method: Method<Request, Response>,
    request: Request,
    options: { readonly deadline: Deadline; readonly cells?: Buffer | null },
  ): Promise<Answer<Response>> {
    return this.servers.call(region.server, method, request, {
      ...options,
      deadline: options.deadline.within(this.settings.tryTimeoutMs),
      region: region.label,
      ...(region.table === META_TABLE ? { priority: META_PRIORITY } : {}),
    });
  }

  lost(region: Region, error: unknown): void {
    if (error instanceof HBaseError && error.remedy === 'relocate') this.locations.forget(region);
  }

  refusal({ name, value }: NameBytesPair, region: Region, what: string): HBaseError {
    const host = `${region.server.host}:${region.server.port}`;
    const remote = { name, trace: value.toString(), doNotRetry: false, overloaded: false };
    return fromRemote(remote, { host, region: region.label, what });
  }

  /**
   * Calls the active master, and retries until the deadline, also at a new master. A call that changes something must
   * have a nonce or be safe to repeat. With `isWrite`, the outcome of a call without an answer is unknown.
   */
  async callMaster<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    deadline: Deadline,
    isWrite: boolean,
  ): Promise<Response> {
    const retry = new Retry(deadline, this.pauses, isWrite);
    for (;;) {
      let master: ServerAddress | null = null;
      try {
        master = this.#master ?? (await this.registry.activeMaster(deadline));
        this.#master = master;
        const share = deadline.within(this.settings.tryTimeoutMs);
        return (await this.servers.call(master, method, request, { deadline: share })).message;
      } catch (error) {
        if (this.#master === master) this.#master = null;
        await retry.afterFailure(error);
      }
    }
  }
}

export function randomInt64(): Int64 {
  const bytes = randomBytes(8);
  return { low: bytes.readInt32LE(0), high: bytes.readInt32LE(4) };
}
