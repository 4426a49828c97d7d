import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, Problem } from '@tidegauge/service';
import type { IngestClient } from './ingest-client.ts';
import { LiveClient, type LiveFilter } from './live-client.ts';
import { type LiveContent, LiveRing } from './live-ring.ts';

export interface LiveHubOptions {
  readonly maxClients: number;
  /** Readings kept for clients that are slow or come back. */
  readonly ringReadings: number;
  /** Between comments that keep connections open, milliseconds. */
  readonly heartBeatMs?: number;
  /** How long ingest is still followed after the last client left, for one that comes back, milliseconds. */
  readonly lingerMs?: number;
}

const RESOLVE_EVERY_MS = 5000;
const MAX_BACK_OFF_MS = 5000;
const PATIENCE_MS = 60_000;

/**
 * Hands the live feed of all ingest processes to many clients.
 *
 * idle --first client--> following --last client left--> lingering --client--> following
 * lingering --lingerMs--> idle (feeds let go, ring emptied: its ids mean nothing any more)
 *
 * Nothing is subscribed, and no timer runs, while idle.
 */
export class LiveHub {
  readonly #ingest: IngestClient;
  readonly #logger: Logger;
  readonly #options: Required<LiveHubOptions>;
  readonly #clients = new Set<LiveClient>();
  #ring: LiveRing;
  #following: AbortController | null = null;
  #beat: NodeJS.Timeout | null = null;
  #linger: NodeJS.Timeout | null = null;

  constructor(ingest: IngestClient, logger: Logger, options: LiveHubOptions) {
    this.#ingest = ingest;
    this.#logger = logger;
    this.#options = { heartBeatMs: 15_000, lingerMs: 10_000, ...options };
    this.#ring = new LiveRing(options.ringReadings);
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** True while anything of ours runs or is subscribed. */
  get active(): boolean {
    return this.#following !== null || this.#beat !== null || this.#linger !== null;
  }

  /**
   * Turns a response into a live stream until its client leaves.
   *
   * @param lastEventId where the client was; it goes on behind that, or is told the gap
   * @throws {Problem} 503 when there are as many clients as there may be
   */
  join(response: ServerResponse, filter: LiveFilter, lastEventId: string | null): void {
    if (this.#clients.size >= this.#options.maxClients) {
      const detail = `${this.#clients.size} clients follow the live feed, and there is no room for more (LIVE_CLIENTS).`;
      throw new Problem(503, 'Too many live clients', detail, { retryAfter: 10 });
    }
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // Tells nginx not to collect events before passing them on.
      'X-Accel-Buffering': 'no',
    });
    response.write('retry: 2000\n\n');
    const resumed = lastEventId === null ? null : this.#ring.locate(lastEventId);
    const client = new LiveClient(response, this.#ring, filter, resumed ?? this.#ring.end);
    this.#clients.add(client);
    response.once('close', () => this.#leave(client));
    if (lastEventId !== null && resumed === null) client.sendGap(null, this.#ring.end);
    this.#follow();
    client.pump();
  }

  /** Ends all streams and lets go of the feeds. */
  close(): void {
    for (const client of this.#clients) client.end();
    this.#clients.clear();
    this.#stop();
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
    this.#ring = new LiveRing(this.#options.ringReadings);
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

  /** Keeps one feed per replica; replicas come and go with the name that stands for them. */
  async #followReplicas(signal: AbortSignal): Promise<void> {
    const feeds = new Map<string, AbortController>();
    signal.addEventListener('abort', () => {
      for (const feed of feeds.values()) feed.abort();
    });
    while (!signal.aborted) {
      const targets = await this.#ingest.targets();
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

  /** Follows one replica; what it committed between two connections is a gap of unknown size. */
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
    for (const client of this.#clients) client.pump();
  }
}
