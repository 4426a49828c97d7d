import type { ServerResponse } from 'node:http';
import { senderOf } from './access/index.ts';
import { RoundRobin } from './round-robin.ts';

/** Turns of the event loop between steps that follow each other, in which new connections and other requests have time. */
const PAUSE_TURNS = 8;
/** Steps that follow each other without a pause take no longer than this together, milliseconds. */
const PAUSE_EVERY_MS = 2;

interface Waiting {
  readonly client: string;
  readonly start: () => void;
}

/**
 * Limits the number of concurrent steps, such as reads, because each takes memory or time that others need. One client
 * has at most half of the places, and clients that wait take turns. The limit of connections bounds the number of waiting
 * steps: each connection has one request in progress.
 */
export class Turns {
  readonly #most: number;
  readonly #clientMost: number;
  readonly #waiting = new RoundRobin<Waiting>();
  readonly #running = new Map<string, number>();
  #all = 0;
  /** When the last pause ended. */
  #paused = Number.NEGATIVE_INFINITY;

  constructor(most: number) {
    this.#most = most;
    this.#clientMost = Math.max(1, Math.floor(most / 2));
  }

  /** Resolves to the result of `step`, or to null when the client leaves before its turn. */
  async run<T>(response: ServerResponse, step: () => Promise<T>): Promise<T | null> {
    const client = senderOf(response);
    if (this.#all < this.#most && this.#mayRun(client)) this.#begin(client);
    else await new Promise<void>((start) => this.#waiting.push(client, { client, start }));
    try {
      return response.destroyed ? null : await step();
    } finally {
      this.#end(client);
    }
  }

  readonly #mayRun = (client: string): boolean => (this.#running.get(client) ?? 0) < this.#clientMost;

  #begin(client: string): void {
    this.#all += 1;
    this.#running.set(client, (this.#running.get(client) ?? 0) + 1);
  }

  #end(client: string): void {
    this.#all -= 1;
    const left = this.#running.get(client)! - 1;
    if (left > 0) this.#running.set(client, left);
    else this.#running.delete(client);
    const next = this.#waiting.shift(this.#mayRun);
    if (next === undefined) return;
    this.#begin(next.client);
    if (performance.now() - this.#paused < PAUSE_EVERY_MS) {
      next.start();
      return;
    }
    afterTurns(PAUSE_TURNS, () => {
      this.#paused = performance.now();
      next.start();
    });
  }
}

function afterTurns(turns: number, start: () => void): void {
  setImmediate(() => (turns === 1 ? start() : afterTurns(turns - 1, start)));
}
