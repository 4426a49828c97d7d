import { STORE_SERVERS, type StoreServerEntry } from './stores.ts';

/** A server that the command line has started. */
export interface Started {
  /** The settings and URLs that a client needs, by name, such as `STORE` or `BROKER`. */
  readonly connect: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The flags of the command line that a server can use. */
export interface StartFlags {
  readonly nodes: number;
  readonly targets: readonly string[];
}

export interface CatalogueEntry {
  readonly summary: string;
  /** The highest number of nodes. */
  readonly maxNodes: number;
  readonly takesTargets: boolean;
  readonly start: (flags: StartFlags) => Promise<Started>;
}

/** All servers of the lab by name. Each module is loaded when its server starts, so none needs other drivers. */
export const CATALOGUE: Readonly<Record<string, CatalogueEntry>> = {
  mosquitto: {
    summary: 'MQTT broker, open to this machine',
    maxNodes: 1,
    takesTargets: false,
    async start() {
      const { startMosquitto } = await import('./mosquitto.ts');
      const broker = await startMosquitto();
      return { connect: { BROKER: broker.url }, stop: () => broker.stop() };
    },
  },
  prometheus: {
    summary: 'Prometheus, scraping --target, or else ingest on 9464 and the API on 8080',
    maxNodes: 1,
    takesTargets: true,
    async start({ targets }) {
      const { startPrometheus } = await import('./prometheus.ts');
      const named = { ingest: ['127.0.0.1:9464'], api: ['127.0.0.1:8080'] };
      const prometheus = await startPrometheus({ targets: targets.length > 0 ? { lab: targets } : named });
      return { connect: { URL: prometheus.url }, stop: () => prometheus.stop() };
    },
  },
  ...Object.fromEntries(Object.entries(STORE_SERVERS).map(([name, entry]) => [name, storeEntry(entry)])),
};

function storeEntry({ summary, maxNodes, start }: StoreServerEntry): CatalogueEntry {
  return {
    summary,
    maxNodes,
    takesTargets: false,
    async start({ nodes }) {
      const server = await start(nodes);
      return { connect: { STORE: await server.create('tidegauge') }, stop: () => server.stop() };
    },
  };
}

/** The reason why the server does not accept the flags. null: it accepts them. */
export function refuseFlags(server: string, { nodes, targets }: StartFlags): string | null {
  const { maxNodes, takesTargets } = CATALOGUE[server]!;
  if (!(Number.isInteger(nodes) && nodes >= 1 && nodes <= maxNodes)) {
    return maxNodes === 1
      ? `${server} runs as one node: leave --nodes out`
      : `--nodes takes 1 to ${maxNodes}`;
  }
  if (targets.length > 0 && !takesTargets) return `${server} takes no --target`;
  const odd = targets.find((target) => !/^[^\s/:]+:\d{1,5}$/.test(target));
  return odd === undefined ? null : `--target takes host:port, not ${JSON.stringify(odd)}`;
}
