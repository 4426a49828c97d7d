import { proveServer } from './prove.ts';

interface Server {
  url(namespace: string): string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Registers the suite on a server of its own, a namespace per place. Few regions: the suite makes many tables. */
export function proveHbase(name: string, start: () => Promise<Server>): Promise<void> {
  let last = 0;
  return proveServer(name, start, (server) => ({
    async create() {
      last += 1;
      // The server's data go with it, and taking tables away one by one costs more than keeping them.
      return { url: `${server.url(`conformance_${last}`)}?presplit=3`, cleanup: async () => {} };
    },
    restart: () => server.restart(),
  }));
}
