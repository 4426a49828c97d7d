import type { ServerResponse } from 'node:http';
import { type Logger, Problem, RoundRobin, senderOf } from '@tidegauge/service';
import type { IngestClient } from './ingest-client.ts';
import { ANY_VIEWER, LiveClient, type LiveViewer } from './live-client.ts';
import type { SharedLive } from './live-desk.ts';
import type { LiveFilter } from './live-event.ts';
import { LINGER_MS, LiveFeed } from './live-feed.ts';
import { type LiveContent, LiveRing, type LiveStart } from './live-ring.ts';

export interface LiveHubOptions {
  readonly maxClients: number;
  /** Recent readings that are kept for clients that are slow or reconnect. */
  readonly ringReadings?: number;
  /** Largest memory of these readings, bytes. */
  readonly ringBytes?: number;
  /** Time between the comments that keep connections open, milliseconds. */
  readonly heartBeatMs?: number;
  /** How long the feeds stay open after the last client left, so that it can reconnect, milliseconds. */
  readonly lingerMs?: number;
  /** Follows the feeds for all worker processes, and limits their clients. Default: this process does. */
  readonly shared?: SharedLive | null;
}

const PATIENCE_MS = 60_000;
/** Up to this number, all clients receive an event at once. With more, this would block the event loop. */
const FEW_CLIENTS = 10;
/** How long events are sent before the event loop does other work, milliseconds. */
const TURN_MS = 5;
/** About a minute at 300 readings/s. A client that comes back later reads what it missed from the store. */
const RING_READINGS = 20_000;
export const RING_BYTES = 8 * 2 ** 20;

/**
 * Sends the live feeds of all ingest processes to many clients.
 *
 * idle --first client--> following --last client left--> lingering --client--> following
 * lingering --lingerMs--> idle (the feeds are closed; the ring is replaced, so its ids are no longer valid)
 *
 * While idle, no feed is open and no timer runs.
 */
export class LiveHub {
  readonly #options: Required<LiveHubOptions>;
  readonly #feed: LiveFeed;
  readonly #clients = new Set<LiveClient>();
  #ring: LiveRing;
  /** The clients that may not have received all of the ring, when there are many. Addresses take turns. */
  readonly #waiting = new RoundRobin<LiveClient>();
  readonly #behind = new Set<LiveClient>();
  #pumping = false;
  #beat: NodeJS.Timeout | null = null;
  #linger: NodeJS.Timeout | null = null;

