import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@tidegauge/service';
import type { IngestClient } from './ingest-client.ts';
import type { LiveContent } from './live-ring.ts';

const RESOLVE_EVERY_MS = 5000;
const MAX_BACK_OFF_MS = 5000;
/** How long the feeds stay open after the last client left, so that it can reconnect, milliseconds. */
export const LINGER_MS = 10_000;

/** Follows the live feeds of all ingest processes. */
export class LiveFeed {
  readonly #ingest: IngestClient;
  readonly #logger: Logger;
  readonly #append: (content: LiveContent) => void;
  #following: AbortController | null = null;

  /** @param append receives what the feeds send, while they are followed */
  constructor(ingest: IngestClient, logger: Logger, append: (content: LiveContent) => void) {
    this.#ingest = ingest;
    this.#logger = logger;
    this.#append = append;
  }

  get isOpen(): boolean {
    return this.#following !== null;
  }

  /** Opens the feeds, if they are not open. */
  open(): void {
    if (this.#following !== null) return;
    this.#following = new AbortController();
    void this.#followReplicas(this.#following.signal);
  }

  close(): void {
    this.#following?.abort();
    this.#following = null;
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
}
