import { pingsFor, proxyHost, roundTripMs, startEcho, startToxiproxy } from '@tidegauge/lab/toxiproxy';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { freePort } from '@tidegauge/process';
import type { NetworkProfile } from '../model.ts';

/** Stores whose clients can connect to a proxy. */
export const PROXIED: readonly string[] = ['postgres', 'mariadb', 'cassandra', 'mongodb'];

/** Why proxies cannot give clients this network, or null. */
export function profileRefusal(store: string, { loss }: NetworkProfile): string | null {
  if (!PROXIED.includes(store)) {
    return `a network profile needs a store with a server that a proxy can stand before: ${PROXIED.join(', ')}`;
  }
  if (loss === 0) return null;
  return 'the lab delays connections by a proxy (Toxiproxy), which cannot lose packets, so loss must be 0';
}

export interface Proxies {
  /** A STORE URL with the addresses of the proxies. */
  through(url: string): string;
  /** The mean round trip of a byte through a further proxy with the same profile, in milliseconds. */
  roundTripMs(): Promise<number>;
}

/** Puts a proxy before each endpoint, on 127.0.1.N with the port of the server on 127.0.0.N. */
export async function startProxies(
  endpoints: readonly string[],
  profile: NetworkProfile,
  closers: Closers,
): Promise<Proxies> {
  const toxiproxy = await startToxiproxy();
  closers.add(() => toxiproxy.stop());
  for (const endpoint of endpoints) await toxiproxy.addLink(proxyHost(endpoint), endpoint, profile);
  const echo = await startEcho();
  closers.add(() => echo.stop());
  const measured = `127.0.0.1:${await freePort()}`;
  await toxiproxy.addLink(measured, echo.address, profile);
  return {
    through: (url) => endpoints.reduce((text, endpoint) => text.replace(endpoint, proxyHost(endpoint)), url),
    roundTripMs: () => roundTripMs(measured, pingsFor(profile)),
  };
}
