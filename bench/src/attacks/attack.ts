import { request } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Listeners } from './client.ts';

/** What an attack is directed at, and what the attacker knows. */
export interface TargetDescription {
  readonly mqtt: Listeners;
  /** URLs of the HTTP ports. */
  readonly ingest: string;
  readonly api: string;
  /** Of the user `attacker`. */
  readonly password: string;
  /** Names of other users, whose passwords the attacker does not know. */
  readonly users: readonly string[];
  /** The address of the sensors, which a sensor behind the same router has. */
  readonly sensorAddress: string;
  readonly keys: Readonly<Record<'write' | 'read', readonly [string, string]>>;
}

export interface Target extends TargetDescription {
  /** Aborted when the attack is over. */
  readonly signal: AbortSignal;
  request(url: string, path: string, options: RequestOptions): Promise<number>;
}

export interface RequestOptions {
  readonly from: string;
  readonly key: string;
  readonly method?: string;
  readonly body?: string;
}

/** Attacks until the signal of its target is aborted. */
export type Attack = (target: Target) => Promise<void>;

/** Connections that are opened at most in 10 ms, so that the attack does not need a processor for itself. */
const OPENED_AT_ONCE = 20;
const PAUSE_MS = 10;
const FIRST_ADDRESS = 2;

/** The address of an attacker, 127.0.0.2 and above. */
export function addressOf(n: number): string {
  return `127.0.0.${FIRST_ADDRESS + n}`;
}

/** Keeps a number of connections open: those that end are opened again. */
export async function keep(
  { signal }: Target,
  count: number,
  open: (n: number) => Promise<Socket>,
): Promise<void> {
  const sockets = new Map<number, Socket | null>();
  while (!signal.aborted) {
    let opened = 0;
    for (let n = 0; n < count && opened < OPENED_AT_ONCE; n++) {
      const socket = sockets.get(n);
      if (socket === null || (socket !== undefined && !socket.destroyed)) continue;
      opened += 1;
      sockets.set(n, null);
      void open(n).then(
        (now) => sockets.set(n, now),
        () => sockets.delete(n),
      );
    }
    await sleep(PAUSE_MS);
  }
}

/** Repeats a step while the attack and `holds` last. A step that fails is repeated after a pause. */
export async function repeat(
  { signal }: Target,
  step: () => Promise<unknown>,
  holds: () => boolean = () => true,
): Promise<void> {
  while (!signal.aborted && holds()) await step().catch(() => sleep(PAUSE_MS));
}

/** Sends a request and reads the answer. Resolves to its status. */
export function send(
  url: string,
  path: string,
  { from, key, method = 'GET', body }: RequestOptions,
): Promise<number> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const place = { hostname, port, path, method, headers, localAddress: from, agent: false } as const;
  request(place, (response) => {
    response.on('error', reject).on('end', () => resolve(response.statusCode!));
    response.resume();
  })
    .on('error', reject)
    .end(body);
  return promise;
}
