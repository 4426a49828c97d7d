import { setTimeout as sleep } from 'node:timers/promises';
import { Problem, RoundRobin } from '@tidegauge/service';

/** Explanations that run or wait, of one client and of all. Each holds the body of its request. */
const CLIENT_MOST = 8;
const MOST = 32;
/** After an explanation, the next one waits for so many times its duration, so that all together take a fifth of the time. */
const REST = 4;

export interface ExplanationOptions {
  readonly clientMost?: number;
  readonly most?: number;
  /** Waits between two explanations. Default: a timer. */
  readonly rest?: (milliseconds: number) => Promise<unknown>;
}

/**
 * Explanations one after the other, with pauses, because each is computed at once on the event loop that receives the
 * messages of sensors. Clients that wait take turns.
 */
export class Explanations {
  readonly #clientMost: number;
  readonly #most: number;
  readonly #rest: (milliseconds: number) => Promise<unknown>;
  readonly #waiting = new RoundRobin<() => void>();
  readonly #clients = new Map<string, number>();
  #all = 0;
  #isRunning = false;

  constructor({ clientMost = CLIENT_MOST, most = MOST, rest = sleep }: ExplanationOptions = {}) {
    this.#clientMost = clientMost;
    this.#most = most;
    this.#rest = rest;
  }

  /**
   * Takes a place, before the body of the request is read. The caller gives it back with the result.
   *
   * @throws {Problem} 429 when the client has as many as it may have, 503 when all places are taken
   */
  enter(client: string): () => void {
    const own = this.#clients.get(client) ?? 0;
    if (own >= this.#clientMost)
      throw busy(429, `One client has at most ${this.#clientMost} explanations at once.`);
    if (this.#all >= this.#most) throw busy(503, `There are ${this.#most} explanations at once.`);
    this.#all++;
    this.#clients.set(client, own + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#all--;
      const left = this.#clients.get(client)! - 1;
      if (left > 0) this.#clients.set(client, left);
      else this.#clients.delete(client);
    };
  }

  /** Resolves to the result of `explain`, which is called in the turn of the client. */
  run<T>(client: string, explain: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(client, () => {
        try {
          resolve(explain());
        } catch (error) {
          reject(error as Error);
        }
      });
      if (!this.#isRunning) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const begun = performance.now();
      next();
      await this.#rest(REST * (performance.now() - begun));
    }
    this.#isRunning = false;
  }
}

function busy(status: 429 | 503, detail: string): Problem {
  return new Problem(status, 'Too many explanations', `${detail} Send the request again later.`, {
    retryAfter: 1,
  });
}
