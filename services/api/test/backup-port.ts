import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { BackupsDocument } from '@tidegauge/readings';

export const BACKUP_TOKEN = 'a-token-of-some-length';

const BACKUP = {
  name: 'tidegauge-2026-11-21T02-00-00-000Z',
  started: '2026-11-21T02:00:00.000Z',
  readings: 1200,
  bytes: 3_400_000,
  verified: null,
};

/**
 * Answers as the port of tidegauge backup, of which services/backup has the tests. A request begins a backup, which the test
 * ends.
 */
export async function startBackupPort(t: TestContext) {
  const state: { -readonly [Key in keyof BackupsDocument]: BackupsDocument[Key] } = {
    backups: [BACKUP],
    total: 1,
    isRunning: false,
    isFailing: false,
    everySeconds: 86_400,
  };
  const server = createServer((request, response) => {
    const send = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
    if (request.url !== '/backups') send(404, {});
    else if (request.method === 'GET') send(200, state);
    else if (request.headers.authorization !== `Bearer ${BACKUP_TOKEN}`)
      send(401, { title: 'x', detail: 'y' });
    else if (state.isRunning)
      send(409, { title: 'Backup in progress', detail: 'A backup is being made now.' });
    else {
      state.isRunning = true;
      send(202, { requested: true });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, state };
}
