import { NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';

const TIMEOUT_MS = 2000;
const TRIES = 2;

export type Resolve = () => Promise<readonly string[]>;

/**
 * Asks DNS for the IPv4 addresses of a name, which is what a Swarm's overlay gives to tasks; not the resolver of
 * the C library, which has caches and time limits of its own. A name that is not there is an empty answer.
 *
 * @throws when DNS does not answer within 2 × 2 s, or says that it cannot
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
