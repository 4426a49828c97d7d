import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { exitText, startProcess, waitUntil } from '@tidegauge/process';

const READY_MS = 30_000;

/** A proxy before a server, in its own process. */
export interface DelayProxy {
  readonly pid: number;
  /** As `host:port`. */
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Starts this file as a separate process: a TCP proxy that adds a time to each round trip, by a busy wait, because timers
 * of Node have steps of a millisecond. It waits before the first bytes that a client sends after an answer.
 *
 * @param upstream `host:port`
 * @param delayMs 0: only what every proxy adds
 * @throws {Error} it ended before it listened
 */
export async function startDelayProxy(upstream: string, delayMs: number): Promise<DelayProxy> {
  const proxy = startProcess({
    command: process.execPath,
    args: [fileURLToPath(import.meta.url), upstream, String(delayMs)],
    stdin: 'pipe',
    stderr: 'inherit',
  });
  const isReady = () => !proxy.running || proxy.log().includes('\n');
  await waitUntil('the proxy', isReady, { timeoutMs: READY_MS });
  if (!proxy.running) throw new Error(`the proxy did not start: ${exitText(await proxy.exited)}`);
  return {
    pid: proxy.pid,
    address: proxy.log().trim(),
    stop: async () => void (await proxy.stop()),
  };
}

function relay(client: Socket, server: Socket, delayMs: number): void {
  let isAnswered = true;
  // Before the pipes: the wait is over when the bytes go on.
  client.on('data', () => {
    if (isAnswered) busyWait(delayMs);
    isAnswered = false;
  });
  server.on('data', () => {
    isAnswered = true;
  });
  client.pipe(server);
  server.pipe(client);
  client.on('error', () => server.destroy());
  server.on('error', () => client.destroy());
}

function busyWait(ms: number): void {
  let now = performance.now();
  const end = now + ms;
  while (now < end) now = performance.now();
}

if (import.meta.main) {
  const [upstream = '', delayMs] = process.argv.slice(2);
  const colon = upstream.lastIndexOf(':');
  const target = { host: upstream.slice(0, colon), port: Number(upstream.slice(colon + 1)), noDelay: true };
  const server = createServer({ noDelay: true }, (client) => relay(client, connect(target), Number(delayMs)));
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
  // Standard input closes when the parent process ends.
  process.stdin.resume().once('close', () => process.exit());
}
