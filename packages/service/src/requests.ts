import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { http } from './node-http.ts';

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

const NOBODY = new LostRequest(new Socket());
const NO_ANSWER = new LostResponse(NOBODY);

/** A request, or the shared lost request when its connection was destroyed. */
export class HttpRequest extends http.IncomingMessage {
  // biome-ignore lint/correctness/noUnreachableSuper: it returns another object then
  constructor(socket: Socket) {
    // biome-ignore lint/correctness/noConstructorReturn: Node makes the objects, and this one costs nothing
    if (socket.destroyed) return NOBODY as HttpRequest;
    super(socket);
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
