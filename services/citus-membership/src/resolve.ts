import { NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';

const TIMEOUT_MS = 2000;
const TRIES = 2;

export type Resolve = () => Promise<readonly string[]>;

/**
 * Queries DNS for the IPv4 addresses of a name, which a Swarm's overlay network assigns to tasks. It does not use the
 * resolver of the C library, which has other caches and time limits. A name that does not exist is an empty answer.
 *
 * @throws when DNS does not answer within 2 × 2 s, or reports an error
 */
export function resolver(name: string, servers: readonly string[] | null): Resolve {
  const dns = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== null) dns.setServers(servers);
  return async () => {
    try {
      return [...new Set(await dns.resolve4(name))].sort();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === NOTFOUND || code === NODATA) return [];
      throw error;
    }
  };
}
