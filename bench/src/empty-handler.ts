import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startProcess, waitUntil } from '@tidegauge/process';

const FIELDS = 10;
const FIELD_CHARACTERS = 100;
const READY_MS = 30_000;

/** Starts this file as a separate process. It answers every request with one record of YCSB's size. */
export async function startEmptyHandler() {
  const handler = startProcess({
    command: process.execPath,
    args: [fileURLToPath(import.meta.url)],
    stdin: 'pipe',
    stderr: 'inherit',
  });
  const isReady = () => !handler.running || handler.log().includes('\n');
  await waitUntil('the empty handler', isReady, { timeoutMs: READY_MS });
  return {
    pid: handler.pid,
    url: handler.log().trim(),
    stop: async () => void (await handler.stop()),
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
  // Standard input closes when the parent process ends.
  process.stdin.resume().once('close', () => process.exit());
}
