import { mkdir } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { freePort, launchServer, runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

export const TOXIPROXY_VERSION = '2.5.0';
const MODULE = `github.com/Shopify/toxiproxy/v2/cmd/server@v${TOXIPROXY_VERSION}`;
const READY_MS = 20_000;
const REQUEST_MS = 10_000;
const UNCHANGED: Link = { delayMs: 0, jitterMs: 0, kilobitsPerSecond: null };
const PING_MS = 10_000;
/** The time of all pings of a measurement, about. */
const PINGS_MS = 5000;
const LEAST_PINGS = 21;
/** Sends a request, in a process that is in another network. */
const REQUEST = `const [url, method, body] = process.argv.slice(1);
const response = await fetch(url, { method, ...(body ? { body } : {}), signal: AbortSignal.timeout(${REQUEST_MS}) });
process.stdout.write(response.status + ' ' + (await response.text()));`;

/** What a link does to its connections. */
export interface Link {
  /** Added to what the server sends, so once to each round trip. */
  readonly delayMs: number;
  /** The delay varies by at most as much, with equal probability. */
  readonly jitterMs: number;
  /** Of each connection and direction. null: not limited. */
  readonly kilobitsPerSecond: number | null;
}

/**
 * A failure of a link. `refuse`: its connections are closed, and new ones are refused. `drop`: connections stay open, but
 * data of both directions is dropped without notice, as after a router lost its state. When the failure ends, these
 * connections are closed, because their streams have gaps.
 */
export type LinkFailure = 'refuse' | 'drop';

export interface Toxiproxy {
  readonly pid: number;
  /** Listens at `listen` and connects to `upstream`, both `host:port`. Default: without delay and limit. */
  addLink(listen: string, upstream: string, link?: Link): Promise<void>;
  /** Makes a link fail, or slow. null: it works as at first, without delay and limit. */
  changeLink(listen: string, change: LinkFailure | Link | null): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts Toxiproxy, a proxy for TCP that delays or drops data, on loopback. Go builds it once. It forwards a stream without packets, so it cannot
 * lose single ones.
 *
 * @param networkOf id of a process: the proxy is in its network. This needs root. Default: the network of this process
 */
export async function startToxiproxy(networkOf: number | null = null): Promise<Toxiproxy> {
  const folder = await buildOnce(`toxiproxy/v${TOXIPROXY_VERSION}`, build);
  const port = await freePort();
  /** A program and its arguments, in the network of the proxy. */
  const inNetwork = (program: string, args: readonly string[]): [string, readonly string[]] =>
    networkOf === null
      ? [program, args]
      : ['nsenter', ['--target', String(networkOf), '--net', program, ...args]];
  const request = async (method: string, path: string, body: string): Promise<string> => {
    const url = `http://127.0.0.1:${port}${path}`;
    if (networkOf !== null) {
      const script = ['--input-type=module', '--eval', REQUEST, '--', url, method, body];
      return (await runProgram(...inNetwork(process.execPath, script))).stdout;
    }
    const signal = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch(url, { method, ...(body === '' ? {} : { body }), signal });
    return `${response.status} ${await response.text()}`;
  };
  /** Resolves to the status and the body of the answer. */
  const send = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await request(method, path, body === undefined ? '' : JSON.stringify(body));
    if (!answer.startsWith('2')) throw new Error(`Toxiproxy: ${method} ${path}: ${answer}`);
    return answer;
  };
  const address = ['-host', '127.0.0.1', '-port', String(port)];
  const [command, args] = inNetwork(join(folder, 'server'), address);
  const server = await launchServer({
    name: `toxiproxy on 127.0.0.1:${port}`,
    command,
    args,
    ready: () =>
      send('GET', '/version').then(
        () => true,
        () => false,
      ),
    readyMs: READY_MS,
  });
  const add = (listen: string, type: string, stream: string, attributes: unknown): Promise<unknown> =>
    send('POST', `/proxies/${listen}/toxics`, { type, stream, attributes });
  const impair = async (listen: string, { delayMs, jitterMs, kilobitsPerSecond }: Link): Promise<void> => {
    if (delayMs > 0 || jitterMs > 0) {
      const delay = { latency: Math.round(delayMs), jitter: Math.round(jitterMs) };
      await add(listen, 'latency', 'downstream', delay);
    }
    if (kilobitsPerSecond === null) return;
    for (const stream of ['upstream', 'downstream']) {
      // Kilobytes per second.
      await add(listen, 'bandwidth', stream, { rate: Math.max(1, Math.round(kilobitsPerSecond / 8)) });
    }
  };
  return {
    pid: server.pid,
    async addLink(listen, upstream, link = UNCHANGED) {
      await send('POST', '/proxies', { name: listen, listen, upstream, enabled: true });
      await impair(listen, link);
    },
    async changeLink(listen, change) {
      const toxics = await send('GET', `/proxies/${listen}/toxics`);
      for (const { name } of JSON.parse(toxics.slice(toxics.indexOf('['))) as { readonly name: string }[])
        await send('DELETE', `/proxies/${listen}/toxics/${name}`);
      await send('POST', `/proxies/${listen}`, { enabled: change !== 'refuse' });
      if (change === 'refuse') return;
      if (change !== 'drop') return change === null ? undefined : impair(listen, change);
      // A timeout of 0 drops all data until it is removed, and then closes the connections.
      for (const stream of ['upstream', 'downstream']) await add(listen, 'timeout', stream, { timeout: 0 });
    },
    stop: () => server.stop(),
  };
}

/** The address at which a proxy for a server on 127.0.0.N listens: 127.0.1.N. */
export function proxyHost(host: string): string {
  return host.replace(/^127\.0\.0\./, '127.0.1.');
}

/**
 * A server that sends back each byte, to measure the round trip of a link.
 *
 * @param port default: a free one
 */
export async function startEcho(
  host = '127.0.0.1',
  port = 0,
): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  server.unref();
  const { port: listening } = server.address() as { port: number };
  return { address: `${host}:${listening}`, stop: async () => void server.close() };
}

/**
 * How many pings a measurement of a link needs, so that the standard error of their mean is at most 5 % of the delay. Their
 * standard deviation is less than the jitter.
 */
export function pingsFor({ delayMs, jitterMs }: Link): number {
  if (delayMs === 0) return LEAST_PINGS;
  const enough = Math.ceil((jitterMs / (0.05 * delayMs)) ** 2);
  return Math.max(LEAST_PINGS, Math.min(enough, Math.floor(PINGS_MS / delayMs)));
}

/**
 * The interquartile mean of the round trips of single bytes over one connection to an echo server, in milliseconds. Some long ones do
 * not change it. Toxiproxy delays by whole milliseconds, so a median could only be one of a few values.
 */
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
    const quarter = Math.floor(count / 4);
    const middle = times.toSorted((a, b) => a - b).slice(quarter, count - quarter);
    return middle.reduce((sum, time) => sum + time, 0) / middle.length;
  } finally {
    signal.removeEventListener('abort', end);
    socket.on('error', () => {}).destroy();
  }
}

async function build(directory: string): Promise<void> {
  process.stderr.write(`Building ${MODULE} (once, about a minute)...\n`);
  await mkdir(directory);
  await go(['install', '-ldflags=-s -w', MODULE], { env: { GOBIN: directory } });
}
