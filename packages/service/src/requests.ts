import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

// Node's parser reads a piece of 64 KiB to its end, also when the connection was destroyed meanwhile: with pipelining
// that can be 2,500 requests, of some 7 KB each, which live until the event loop closes the connection. Requests of a
// destroyed connection are all this one, and take no memory.

class Nobody extends IncomingMessage {
  // A body would end more than once.
  override push(): boolean {
    return false;
  }

  override destroy(): this {
    return this;
  }
}

class NoAnswer extends ServerResponse {
  override on(): this {
    return this;
  }

  override assignSocket(): void {}

  override writeContinue(): void {}

  override end(): this {
    return this;
  }
}

const NOBODY = new Nobody(new Socket());
const NO_ANSWER = new NoAnswer(NOBODY);

/** A request, or `isLost`'s if its connection was destroyed. */
export class HttpRequest extends IncomingMessage {
  // biome-ignore lint/correctness/noUnreachableSuper: it returns another object then
  constructor(socket: Socket) {
    // biome-ignore lint/correctness/noConstructorReturn: Node makes the objects, and this one costs nothing
    if (socket.destroyed) return NOBODY as HttpRequest;
    super(socket);
  }
}

export class HttpResponse extends ServerResponse {
  // biome-ignore lint/correctness/noUnreachableSuper: it returns another object then
  constructor(...made: ConstructorParameters<typeof ServerResponse>) {
    // biome-ignore lint/correctness/noConstructorReturn: as above
    if (isLost(made[0] as IncomingMessage)) return NO_ANSWER as HttpResponse;
    super(...made);
  }
}

/** Whether a request came over a connection that was destroyed already. */
export function isLost(request: IncomingMessage): boolean {
  return request === NOBODY;
}
