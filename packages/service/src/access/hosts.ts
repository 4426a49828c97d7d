import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { isLoopback } from '../http.ts';

/** Names that were decided; a `Host` header is the client's text, so their number is bounded. */
const MAX_KNOWN = 100;

/**
 * The names in `Host` headers that a service answers. A foreign name can resolve to this machine: with it, a web page of
 * that name could use the service through its visitor's browser (DNS rebinding).
 *
 * On loopback these are local names. On other addresses also every IP address, because a page cannot have one of
 * another machine as its name, the name of this machine, and the names of the certificate, because a browser refuses
 * it for other names.
 */
export class Hosts {
  readonly #listen: string;
  readonly #allowed: ReadonlySet<string>;
  readonly #certificate: X509Certificate | null;
  readonly #known = new Set<string>();

  /**
   * @param allowed further names; `*` allows every name
   * @param certificate PEM file of the certificate, or null
   */
  constructor(listen: string, allowed: readonly string[], certificate: string | null = null) {
    this.#listen = listen;
    const own = hostname().toLowerCase();
    this.#allowed = new Set([...allowed.map((name) => name.toLowerCase()), own, `${own}.local`]);
    this.#certificate = certificate === null ? null : new X509Certificate(readFileSync(certificate));
  }

  /** @param header the `Host` header, empty if there is none */
  isServed(header: string): boolean {
    if (this.#known.has(header)) return true;
    if (!this.#decide(header)) return false;
    if (this.#known.size < MAX_KNOWN) this.#known.add(header);
    return true;
  }

  #decide(header: string): boolean {
    if (this.#allowed.has('*')) return true;
    const name = hostName(header);
    if (isLoopback(name)) return true;
    // A browser always sends a Host, so a request without one is not of a page.
    if (!isLoopback(this.#listen) && (name === '' || isIP(name) !== 0)) return true;
    if (this.#allowed.has(name)) return true;
    return this.#certificate?.checkHost(name) !== undefined;
  }
}

/** The host of a Host header, without port, brackets and the dot at the end. */
export function hostName(header: string): string {
  return header
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
}
