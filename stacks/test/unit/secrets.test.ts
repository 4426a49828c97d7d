import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { ROOT } from '../stack-files.ts';

const SCRIPT = join(ROOT, 'stacks/bin/secrets');

const folder = temporaryDirectory('secrets');
const directory = join(folder.path, 'made');
after(() => folder.remove());

function secrets(...args: string[]): string {
  return execFileSync(SCRIPT, [...args, '--directory', directory], { encoding: 'utf8', stdio: 'pipe' });
}

const read = (name: string): string => readFileSync(join(directory, `tidegauge_${name}`), 'utf8');

test('secrets are made once, printed never, and found by nobody else', () => {
  assert.equal(secrets('postgres', '--host', 'broker.example.org', '--host', '192.0.2.7'), '');
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  const first = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  assert.equal(secrets('postgres'), '');
  assert.deepEqual(
    readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8')),
    first,
  );
  const random = ['ingest_broker_password', 'broker_metrics_password', 'simulator_password', 'ingest_token'];
  const values = [...random, 'api_token', 'postgres_password'].map(read);
  for (const value of values) assert.match(value, /^[0-9a-f]{48}$/);
  assert.equal(new Set(values).size, values.length);
});

test('another store adds its own, and leaves the others', () => {
  const token = read('api_token');
  secrets('mariadb');
  assert.equal(read('api_token'), token);
  assert.match(read('mariadb_store_url'), /^mariadb:\/\/tidegauge:[0-9a-f]{48}@mariadb\/tidegauge$/);
  // What ingest and the API get is not the administrator's.
  assert.ok(!read('mariadb_store_url').includes(read('mariadb_password')));
});

test('a store with copies is told how many, and Citus’s membership has a token of its own', () => {
  secrets('citus', '--copies', '2');
  assert.match(
    read('citus_store_url'),
    /^citus:\/\/tidegauge:[0-9a-f]{48}@citus-coordinator\/tidegauge\?rf=2&shards=16$/,
  );
  assert.match(read('citus_token'), /^[0-9a-f]{48}$/);
});

test('the broker’s certificate is signed by the authority, for every name it has', () => {
  const [ca, certificate] = ['ca', 'mosquitto_cert'].map((name) => new X509Certificate(read(name)));
  assert.ok(certificate!.verify(ca!.publicKey));
  for (const host of ['mosquitto', 'tasks.mosquitto', 'localhost', 'broker.example.org']) {
    assert.equal(certificate!.checkHost(host), host);
  }
  assert.equal(certificate!.checkIP('192.0.2.7'), '192.0.2.7');
  assert.equal(certificate!.ca, false);
  assert.ok(
    !readdirSync(directory).some((name) => read(name.slice(10)).includes('CERTIFICATE') && /key/.test(name)),
  );
});

test('half of what belongs together is refused, with what to remove', () => {
  rmSync(join(directory, 'tidegauge_mosquitto_key'));
  const { status, stderr } = spawnSync(SCRIPT, ['postgres', '--directory', directory], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /^secrets: there is no tidegauge_mosquitto_key, .* rm \S+tidegauge_ca \S+tidegauge_mosquitto_cert, /,
  );
});

test('a store that is not there, and a board without a swarm, are one line each', () => {
  const env = { ...process.env, DOCKER_HOST: 'unix:///nobody/listens.sock' };
  const nowhere = spawnSync(SCRIPT, ['postgres'], { encoding: 'utf8', env });
  assert.equal(nowhere.status, 1);
  assert.match(nowhere.stderr, /^secrets: this is no manager of a swarm: .*\n$/);
  const other = spawnSync(SCRIPT, ['oracle', '--directory', join(folder.path, 'other')], {
    encoding: 'utf8',
  });
  assert.equal(other.status, 1);
  assert.match(other.stderr, /^secrets: oracle is no store.*\n$/);
});
