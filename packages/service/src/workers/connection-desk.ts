import type { SharedConnections } from '../connections.ts';
import type { Channel } from './channel.ts';
import type { Desk, WorkerLink } from './supervisor.ts';

export interface ConnectionDeskLimits {
  /** Connections in total. */
  readonly connections: number;
  /** Connections of one client. */
  readonly perClient: number;
}

/** Connections by worker, and their sum. */
interface Client {
  readonly byWorker: Map<WorkerLink, number>;
  size: number;
}

type Which = 'idle' | 'oldest';

/**
 * Bounds the connections of all workers of a service, by the rules of `Connections`: at a bound, an idle connection of
 * the client with the most connections is closed. Which one is the oldest is known in each worker only.
 */
export class ConnectionDesk implements Desk {
  readonly #limits: ConnectionDeskLimits;
  readonly #clients = new Map<string, Client>();
  #size = 0;

  constructor(limits: ConnectionDeskLimits) {
    this.#limits = limits;
  }

  attach(worker: WorkerLink): () => void {
    worker.channel.on<string>('connection.opened', (name) => {
      const client = this.#clients.get(name) ?? { byWorker: new Map(), size: 0 };
      this.#clients.set(name, client);
      this.#count(name, client, worker, 1);
      return this.#makeRoom(name, client);
    });
    worker.channel.on<string>('connection.closed', (name) => {
      const client = this.#clients.get(name);
      if (client !== undefined) this.#count(name, client, worker, -1);
    });
    return () => {
      for (const [name, client] of this.#clients) {
        this.#count(name, client, worker, -(client.byWorker.get(worker) ?? 0));
      }
    };
  }

  #count(name: string, client: Client, worker: WorkerLink, change: number): void {
    client.byWorker.set(worker, (client.byWorker.get(worker) ?? 0) + change);
    if (client.byWorker.get(worker) === 0) client.byWorker.delete(worker);
    client.size += change;
    this.#size += change;
    if (client.size === 0) this.#clients.delete(name);
  }

  /** Whether a connection that was counted already may stay. */
  #makeRoom(name: string, own: Client): boolean | Promise<boolean> {
    if (own.size > this.#limits.perClient) return drop(name, own, 'idle');
    if (this.#size <= this.#limits.connections) return true;
    const [largestName, largest] = [...this.#clients].reduce((most, each) =>
      each[1].size > most[1].size ? each : most,
    );
    return drop(largestName, largest, 'idle').then(
      (isDropped) => isDropped || (largest.size > own.size && drop(largestName, largest, 'oldest')),
    );
  }
}

/** Has a worker close a connection of a client: the worker with the most of them first. */
async function drop(name: string, { byWorker }: Client, which: Which): Promise<boolean> {
  for (const [worker] of [...byWorker].sort((a, b) => b[1] - a[1])) {
    const isDropped = await worker.channel
      .call<boolean>('connection.drop', [name, which])
      // The worker has ended, and all its connections with it.
      .catch(() => true);
    if (isDropped) return true;
  }
  return false;
}

/** The desk, for the server of a worker. */
export function sharedConnections(channel: Channel): SharedConnections {
  return {
    opened: (client) => channel.call<boolean>('connection.opened', client).catch(() => false),
    closed: (client) => channel.tell('connection.closed', client),
    onDrop: (close) =>
      channel.on<readonly [string, Which]>('connection.drop', ([client, which]) => close(client, which)),
  };
}
