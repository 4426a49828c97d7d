import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/** Above the ports of well-known services, and below those of outgoing connections. */
const FIRST = 20_000;
const TRIES = 1000;

/** A TCP port of a loopback address on which no process listens now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const [port] = await freePorts(1, host);
  return port!;
}

/**
 * Different ports that are free on all hosts, by default on 127.0.0.1. They are not of the kernel's range for outgoing
 * connections, because such a connection could take a port before its server listens.
 */
export async function freePorts(count: number, ...hosts: readonly string[]): Promise<number[]> {
  const all = hosts.length === 0 ? ['127.0.0.1'] : hosts;
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries === count + TRIES) throw new Error(`there is no free port on ${all.join(', ')}`);
    const port = randomInt(FIRST, firstEphemeral());
    if ((await Promise.all(all.map((host) => isFree(port, host)))).every(Boolean)) ports.add(port);
  }
  return [...ports];
}

/** The first port that the kernel gives to outgoing connections (ip(7), `ip_local_port_range`). */
function firstEphemeral(): number {
  const usual = 32_768;
  try {
    const first = Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
    return first > FIRST ? first : usual;
  } catch {
    return usual;
  }
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  await once(server.close(), 'close');
  return true;
}

/** Whether a process accepts connections on a port of 127.0.0.1. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const finish = (connected: boolean): void => {
      socket.destroy();
      resolve(connected);
    };
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });
}
