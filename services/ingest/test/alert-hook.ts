import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { AlertDocument } from '@tidegauge/readings';
import { signature } from '../src/alerts/webhook.ts';

export const HOOK_SECRET = 'a-secret-of-some-length';

interface Message {
  readonly type: string;
  readonly data: AlertDocument;
}

/** A webhook server. Until `open` is set, it accepts connections and does not answer. */
export async function startHook(context: TestContext) {
  const hook = { open: false, requests: 0, messages: [] as { id: string; body: Message }[] };
  const hanging: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    hook.requests++;
    if (!hook.open) return void hanging.push(response);
    const [id, seconds] = [request.headers['webhook-id'], request.headers['webhook-timestamp']].map(String);
    const expected = signature(Buffer.from(HOOK_SECRET), id!, seconds!, body);
    if (request.headers['webhook-signature'] !== expected) return void response.writeHead(401).end();
    hook.messages.push({ id: id!, body: JSON.parse(body) as Message });
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { hook, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts?key=secret-in-url` };
}
