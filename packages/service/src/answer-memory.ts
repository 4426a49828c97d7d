import type { ServerResponse } from 'node:http';
import type { Express, Response } from 'express';
import { senderOf } from './access/index.ts';
import { Problem } from './problem.ts';

/** Answers of up to this size need no reservation, bytes. */
const SMALL_BYTES = 32 * 1024;

/**
 * Bounds the memory of large answers, for any number of clients that do not read them. A client has as much as is free: alone
 * half of it, and each of n clients one part of n + 1.
 */
export class AnswerMemory {
  readonly #limit: number;
  readonly #clients = new Map<string, number>();
  readonly #held = new WeakMap<ServerResponse, number>();
  #bytes = 0;

  /** @param limit memory for large answers that are not yet sent, bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Reserves memory for an answer of `bytes` until the response closes. The largest reservation of a response counts.
   *
   * @throws {Problem} 503 when too many large answers are being sent
   */
  reserve(response: ServerResponse, bytes: number): void {
    if (!this.fits(response, bytes)) throw tooManyAnswers();
  }

  /** Like `reserve`, but returns false when the memory is not available. */
  fits(response: ServerResponse, bytes: number): boolean {
    const held = this.#held.get(response) ?? 0;
    // Nothing is sent to a client that has left.
    if (bytes <= Math.max(held, SMALL_BYTES) || response.destroyed) return true;
    const client = senderOf(response);
    const [own, all] = [(this.#clients.get(client) ?? 0) - held, this.#bytes - held];
    // An answer that is larger is sent when it is the only one.
    if (all > 0 && own + bytes > this.#limit - all - bytes) return false;
    if (held === 0) response.once('close', () => this.#release(response, client));
    this.#held.set(response, bytes);
    this.#bytes = all + bytes;
    this.#clients.set(client, own + bytes);
    return true;
  }

  #release(response: ServerResponse, client: string): void {
    const held = this.#held.get(response)!;
    this.#bytes -= held;
    const rest = this.#clients.get(client)! - held;
    if (rest > 0) this.#clients.set(client, rest);
    else this.#clients.delete(client);
  }

  /** Has `json`, and `send` of a text, of an application reserve the memory of what they send. Files are in memory once for all. */
  bound(app: Express): void {
    const { response } = app as unknown as { readonly response: Response };
    const send = response.send;
    const reserve = (to: Response, text: string) => this.reserve(to, Buffer.byteLength(text));
    response.send = function (this: Response, body) {
      if (typeof body === 'string') reserve(this, body);
      return send.call(this, body);
    };
  }
}

export function tooManyAnswers(): Problem {
  const detail = 'Too many large answers are being sent. Send the request again later, or request less.';
  return new Problem(503, 'Too many large answers at once', detail, { retryAfter: 1 });
}
