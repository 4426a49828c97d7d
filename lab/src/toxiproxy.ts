import { mkdir } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { freePort, launchServer } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

export const TOXIPROXY_VERSION = '2.5.0';
const MODULE = `github.com/Shopify/toxiproxy/v2/cmd/server@v${TOXIPROXY_VERSION}`;
const READY_MS = 20_000;
const REQUEST_MS = 10_000;
const PING_MS = 10_000;

/** What a link does to its connections. */
export interface Link {
  /** Added to what the server sends, so once to each round trip. */
  readonly delayMs: number;
  /** The delay varies by at most as much, with equal probability. */
  readonly jitterMs: number;
  /** Of each connection and direction. null: not limited. */
  readonly kilobitsPerSecond: number | null;
}

export interface Toxiproxy {
  readonly pid: number;
  /** Listens at `listen` and connects to `upstream`, both `host:port`, with a delay and a limited bandwidth. */
  addLink(listen: string, upstream: string, link: Link): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts Toxiproxy, a proxy for TCP that delays data, on loopback. Go builds it once. It forwards a stream without packets, so it cannot
 * lose single ones.
 */
export async function startToxiproxy(): Promise<Toxiproxy> {
  const folder = await buildOnce(`toxiproxy/v${TOXIPROXY_VERSION}`, build);
  const port = await freePort();
  const send = async (method: string, path: string, body?: unknown): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Toxiproxy: ${method} ${path}: ${response.status} ${text}`);
  };
  const server = await launchServer({
    name: `toxiproxy on 127.0.0.1:${port}`,
    command: join(folder, 'server'),
    args: ['-host', '127.0.0.1', '-port', String(port)],
    ready: () =>
      send('GET', '/version').then(
        () => true,
        () => false,
      ),
    readyMs: READY_MS,
  });
  return {
    pid: server.pid,
    async addLink(listen, upstream, { delayMs, jitterMs, kilobitsPerSecond }) {
      await send('POST', '/proxies', { name: listen, listen, upstream, enabled: true });
      const add = (type: string, stream: string, attributes: unknown): Promise<void> =>
        send('POST', `/proxies/${listen}/toxics`, { type, stream, attributes });
      if (delayMs > 0 || jitterMs > 0) {
        await add('latency', 'downstream', { latency: Math.round(delayMs), jitter: Math.round(jitterMs) });
      }
      if (kilobitsPerSecond === null) return;
      for (const stream of ['upstream', 'downstream']) {
        // Kilobytes per second.
        await add('bandwidth', stream, { rate: Math.max(1, Math.round(kilobitsPerSecond / 8)) });
      }
    },
    stop: () => server.stop(),
  };
}

/** The address at which a proxy for a server on 127.0.0.N listens: 127.0.1.N. */
export function proxyHost(host: string): string {
  return host.replace(/^127\.0\.0\./, '127.0.1.');
}

/** A server that sends back each byte, to measure the round trip of a link. */
export async function startEcho(): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const { port } = server.address() as { port: number };
  return { address: `127.0.0.1:${port}`, stop: async () => void server.close() };
}

/** The median of the round trips of single bytes over one connection to an echo server, in milliseconds. */
export async function roundTripMs(address: string, count: number): Promise<number> {
  const [host, port] = address.split(':') as [string, string];
  const socket = connect({ host, port: Number(port), noDelay: true });
  const signal = AbortSignal.timeout(PING_MS);
  const end = (): void => void socket.destroy(new Error(`${address} did not answer within ${PING_MS} ms`));
  signal.addEventListener('abort', end, { once: true });
  try {
    const times: number[] = [];
    for (let ping = 0; ping < count; ping += 1) {
      const start = performance.now();
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject).once('data', () => resolve());
        socket.write('x');
      });
      times.push(performance.now() - start);
      socket.removeAllListeners('error');
    }
    return times.toSorted((a, b) => a - b)[Math.floor(count / 2)]!;
  } finally {
    signal.removeEventListener('abort', end);
    socket.on('error', () => {}).destroy();
  }
}

async function build(directory: string): Promise<void> {
  process.stderr.write(`Building ${MODULE} (once, about a minute)...\n`);
  await mkdir(directory);
  await go(['install', MODULE], { env: { GOBIN: directory } });
}
