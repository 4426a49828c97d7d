import { diskUsage } from '@tidegauge/lab/disk-usage';
import { memoryLimitRefusal } from '@tidegauge/lab/node-group';
import { STORE_SERVERS, type StoreServer } from '@tidegauge/lab/stores';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { isEmbedded, STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { NODE_FLAGS } from '../../../scripts/setup.js';
import { withPassword } from '../levels.ts';
import type { ApiEndpoint, Combination, Deployment, MonitoredNode, Place, Study } from '../model.ts';
import {
  COPIES_BY_URL,
  checkOptions,
  type StoreLevels,
  schemeOf,
  storeLevels,
  urlOptions,
  withOptions,
} from './factors.ts';
import { faultsOf } from './faults.ts';
import { definePlace, restoreRefusal, throwRefusal } from './place.ts';
import { profileRefusal, startProxies } from './proxies.ts';
import { copiesAsSnapshots } from './snapshots.ts';

/** HDFS sets the copies of HBase. */
const REPLICATED: readonly string[] = [...COPIES_BY_URL, 'hbase'];

/** Stores on this machine: servers of the lab, embedded stores, or a server that a STORE URL names. */
export function labPlace(): Place {
  const servers = new SharedServers();
  return definePlace({
    name: 'lab',
    refusalOf: (hard, study) => refusalOf(storeLevels(hard, study), study),
    async start(hard, study, closers, signal) {
      const levels = storeLevels(hard, study);
      throwRefusal(refusalOf(levels, study));
      return startLab(levels, servers, hard, study, closers, signal);
    },
  });
}

function refusalOf(levels: StoreLevels, study: Study): string | null {
  const { store, isUrl, nodes, network } = levels;
  if (isUrl) return refusalOfUrl(levels, study);
  if (!STORES.includes(store)) return `there is no store ${store} in the lab: there are ${STORES.join(', ')}`;
  const most = isEmbedded(store) ? 1 : STORE_SERVERS[store]!.maxNodes;
  if (nodes > most)
    return `${store} has at most ${most} ${most === 1 ? 'node' : 'nodes'} in the lab, not ${nodes}`;
  return (
    refusalOfCopies(levels) ??
    refusalOfMemory(levels) ??
    (store === 'citus' ? restoreRefusal(study, 'Citus of the lab') : null) ??
    (network === null ? null : profileRefusal(store, network))
  );
}

function refusalOfCopies({ store, nodes, rf }: StoreLevels): string | null {
  if (rf === null) return null;
  if (rf > 1 && !REPLICATED.includes(store)) {
    return `${store} keeps one copy of the data in the lab, so rf must be 1`;
  }
  return rf > nodes ? `rf ${rf} needs ${rf} nodes, and there are ${nodes}` : null;
}

function refusalOfMemory({ store, memory }: StoreLevels): string | null {
  if (memory === null) return null;
  if (isEmbedded(store)) return `${store} runs in the process of its client, so it has no node to limit`;
  const { minMemory } = STORE_SERVERS[store]!;
  if (memory < minMemory) {
    return `${store} needs a memory limit of ${minMemory / 2 ** 20}MiB or more to start, not ${memory} bytes`;
  }
  return memoryLimitRefusal();
}

/** The server of a STORE URL runs elsewhere, or already: the place cannot change it. */
function refusalOfUrl({ nodes, memory, network }: StoreLevels, study: Study): string | null {
  const changed = [
    ...(nodes === 1 ? [] : ['nodes']),
    ...(memory === null ? [] : ['memory']),
    ...(network === null ? [] : ['network']),
  ];
  if (changed.length === 0) return restoreRefusal(study, 'a server of a STORE URL');
  return `the server of a STORE URL runs already, so ${changed.join(', ')} cannot be set: name a store of the lab`;
}

async function startLab(
  levels: StoreLevels,
  servers: SharedServers,
  hard: Combination,
  study: Study,
  closers: Closers,
  signal: AbortSignal,
): Promise<Deployment> {
  const scheme = levels.isUrl ? schemeOf(levels.store) : levels.store;
  await checkOptions(scheme, urlOptions(scheme, hard, {}, study));
  signal.throwIfAborted();
  const isShared = sharesServer(levels, study);
  const { server, nodes } = levels.isUrl ? NO_SERVER : await servers.take(levels, isShared, closers);
  const proxies =
    server === null || levels.network === null
      ? null
      : await startProxies(server.endpoints, levels.network, closers);
  // The start of a server ends within its own limit, and only a server that has started can be stopped.
  signal.throwIfAborted();
  const urls = new Map<string, Promise<string>>();
  const apis = new Map<string, ReturnType<typeof startApiProcess>>();
  const apiPids: number[] = [];
  let closing: Promise<void> | null = null;

  return {
    versions: (await server?.versions()) ?? {},
    async storeUrl(database, easy) {
      const options = urlOptions(scheme, hard, easy, study);
      await checkOptions(scheme, options);
      if (server === null) return withOptions(withPassword(levels.store, process.env), options);
      let url = urls.get(database);
      if (url === undefined) {
        url = server.create(isShared ? `${database}_rf${levels.rf}` : database);
        urls.set(database, url);
        url.catch(() => urls.delete(database));
      }
      const direct = withOptions(await url, options);
      return proxies === null ? direct : proxies.through(direct);
    },
    async api(storeUrl): Promise<ApiEndpoint> {
      if (storeUrl === null) throw new TypeError('the lab has a STORE URL for each database');
      let starting = apis.get(storeUrl);
      if (starting === undefined) {
        starting = startApiProcess({ STORE: storeUrl });
        apis.set(storeUrl, starting);
        starting.then(
          (api) => {
            apiPids.push(api.pid);
            closers.add(() => api.stop());
          },
          () => apis.delete(storeUrl),
        );
      }
      return { url: (await starting).url, token: null };
    },
    command: (program, args) => ({ command: process.execPath, args: [...NODE_FLAGS, program, ...args] }),
    nodes: () => [...nodes, { name: 'api', role: 'api', pids: () => apiPids, cgroup: null, exporter: null }],
    async storedBytes() {
      // Files of a server that is shared are not of one number of copies.
      if (server === null || isShared || server.directories.length === 0) return null;
      await server.flush?.();
      const copied = server.copies === null ? 0 : await server.copies.bytes();
      if (copied === null) return null;
      const sizes = await Promise.all(server.directories.map((directory) => diskUsage(directory)));
      return sizes.reduce((sum, size) => sum + size, 0) - copied;
    },
    roundTripMs: async () => proxies?.roundTripMs() ?? null,
    snapshots: server?.copies ? copiesAsSnapshots(server.copies) : null,
    ...faultsOf(
      new Map((server?.nodes ?? []).flatMap(({ name, fault }) => (fault === null ? [] : [[name, fault]]))),
    ),
    async stop() {
      closing ??= Promise.allSettled([...apis.values()]).then(() => closers.close());
      await closing;
    },
  };
}

/**
 * Whether combinations that differ in copies only, and are up at the same time, have one server: where the copies are an
 * option of a keyspace or of a table. Each has its own databases.
 */
function sharesServer({ store, rf }: StoreLevels, { repeat, state }: Study): boolean {
  const isPaired = repeat.pairing !== 'none' && repeat.paired.includes('rf');
  return (
    isPaired && rf !== null && COPIES_BY_URL.includes(store) && !Object.values(state).includes('restore')
  );
}

/** A server of the lab, with its nodes for the monitor, which counts each once. */
interface LabServer {
  readonly server: StoreServer | null;
  readonly nodes: readonly MonitoredNode[];
}

const NO_SERVER: LabServer = { server: null, nodes: [] };

/** Servers of deployments that are up. */
class SharedServers {
  readonly #shared = new Map<string, { readonly started: Promise<LabServer>; users: number }>();

  /** Resolves to a new server, or to one that a deployment shares. It stops when all that have taken it are closed. */
  async take(levels: StoreLevels, isShared: boolean, closers: Closers): Promise<LabServer> {
    if (!isShared) {
      const own = await startServer(levels);
      closers.add(async () => own.server?.stop());
      return own;
    }
    const key = JSON.stringify({ ...levels, rf: null });
    const entry = this.#shared.get(key) ?? { started: startServer({ ...levels, rf: null }), users: 0 };
    this.#shared.set(key, entry);
    entry.users += 1;
    closers.add(async () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      this.#shared.delete(key);
      await (await entry.started.catch(() => NO_SERVER)).server?.stop();
    });
    return entry.started;
  }
}

async function startServer({ store, nodes, rf, memory, network }: StoreLevels): Promise<LabServer> {
  const options = {
    isProxied: network !== null,
    ...(memory === null ? {} : { memory }),
    ...(rf === null ? {} : { copies: rf }),
  };
  const server = await startStorePlaces(store, options, nodes);
  return { server, nodes: storeNodes(server) };
}

/** The nodes of a server, for the monitor. */
export function storeNodes({ nodes }: StoreServer): MonitoredNode[] {
  return nodes.map(({ name, pids, cgroup }) => ({ name, role: 'store', pids, cgroup, exporter: null }));
}
