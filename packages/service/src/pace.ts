import type { RequestListener } from 'node:http';
import { clientOf } from './clients.ts';
import { RoundRobin } from './round-robin.ts';

/**
 * Time for requests in one turn of the event loop, milliseconds; further requests wait for the next turn. Node accepts one
 * connection in each turn, so a new client waits this long for each connection that others have opened before it.
 */
const TURN_MS = 2;

/**
 * Spreads simultaneous requests of many connections over several turns of the event loop, so that timers and other
 * responses continue; clients take turns. A single request is not delayed.
 */
export function paced(app: RequestListener): RequestListener {
  const waiting = new RoundRobin<() => void>();
  let started: number | null = null;
  const begin = (): void => {
    started = performance.now();
    setImmediate(nextTurn);
  };
  const isOver = (): boolean => performance.now() - started! > TURN_MS;
  const nextTurn = (): void => {
    started = null;
    if (waiting.isEmpty) return;
    begin();
    while (!isOver()) {
      const start = waiting.shift();
      if (start === undefined) return;
      start();
    }
  };
  return (request, response) => {
    if (started === null) begin();
    if (waiting.isEmpty && !isOver()) {
      app(request, response);
      return;
    }
    const client = clientOf(request.socket.remoteAddress);
    waiting.push(client, () => response.destroyed || app(request, response));
  };
}
