import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { isSafe } from './methods.ts';
import { http } from './node-http.ts';

/** The first parts of a body are passed on as they arrive: most bodies have one or two. */
const FIRST_PARTS = 8;
/** The later ones are joined to parts of this size, bytes. A part takes some hundred bytes more than it has. */
const PART_BYTES = 4096;

// Node's parser reads a chunk of 64 KiB to its end, even when the connection was destroyed meanwhile. With pipelining
// that can be 2,500 requests of about 7 KB each, which live until the event loop closes the connection. All requests
// of a destroyed connection are therefore one shared object.

class LostRequest extends http.IncomingMessage {
  // Prevents the body from ending more than once.
  override push(): boolean {
    return false;
  }

  override destroy(): this {
    return this;
  }
}

class LostResponse extends http.ServerResponse {
  override on(): this {
    return this;
  }

  override assignSocket(): void {}

  override writeContinue(): void {}

  override end(): this {
    return this;
  }
}

const NOBODY: IncomingMessage = new LostRequest(new Socket());
const NO_ANSWER = new LostResponse(NOBODY);

/**
 * A request, or the shared lost request when its connection was destroyed. Short parts of its body are joined before
 * anything reads or keeps them: a body can arrive as a chunk, and an object, for each byte. A body that its method gives
 * no meaning is dropped (RFC 9110 section 9.3.1), because nothing reads it.
 */
export class HttpRequest extends http.IncomingMessage {
  #parts = 0;
  #joined: Buffer | null = null;
  #filled = 0;

  // biome-ignore lint/correctness/noUnreachableSuper: it returns another object then
  constructor(socket: Socket) {
    // biome-ignore lint/correctness/noConstructorReturn: Node makes the objects, and this one costs nothing
    if (socket.destroyed) return NOBODY as HttpRequest;
    super(socket);
    // Its own property, because Express gives requests another prototype.
    this.push = this.#add;
  }

  /** Called by Node's parser with each part, and with null at the end. */
  #add(part: Buffer | null): boolean {
    if (part !== null && isSafe(this.method!)) return true;
    if (part !== null && ++this.#parts > FIRST_PARTS && (this.#filled > 0 || part.length < PART_BYTES))
      return this.#join(part);
    if (this.#joined !== null) super.push(this.#joined.subarray(0, this.#filled));
    this.#joined = null;
    return super.push(part);
  }

  #join(part: Buffer): boolean {
    let mayContinue = true;
    for (let from = 0; from < part.length; ) {
      this.#joined ??= Buffer.allocUnsafeSlow(PART_BYTES);
      const copied = part.copy(this.#joined, this.#filled, from);
      from += copied;
      this.#filled += copied;
      if (this.#filled < PART_BYTES) break;
      mayContinue = super.push(this.#joined);
      this.#joined = null;
      this.#filled = 0;
    }
    return mayContinue;
  }
}

export class HttpResponse extends http.ServerResponse {
  // biome-ignore lint/correctness/noUnreachableSuper: it returns another object then
  constructor(...made: ConstructorParameters<typeof ServerResponse>) {
    // biome-ignore lint/correctness/noConstructorReturn: as above
    if (isLost(made[0] as IncomingMessage)) return NO_ANSWER as HttpResponse;
    super(...made);
  }
}

/** Whether the connection of a request was destroyed before the request was read. */
export function isLost(request: IncomingMessage): boolean {
  return request === NOBODY;
}
