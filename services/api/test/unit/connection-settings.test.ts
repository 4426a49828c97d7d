import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createLogger, loadConfig } from '@tidegauge/service';
import { API_SCHEMA } from '../../src/config.ts';
import { startApi } from '../../src/service.ts';

const SENT = 'GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** Opens live streams as one client. Returns how many of them are answered. */
async function answered(settings: Readonly<Record<string, string>>, streams: number): Promise<number> {
  const config = loadConfig(API_SCHEMA, [], { STORE: 'sqlite::memory:', HTTP_PORT: '0', ...settings });
  const api = await startApi(config, createLogger('api', 'silent'));
  try {
    const port = Number(new URL(api.url).port);
    const outcomes = Array.from({ length: streams }, async () => {
      const socket = connect(port, '127.0.0.1', () => socket.write(SENT));
      const head = await once(socket, 'data', { signal: AbortSignal.timeout(10_000) }).catch(() => '');
      return String(head).startsWith('HTTP/1.1 200');
    });
    return (await Promise.all(outcomes)).filter(Boolean).length;
  } finally {
    await api.stop();
  }
}

test('a client has as many connections as the settings allow', async () => {
  assert.equal(await answered({ MAX_CLIENT_CONNECTIONS: '20' }, 30), 20);
  assert.equal(await answered({ MAX_CLIENT_CONNECTIONS: '200' }, 30), 30);
});