  constructor(ingest: IngestClient, logger: Logger, options: LiveHubOptions) {
    this.#options = {
      heartBeatMs: 15_000,
      lingerMs: LINGER_MS,
      ringReadings: RING_READINGS,
      ringBytes: RING_BYTES,
      shared: null,
      ...options,
    };
    this.#ring = this.#newRing();
    this.#feed = new LiveFeed(ingest, logger, (content) => this.#append(content));
    this.#options.shared?.on({
      start: (start) => {
        if (start.epoch === this.#ring.epoch) this.#ring.skipTo(start.position);
        else this.#ring = this.#newRing(start);
      },
      append: (content) => this.#append(content),
      cut: (owner) => this.#cut(owner),
    });
  }

  get ringBytes(): number {
    return this.#ring.bytes;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** True while a feed is open or a timer runs. */
  get active(): boolean {
    return this.#feed.isOpen || this.#beat !== null || this.#linger !== null;
  }

  /**
   * Turns a response into a live stream until its client leaves.
   *
   * @param lastEventId the last event that the client received: the stream continues after it, or begins with a gap
   * @throws {Problem} 503 at the maximum of streams, when no client has at least two streams more than this one
   */
  async join(
    response: ServerResponse,
    filter: LiveFilter,
    lastEventId: string | null,
    viewer: LiveViewer = ANY_VIEWER,
  ): Promise<void> {
    const { shared } = this.#options;
    const owner = senderOf(response);
    if (!(shared === null ? this.#makeRoom(owner) : await shared.join(owner))) {
      const detail = `${this.#options.maxClients} clients follow the live feed, which is the maximum (LIVE_CLIENTS).`;
      throw new Problem(503, 'Too many live clients', detail, { retryAfter: 10 });
    }
    // The client left while another process counted it.
    if (response.closed) return shared?.leave(owner);
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // With this header nginx passes events on at once.
      'X-Accel-Buffering': 'no',
    });
    response.write('retry: 2000\n\n');
    const resumed = lastEventId === null ? null : this.#ring.locate(lastEventId);
    const client = new LiveClient(
      response,
      this.#ring,
      { filter, viewer },
      resumed ?? this.#ring.end,
      (ready) => this.#send(ready),
    );
    this.#clients.add(client);
    response.once('close', () => {
      shared?.leave(owner);
      this.#leave(client);
    });
    if (lastEventId !== null && resumed === null) client.sendGap(null, this.#ring.end);
    this.#follow();
    this.#send(client);
  }

  /** Ends all streams and closes the feeds. */
  close(): void {
    for (const client of this.#clients) client.end();
    this.#clients.clear();
    this.#stop();
  }

  #newRing(start: LiveStart | null = null): LiveRing {
    return new LiveRing(this.#options.ringReadings, this.#options.ringBytes, start);
  }

  /**
   * Whether there is room for another stream. At the maximum, the client with the most streams loses its oldest one to
   * a client that has at least two fewer.
   */
  #makeRoom(owner: string): boolean {
    if (this.#clients.size < this.#options.maxClients) return true;
    const byOwner = Map.groupBy(this.#clients, (client) => client.owner);
    const [largest] = [...byOwner.values()].sort((a, b) => b.length - a.length);
    const own = byOwner.get(owner)?.length ?? 0;
    if (largest === undefined || largest.length < own + 2) return false;
    return this.#cut(largest[0]!.owner);
  }

  /** Closes the oldest stream of a client. Returns whether there was one. */
  #cut(owner: string): boolean {
    const oldest = [...this.#clients].find((client) => client.owner === owner);
    if (oldest === undefined) return false;
    this.#clients.delete(oldest);
    oldest.cut();
    return true;
  }

  #leave(client: LiveClient): void {
    if (!this.#clients.delete(client) || this.#clients.size > 0) return;
    clearInterval(this.#beat ?? undefined);
    this.#beat = null;
    // The process that follows the feeds does it for all workers.
    if (this.#options.shared !== null) return;
    this.#linger = setTimeout(() => this.#stop(), this.#options.lingerMs);
    this.#linger.unref();
  }

  #stop(): void {
    clearInterval(this.#beat ?? undefined);
    clearTimeout(this.#linger ?? undefined);
    this.#feed.close();
    this.#beat = this.#linger = null;
    this.#ring = this.#newRing();
  }

  #follow(): void {
    clearTimeout(this.#linger ?? undefined);
    this.#linger = null;
    this.#beat ??= setInterval(() => {
      for (const client of this.#clients) client.beat(PATIENCE_MS);
    }, this.#options.heartBeatMs);
    if (this.#options.shared === null) this.#feed.open();
  }

  #append(content: LiveContent): void {
    this.#ring.append(content);
    for (const client of this.#clients) this.#send(client);
  }

  /** Sends a client the entries that it has not received: at once when there are few clients, otherwise in its turn. */
  #send(client: LiveClient): void {
    if (this.#clients.size <= FEW_CLIENTS) {
      client.pump();
      return;
    }
    // A client that already waits keeps its place in the queue.
    if (client.isFull || this.#behind.has(client)) return;
    this.#behind.add(client);
    this.#waiting.push(client.owner, client);
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => this.#pump());
  }

  /** Sends an entry to each waiting client in turn. After TURN_MS, the next turn of the event loop continues. */
  #pump(): void {
    const started = performance.now();
    while (performance.now() - started <= TURN_MS) {
      const client = this.#waiting.shift();
      if (client === undefined) break;
      this.#behind.delete(client);
      if (this.#clients.has(client) && client.pump(1)) this.#send(client);
    }
    this.#pumping = !this.#waiting.isEmpty;
    if (this.#pumping) setImmediate(() => this.#pump());
  }
}
