import type { Channel, Desk, Logger, WorkerLink } from '@tidegauge/service';
import type { IngestClient } from './ingest-client.ts';
import { LINGER_MS, LiveFeed } from './live-feed.ts';
import { type LiveContent, LiveRing, type LiveStart } from './live-ring.ts';

/** Messages that a worker has not read. Then its clients miss readings, and learn how many. */
const MOST_BACKLOG = 64;

/** The streams of one client, by worker. */
type Streams = Map<WorkerLink, number>;

interface Follower {
  readonly worker: WorkerLink;
  /** Whether it missed something, and has to skip to the end. */
  isBehind: boolean;
}

/**
 * Follows ingest for all workers of the API while one of them has a client, and counts their clients. All workers receive
 * the same content, so positions in the feed have the same ids everywhere, and a client can continue at another worker.
 */
export class LiveDesk implements Desk {
  readonly #feed: LiveFeed;
  readonly #maxClients: number;
  readonly #lingerMs: number;
  readonly #followers = new Set<Follower>();
  /** By client. */
  readonly #streams = new Map<string, Streams>();
  #size = 0;
  /** Only its positions are used. */
  #ring: LiveRing | null = null;
  #linger: NodeJS.Timeout | null = null;

  constructor(ingest: IngestClient, logger: Logger, maxClients: number, lingerMs: number = LINGER_MS) {
    this.#feed = new LiveFeed(ingest, logger, (content) => this.#append(content));
    this.#maxClients = maxClients;
    this.#lingerMs = lingerMs;
  }

  attach(worker: WorkerLink): () => void {
    const follower = { worker, isBehind: false };
    this.#followers.add(follower);
    if (this.#ring !== null) this.#start(follower, this.#ring);
    worker.channel.on<string>('live.join', (owner) => this.#join(owner, worker));
    worker.channel.on<string>('live.leave', (owner) => this.#count(owner, worker, -1));
    return () => {
      this.#followers.delete(follower);
      for (const [owner, streams] of this.#streams) this.#count(owner, worker, -(streams.get(worker) ?? 0));
    };
  }

  close(): void {
    clearTimeout(this.#linger ?? undefined);
    this.#feed.close();
  }

  /** Whether a client may have another stream. At the maximum, the client with the most streams loses one. */
  async #join(owner: string, worker: WorkerLink): Promise<boolean> {
    if (this.#size >= this.#maxClients && !(await this.#makeRoom(owner))) return false;
    this.#count(owner, worker, 1);
    clearTimeout(this.#linger ?? undefined);
    if (this.#ring === null) {
      this.#ring = new LiveRing(1, 1);
      for (const follower of this.#followers) this.#start(follower, this.#ring);
      this.#feed.open();
    }
    return true;
  }

  async #makeRoom(owner: string): Promise<boolean> {
    const [largest] = [...this.#streams].sort((a, b) => sizeOf(b[1]) - sizeOf(a[1]));
    if (largest === undefined) return false;
    const [name, streams] = largest;
    if (sizeOf(streams) < sizeOf(this.#streams.get(owner)) + 2) return false;
    const [most] = [...streams].sort((a, b) => b[1] - a[1]);
    return most![0].channel.call<boolean>('live.cut', name).catch(() => true);
  }

  #count(owner: string, worker: WorkerLink, change: number): void {
    const streams: Streams = this.#streams.get(owner) ?? new Map();
    const count = (streams.get(worker) ?? 0) + change;
    if (count === 0) streams.delete(worker);
    else streams.set(worker, count);
    if (streams.size === 0) this.#streams.delete(owner);
    else this.#streams.set(owner, streams);
    this.#size += change;
    if (change === 0 || this.#size > 0) return;
    clearTimeout(this.#linger ?? undefined);
    this.#linger = setTimeout(() => {
      this.#feed.close();
      this.#ring = null;
    }, this.#lingerMs).unref();
  }

  #append(content: LiveContent): void {
    const ring = this.#ring!;
    for (const follower of this.#followers) {
      if (follower.worker.channel.backlog > MOST_BACKLOG) follower.isBehind = true;
      else {
        if (follower.isBehind) this.#start(follower, ring);
        follower.worker.channel.tell('live.append', content);
      }
    }
    ring.append(content);
  }

  #start(follower: Follower, { epoch, end }: LiveRing): void {
    follower.isBehind = false;
    follower.worker.channel.tell('live.start', { epoch, position: end } satisfies LiveStart);
  }
}

function sizeOf(streams: Streams | undefined): number {
  return [...(streams?.values() ?? [])].reduce((sum, count) => sum + count, 0);
}

/** What a worker receives. */
export interface LiveReceiver {
  /** Continues at a position: without the content before it, or with another ring. */
  readonly start: (start: LiveStart) => void;
  readonly append: (content: LiveContent) => void;
  /** Closes the oldest stream of a client. Returns whether there was one. */
  readonly cut: (owner: string) => boolean;
}

/** The desk, for the hub of a worker. */
export interface SharedLive {
  on(receiver: LiveReceiver): void;
  /** Resolves to whether a client may have another stream. `leave` reports its end. */
  join(owner: string): Promise<boolean>;
  leave(owner: string): void;
}

export function sharedLive(channel: Channel): SharedLive {
  return {
    on({ start, append, cut }) {
      channel.on('live.start', start);
      channel.on('live.append', append);
      channel.on('live.cut', cut);
    },
    join: (owner) => channel.call<boolean>('live.join', owner),
    leave: (owner) => channel.tell('live.leave', owner),
  };
}
