import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { ROOT } from '../stack-files.ts';

const DAY_MS = 86_400_000;
const SCRIPT = join(ROOT, 'stacks/bin/secrets');

const folder = temporaryDirectory('secrets');
const directory = join(folder.path, 'made');
after(() => folder.remove());

function secrets(...args: string[]): string {
  return execFileSync(SCRIPT, [...args, '--directory', directory], { encoding: 'utf8', stdio: 'pipe' });
}

const read = (name: string): string => readFileSync(join(directory, `tidegauge_${name}`), 'utf8');

test('secrets are created once, never printed, and not readable by other users', () => {
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

test('another store adds its own secrets, and does not change the others', () => {
  const token = read('api_token');
  secrets('mariadb');
  assert.equal(read('api_token'), token);
  assert.match(read('mariadb_store_url'), /^mariadb:\/\/tidegauge:[0-9a-f]{48}@mariadb\/tidegauge$/);
  // The password of ingest and the API is not that of the administrator.
  assert.ok(!read('mariadb_store_url').includes(read('mariadb_password')));
});

test('the URL of a store has the number of copies, and Citus’s membership has its own token', () => {
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

test('the API and Grafana have certificates of the same authority, whose key nobody else can read', () => {
  execFileSync(SCRIPT, ['monitoring', '--directory', directory], {
    env: { ...process.env, GRAFANA_PASSWORD: 'of this test' },
  });
  const ca = new X509Certificate(read('ca'));
  for (const name of ['api', 'grafana']) {
    const certificate = new X509Certificate(read(`${name}_cert`));
    assert.ok(certificate.verify(ca.publicKey), name);
    assert.ok(certificate.checkPrivateKey(createPrivateKey(read(`${name}_key`))), name);
    // Every certificate has all names that were ever given.
    for (const host of [name, `tasks.${name}`, 'localhost', 'broker.example.org']) {
      assert.equal(certificate.checkHost(host), host);
    }
    assert.equal(certificate.checkHost('mosquitto'), undefined);
    assert.ok(certificate.validToDate.getTime() - Date.now() < 825 * DAY_MS, 'browsers take it');
  }
  const authority = `${directory}-authority`;
  assert.equal(statSync(authority).mode & 0o777, 0o700);
  assert.equal(statSync(join(authority, 'ca.key')).mode & 0o777, 0o600);
});

test('certificates are renewed by the same authority, in the same files, for the same names and more', () => {
  const names = ['mosquitto', 'api', 'grafana'];
  const before = names.map((name) => new X509Certificate(read(`${name}_cert`)));
  const files = names.map((name) => statSync(join(directory, `tidegauge_${name}_cert`)).ino);
  const [ca, token] = [read('ca'), read('api_token')];
  secrets('--renew', '--host', 'new.example.org', '--host', '2001:db8::7');
  assert.deepEqual([read('ca'), read('api_token')], [ca, token]);
  for (const [index, name] of names.entries()) {
    const renewed = new X509Certificate(read(`${name}_cert`));
    assert.notEqual(renewed.serialNumber, before[index]!.serialNumber);
    assert.ok(renewed.verify(new X509Certificate(ca).publicKey), name);
    assert.ok(renewed.checkPrivateKey(createPrivateKey(read(`${name}_key`))), name);
    assert.equal(renewed.checkHost('broker.example.org'), 'broker.example.org');
    assert.equal(renewed.checkHost('new.example.org'), 'new.example.org');
    assert.ok(renewed.checkIP('2001:db8::7'), name);
    // A container mounts the file itself, so it must be rewritten in place.
    assert.equal(statSync(join(directory, `tidegauge_${name}_cert`)).ino, files[index]);
  }
  assert.match(secrets('--expires'), /^mosquitto .* GMT\napi .* GMT\ngrafana .* GMT\n$/);
  assert.equal(secrets('--ca').trim(), ca.trim());
});

test('without the authority, or with another one, no certificate is signed', () => {
  const authority = `${directory}-authority`;
  const cert = read('api_cert');
  const refusal = (env: Record<string, string>) =>
    spawnSync(SCRIPT, ['--renew', '--directory', directory], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
  const lost = refusal({ TIDEGAUGE_AUTHORITY: join(folder.path, 'nowhere') });
  assert.equal(lost.status, 1);
  assert.match(lost.stderr, /^secrets: \S+nowhere\/ca\.key or ca\.pem cannot be read, .*copy.*\n$/);
  const other = join(folder.path, 'elsewhere');
  execFileSync(SCRIPT, ['sqlite', '--directory', other]);
  const foreign = refusal({ TIDEGAUGE_AUTHORITY: `${other}-authority` });
  assert.equal(foreign.status, 1);
  assert.match(foreign.stderr, /^secrets: \S+ is another authority than the one that is deployed: .*\n$/);
  assert.equal(read('api_cert'), cert);
  assert.ok(statSync(join(authority, 'ca.key')).isFile());
  const host = spawnSync(SCRIPT, ['--renew', '--host', 'a,DNS:b', '--directory', directory], {
    encoding: 'utf8',
  });
  assert.equal(host.status, 2);
  assert.match(host.stderr, /^secrets: --host a,DNS:b is neither a name nor an address\n$/);
});

test('an incomplete group of secrets is an error that lists what to remove', () => {
  rmSync(join(directory, 'tidegauge_mosquitto_key'));
  const { status, stderr } = spawnSync(SCRIPT, ['postgres', '--directory', directory], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /^secrets: there is no tidegauge_mosquitto_key, .* rm \S+tidegauge_ca \S+tidegauge_mosquitto_cert, /,
  );
});

test('an unknown store, or a board without Docker, is an error of one line', () => {
  const env = { ...process.env, DOCKER_HOST: 'unix:///nobody/listens.sock' };
  const nowhere = spawnSync(SCRIPT, ['postgres'], { encoding: 'utf8', env });
  assert.equal(nowhere.status, 1);
  assert.match(nowhere.stderr, /^secrets: Docker does not answer: start it .*\n$/);
  const other = spawnSync(SCRIPT, ['oracle', '--directory', join(folder.path, 'other')], {
    encoding: 'utf8',
  });
  assert.equal(other.status, 2);
  assert.match(other.stderr, /^secrets: there is no store oracle: choose from .* postgres sqlite\n$/);
});
