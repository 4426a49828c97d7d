import { Recent } from './recent.ts';

/** What one client may use. 0 means no limit. */
export interface ClientLimitSettings {
  /** Requests per second, on average. Twice as many can come at once. */
  readonly rate: number;
  /** Requests in progress. */
  readonly concurrent: number;
  /** Bytes received and sent per second, on average. */
  readonly bytesPerSecond: number;
}

/** Clients that are remembered; then the one that came first is removed. */
const MAX_CLIENTS = 10_000;
/** Seconds of the rate that can come at once. */
const BURST_SECONDS = 2;
/** The longest wait that bytes cause, seconds. A single large answer is sent completely. */
const MOST_WAIT_SECONDS = 10;

interface Client {
  /** When all its requests and all its bytes are available again, seconds. */
  requestsAt: number;
  bytesAt: number;
  active: number;
}

/** A request that was begun. */
export interface Begun {
  /** @param bytes received and sent */
  end(bytes: number): void;
}

/**
 * Limits requests, requests in progress and bytes of each client, so that one cannot take what others need. Rates are
 * token buckets, in the form of the generic cell rate algorithm: a time for each client, without a timer.
 */
export class ClientLimits {
  readonly #settings: ClientLimitSettings;
  readonly #now: () => number;
  readonly #clients = new Recent<Client>(MAX_CLIENTS);

  /** @param now seconds; for tests */
  constructor(settings: ClientLimitSettings, now: () => number = () => performance.now() / 1000) {
    this.#settings = settings;
    this.#now = now;
  }

  get isOff(): boolean {
    const { rate, concurrent, bytesPerSecond } = this.#settings;
    return rate === 0 && concurrent === 0 && bytesPerSecond === 0;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Begins a request of a client, or returns the seconds that it has to wait, at least 1. */
  begin(name: string): Begun | number {
    const { rate, concurrent, bytesPerSecond } = this.#settings;
    const now = this.#now();
    const client = this.#clients.get(name) ?? this.#add(name);
    if (concurrent > 0 && client.active >= concurrent) return 1;
    if (bytesPerSecond > 0 && client.bytesAt - now > BURST_SECONDS)
      return wait(client.bytesAt - now - BURST_SECONDS);
    if (rate > 0) {
      const next = Math.max(client.requestsAt, now) + 1 / rate;
      // At a low rate one request is always possible.
      const burst = Math.max(BURST_SECONDS, 1 / rate);
      if (next - now > burst + 1e-9) return wait(next - now - burst);
      client.requestsAt = next;
    }
    client.active += 1;
    return { end: (bytes) => this.#end(client, bytes) };
  }

  #end(client: Client, bytes: number): void {
    client.active -= 1;
    const { bytesPerSecond } = this.#settings;
    if (bytesPerSecond === 0) return;
    const now = this.#now();
    const most = now + BURST_SECONDS + MOST_WAIT_SECONDS;
    client.bytesAt = Math.min(Math.max(client.bytesAt, now) + bytes / bytesPerSecond, most);
  }

  #add(name: string): Client {
    const client = { requestsAt: 0, bytesAt: 0, active: 0 };
    this.#clients.set(name, client);
    return client;
  }
}

function wait(seconds: number): number {
  return Math.max(1, Math.ceil(seconds));
}
