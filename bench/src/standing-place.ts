import type { ApiEndpoint, Driver, Place } from '@tidegauge/experiments/model';
import { storeNodes } from '@tidegauge/experiments/places/lab';
import { definePlace } from '@tidegauge/experiments/places/place';
import type { StoreServer } from '@tidegauge/lab/stores';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { NODE_FLAGS } from '../../scripts/setup.js';
import { type DelayProxy, startDelayProxy } from './delay-proxy.ts';

/** Stores whose clients use no other address than that of the STORE URL. */
const ONE_ADDRESS: readonly string[] = ['postgres', 'mariadb', 'mongodb'];

/** The driver that a delay reaches: before other stores, the proxy stands before the API. */
export function delayedDriver(store: string): Driver {
  return ONE_ADDRESS.includes(store) ? 'raw' : 'app';
}

/**
 * A place whose deployments use servers that run already, so that many short studies need no start of a server. A level
 * of the factor `network` stands for a proxy that delays each round trip.
 *
 * @param servers by name; the caller stops them
 * @param delays milliseconds by level of `network`. A level without one has no proxy
 */
export function standingPlace(
  servers: ReadonlyMap<string, StoreServer>,
  delays: ReadonlyMap<string, number> = new Map(),
): Place {
  const databases = new Map<string, Promise<string>>();
  const measured = new Set<StoreServer>();
  return definePlace({
    name: 'lab',
    refusalOf: () => null,
    async start({ store, network }, _study, closers) {
      const name = String(store);
      const server = servers.get(name)!;
      const delayMs = delays.get(String(network)) ?? null;
      const isBeforeStore = delayedDriver(name) === 'raw';
      const apis = new Map<string, Promise<ApiEndpoint>>();
      const pids: number[] = [];
      let before: Promise<DelayProxy> | null = null;
      // Deployments that are up at the same time share a server, whose processor time must count once.
      const isFirst = !measured.has(server);
      if (isFirst) {
        measured.add(server);
        closers.add(async () => measured.delete(server));
      }

      const startProxy = async (upstream: string): Promise<DelayProxy> => {
        const proxy = await startDelayProxy(upstream, delayMs ?? 0);
        closers.add(() => proxy.stop());
        pids.push(proxy.pid);
        return proxy;
      };
      const startApi = async (storeUrl: string): Promise<ApiEndpoint> => {
        const api = await startApiProcess({ STORE: storeUrl });
        closers.add(() => api.stop());
        pids.push(api.pid);
        if (delayMs === null || isBeforeStore) return { url: api.url, token: null };
        return { url: `http://${(await startProxy(new URL(api.url).host)).address}`, token: null };
      };
      return {
        versions: await server.versions(),
        async storeUrl(database) {
          const own = delayMs === null ? database : `${database}_${network}`;
          const key = `${name} ${own}`;
          if (!databases.has(key)) databases.set(key, server.create(own));
          const url = await databases.get(key)!;
          if (delayMs === null || !isBeforeStore) return url;
          before ??= startProxy(server.endpoints[0]!);
          return url.replace(server.endpoints[0]!, (await before).address);
        },
        async api(storeUrl) {
          if (storeUrl === null) throw new TypeError('a server that runs has a STORE URL for each database');
          if (!apis.has(storeUrl)) apis.set(storeUrl, startApi(storeUrl));
          return apis.get(storeUrl)!;
        },
        command: (program, args) => ({
          command: process.execPath,
          args: [...NODE_FLAGS, program, ...args],
        }),
        nodes: () => [
          ...(isFirst ? storeNodes(server) : []),
          { name: 'api', role: 'api', pids: () => pids, cgroup: null, exporter: null },
        ],
        storedBytes: async () => null,
        roundTripMs: async () => null,
        snapshots: null,
        stop: () => closers.close(),
      };
    },
  });
}
