import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf, type Logger, Problem, RoundRobin } from '@tidegauge/service';
import type { IngestClient } from './ingest-client.ts';
import { ANY_VIEWER, LiveClient, type LiveViewer } from './live-client.ts';
import type { LiveFilter } from './live-event.ts';
import { type LiveContent, LiveRing } from './live-ring.ts';

export interface LiveHubOptions {
  readonly maxClients: number;
  /** Recent readings that are kept for clients that are slow or reconnect. */
  readonly ringReadings: number;
  /** Largest memory of these readings, bytes. */
  readonly ringBytes?: number;
  /** Time between the comments that keep connections open, milliseconds. */
  readonly heartBeatMs?: number;
  /** How long the feeds stay open after the last client left, so that it can reconnect, milliseconds. */
  readonly lingerMs?: number;
}

const RESOLVE_EVERY_MS = 5000;
const MAX_BACK_OFF_MS = 5000;
const PATIENCE_MS = 60_000;
/** Up to this number, all clients receive an event at once. With more, this would block the event loop. */
const FEW_CLIENTS = 10;
/** How long events are sent before the event loop does other work, milliseconds. */
const TURN_MS = 5;
const RING_BYTES = 8 * 2 ** 20;

/**
 * Sends the live feeds of all ingest processes to many clients.
 *
 * idle --first client--> following --last client left--> lingering --client--> following
 * lingering --lingerMs--> idle (the feeds are closed; the ring is replaced, so its ids are no longer valid)
 *
 * While idle, no feed is open and no timer runs.
 */
export class LiveHub {
  readonly #ingest: IngestClient;
  readonly #logger: Logger;
  readonly #options: Required<LiveHubOptions>;
  readonly #clients = new Set<LiveClient>();
  #ring: LiveRing;
  /** The clients that may not have received all of the ring, when there are many. Addresses take turns. */
  readonly #waiting = new RoundRobin<LiveClient>();
  readonly #behind = new Set<LiveClient>();
  #pumping = false;
  #following: AbortController | null = null;
  #beat: NodeJS.Timeout | null = null;
  #linger: NodeJS.Timeout | null = null;

  constructor(ingest: IngestClient, logger: Logger, options: LiveHubOptions) {
    this.#ingest = ingest;
    this.#logger = logger;
    this.#options = { heartBeatMs: 15_000, lingerMs: 10_000, ringBytes: RING_BYTES, ...options };
    this.#ring = this.#newRing();
  }

  get ringBytes(): number {
    return this.#ring.bytes;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** True while a feed is open or a timer runs. */
  get active(): boolean {
    return this.#following !== null || this.#beat !== null || this.#linger !== null;
  }

  /**
   * Turns a response into a live stream until its client leaves.
   *
   * @param lastEventId the last event that the client received: the stream continues after it, or begins with a gap
   * @throws {Problem} 503 at the maximum of streams, when no client has at least two streams more than this one
   */
  join(
    response: ServerResponse,
    filter: LiveFilter,
    lastEventId: string | null,
    viewer: LiveViewer = ANY_VIEWER,
  ): void {
    if (!this.#makeRoom(clientOf(response.req.socket.remoteAddress))) {
      const detail = `${this.#clients.size} clients follow the live feed, which is the maximum (LIVE_CLIENTS).`;
      throw new Problem(503, 'Too many live clients', detail, { retryAfter: 10 });
    }
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
    response.once('close', () => this.#leave(client));
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

  #newRing(): LiveRing {
    return new LiveRing(this.#options.ringReadings, this.#options.ringBytes);
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
    this.#clients.delete(largest[0]!);
    largest[0]!.cut();
    return true;
  }

  #leave(client: LiveClient): void {
    if (!this.#clients.delete(client) || this.#clients.size > 0) return;
    clearInterval(this.#beat ?? undefined);
    this.#beat = null;
    this.#linger = setTimeout(() => this.#stop(), this.#options.lingerMs);
    this.#linger.unref();
  }

  #stop(): void {
    clearInterval(this.#beat ?? undefined);
    clearTimeout(this.#linger ?? undefined);
    this.#following?.abort();
    this.#beat = this.#linger = this.#following = null;
    this.#ring = this.#newRing();
  }

  #follow(): void {
    clearTimeout(this.#linger ?? undefined);
    this.#linger = null;
    this.#beat ??= setInterval(() => {
      for (const client of this.#clients) client.beat(PATIENCE_MS);
    }, this.#options.heartBeatMs);
    if (this.#following !== null) return;
    this.#following = new AbortController();
    void this.#followReplicas(this.#following.signal);
  }

  /** Keeps one feed open per replica. The names of ingest are resolved at intervals to find the current replicas. */
  async #followReplicas(signal: AbortSignal): Promise<void> {
    const feeds = new Map<string, AbortController>();
    signal.addEventListener('abort', () => {
      for (const feed of feeds.values()) feed.abort();
    });
    while (!signal.aborted) {
      const targets = await this.#ingest.targets().catch((err: unknown) => {
        this.#logger.warn({ err }, 'ingest processes cannot be found');
        return [...feeds.keys()];
      });
      if (signal.aborted) return;
      for (const url of targets) {
        if (feeds.has(url)) continue;
        const feed = new AbortController();
        feeds.set(url, feed);
        void this.#followReplica(url, feed.signal);
      }
      for (const [url, feed] of feeds) {
        if (targets.includes(url)) continue;
        feed.abort();
        feeds.delete(url);
      }
      await sleep(RESOLVE_EVERY_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Follows one replica. The readings that it commits between two connections are a gap of unknown size. */
  async #followReplica(url: string, signal: AbortSignal): Promise<void> {
    let backOff = 250;
    let lost = false;
    while (!signal.aborted) {
      try {
        for await (const line of this.#ingest.live(url, signal)) {
          if (signal.aborted) return;
          if (lost) this.#append({ missed: null });
          lost = false;
          backOff = 250;
          this.#append(line);
        }
        this.#logger.debug({ ingest: url }, 'live feed ended');
      } catch (error) {
        if (!signal.aborted && backOff === 250)
          this.#logger.warn({ err: error, ingest: url }, 'live feed lost');
      }
      lost = true;
      await sleep(backOff * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => {});
      backOff = Math.min(backOff * 2, MAX_BACK_OFF_MS);
    }
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
