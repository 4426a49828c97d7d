import type { Will } from './connect.ts';

/** Bytes of all, and of each besides its topic and payload. */
const MAX_BYTES = 1024 * 1024;
const WILL_BYTES = 400;

/** Wills that are due and cannot be passed on yet, by client. A client has as much room as is free. */
export class WaitingWills {
  readonly #byClient = new Map<string, { readonly wills: Will[]; bytes: number }>();
  #bytes = 0;

  /** The clients that have wills here, the one that has waited for longest first. */
  get clients(): readonly string[] {
    return [...this.#byClient.keys()];
  }

  /** Keeps a will of a client. Returns false when it has no room for it. */
  add(client: string, will: Will): boolean {
    const own = this.#byClient.get(client) ?? { wills: [], bytes: 0 };
    const bytes = bytesOf(will);
    if (own.bytes + bytes > MAX_BYTES - this.#bytes) return false;
    own.wills.push(will);
    own.bytes += bytes;
    this.#bytes += bytes;
    this.#byClient.set(client, own);
    return true;
  }

  /** Removes the oldest will of a client. Returns it, or undefined without one. */
  take(client: string): Will | undefined {
    const own = this.#byClient.get(client);
    const will = own?.wills.shift();
    if (own === undefined || will === undefined) return undefined;
    const bytes = bytesOf(will);
    own.bytes -= bytes;
    this.#bytes -= bytes;
    if (own.wills.length === 0) this.#byClient.delete(client);
    return will;
  }

  clear(): void {
    this.#byClient.clear();
    this.#bytes = 0;
  }
}

function bytesOf({ topic, payload }: Will): number {
  return WILL_BYTES + 2 * (topic.length + payload.length);
}
