import { readFileSync } from 'node:fs';
import { parseUrl } from '@tidegauge/storage';
import driver from 'cassandra-driver';

// Makes or drops the keyspace of a study in Cassandra, as the administrator: the user tidegauge has the keyspace of the
// stack only. It runs in the container of the drivers, which has the secrets.
// usage: keyspace-program.ts create KEYSPACE COPIES | keyspace-program.ts drop KEYSPACE

const TIMEOUT_MS = 60_000;
const RIGHTS = ['create', 'alter', 'drop', 'select', 'modify'];

const [action, keyspace = '', copies = '1'] = process.argv.slice(2);
const { hosts, user } = parseUrl(secret('store_url'));
const client = new driver.Client({
  contactPoints: hosts.map(({ host, port }) => `${host}:${port ?? 9042}`),
  localDataCenter: 'datacenter1',
  authProvider: new driver.auth.PlainTextAuthProvider('admin', secret('store_admin')),
  protocolOptions: { maxSchemaAgreementWaitSeconds: TIMEOUT_MS / 1000 },
  socketOptions: { connectTimeout: TIMEOUT_MS, readTimeout: TIMEOUT_MS },
});
try {
  await client.connect();
  // One of a study that was killed can have another number of copies.
  await client.execute(`drop keyspace if exists ${keyspace}`);
  if (action === 'create') {
    const replication = `{'class': 'NetworkTopologyStrategy', 'datacenter1': ${Number(copies)}}`;
    await client.execute(`create keyspace ${keyspace} with replication = ${replication}`);
    for (const right of RIGHTS) await client.execute(`grant ${right} on keyspace ${keyspace} to ${user}`);
  }
} finally {
  await client.shutdown();
}

function secret(name: string): string {
  return readFileSync(`/run/secrets/${name}`, 'utf8').trim();
}
