import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BACKUP_TOKEN, startBackupPort } from '../backup-port.ts';
import { startApi } from '../harness.ts';

test('the backups of the backup service are listed, and one is requested', async (t) => {
  const { url, state } = await startBackupPort(t);
  const api = await startApi(t, { config: { backup: url, backupToken: BACKUP_TOKEN } });
  assert.deepEqual((await api.call('GET', '/v1/backups')).body, state);
  assert.equal((await api.call('POST', '/v1/backups')).status, 202);
  assert.equal(state.isRunning, true);
  const busy = await api.call('POST', '/v1/backups');
  assert.deepEqual([busy.status, busy.body.detail], [409, 'A backup is being made now.']);
});

test('without a backup service, with one that is stopped, and with a wrong token the answer states it', async (t) => {
  const none = await (await startApi(t)).call('GET', '/v1/backups');
  assert.equal(none.status, 409);
  assert.match(none.body.detail, /BACKUP/);
  const { url } = await startBackupPort(t);
  for (const backup of ['http://127.0.0.1:1', url]) {
    const api = await startApi(t, { config: { backup } });
    const { status, headers } = await api.call('POST', '/v1/backups');
    assert.deepEqual([status, headers.get('Retry-After')], [503, '5']);
  }
});
