import { proveServer } from './prove.ts';

interface Server {
  url(namespace: string): string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Registers the suite on a separate server, with a namespace per place. Few regions: the suite has many tables. */
export function proveHbase(name: string, start: () => Promise<Server>): Promise<void> {
  let last = 0;
  return proveServer(name, start, (server) => ({
    async create() {
      last += 1;
      // The data is deleted with the server. Dropping each table takes longer than keeping it.
      return { url: `${server.url(`conformance_${last}`)}?presplit=3`, cleanup: async () => {} };
    },
    restart: () => server.restart(),
  }));
}
