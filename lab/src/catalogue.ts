/** A server that the command line has started. */
export interface Started {
  /** What to set or open to use it, by name: `STORE`, `BROKER`, a URL. */
  readonly connect: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The command line's flags, as far as a server takes them. */
export interface StartFlags {
  readonly nodes: number;
  readonly targets: readonly string[];
}

export interface CatalogueEntry {
  readonly summary: string;
  /** Which of the flags make sense for it. */
  readonly flags: readonly (keyof StartFlags)[];
  readonly start: (flags: StartFlags) => Promise<Started>;
}

const MAX_NODES = 3;

/** Every server of the lab by name. Each is loaded when it is started, so that none needs another's driver. */
export const CATALOGUE: Readonly<Record<string, CatalogueEntry>> = {
  mosquitto: {
    summary: 'MQTT broker, open to this machine',
    flags: [],
    async start() {
      const { startMosquitto } = await import('./mosquitto.ts');
      const broker = await startMosquitto();
      return { connect: { BROKER: broker.url }, stop: () => broker.stop() };
    },
  },
  prometheus: {
    summary: 'Prometheus, scraping ingest on 9464 and the API on 8080 unless --target says what',
    flags: ['targets'],
    async start({ targets }) {
      const { startPrometheus } = await import('./prometheus.ts');
      const named = { ingest: ['127.0.0.1:9464'], api: ['127.0.0.1:8080'] };
      const prometheus = await startPrometheus({ targets: targets.length > 0 ? { lab: targets } : named });
      return { connect: { URL: prometheus.url }, stop: () => prometheus.stop() };
    },
  },
};

/** Why the flags do not suit the server, or null when they do. */
export function refuseFlags(server: string, flags: StartFlags): string | null {
  const { flags: taken } = CATALOGUE[server]!;
  if (flags.nodes !== 1 && !taken.includes('nodes')) return `${server} runs as one node: leave --nodes out`;
  if (flags.targets.length > 0 && !taken.includes('targets')) return `${server} takes no --target`;
  if (!(Number.isInteger(flags.nodes) && flags.nodes >= 1 && flags.nodes <= MAX_NODES)) {
    return `--nodes takes 1 to ${MAX_NODES}`;
  }
  const odd = flags.targets.find((target) => !/^[^\s/:]+:\d{1,5}$/.test(target));
  return odd === undefined ? null : `--target takes host:port, not ${JSON.stringify(odd)}`;
}
