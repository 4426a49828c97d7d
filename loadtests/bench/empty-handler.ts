import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const FIELDS = 10;
const FIELD_CHARACTERS = 100;

/** A process of its own that answers every request with one record of YCSB's size. */
export async function startEmptyHandler() {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const exited = once(child, 'exit');
  return {
    pid: child.pid!,
    url: line.trim(),
    async stop(): Promise<void> {
      child.kill();
      await exited;
    },
  };
}

if (import.meta.main) {
  const fields = Array.from({ length: FIELDS }, (_, index) => [
    `field${index}`,
    'x'.repeat(FIELD_CHARACTERS),
  ]);
  const body = JSON.stringify({ key: 'user1', fields: Object.fromEntries(fields) });
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
  // Its parent's end is its own.
  process.stdin.resume().once('close', () => process.exit());
}
