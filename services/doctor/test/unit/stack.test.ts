import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { interpolate, parseEnv, readStack, StackError } from '../../src/stack.ts';
import { dockerSize } from '../../src/units.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'tidegauge-doctor-'));
after(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): void {
  mkdirSync(join(directory, name, '..'), { recursive: true });
  writeFileSync(join(directory, name), text);
}

test('the stack files of the project are read: ports, labels, secrets, memory, directories', () => {
  const stack = readStack(ROOT, ['docker-stack.yml', 'stacks/postgres.yml'], '1gb', {});
  const service = (name: string) => stack.services.find((each) => each.name === name)!;
  assert.deepEqual(service('mosquitto').ports, [8883, 8885]);
  assert.deepEqual([...service('postgres').labels], [['tidegauge.postgres', 'true']]);
  assert.deepEqual(service('postgres').directories, ['/var/lib/tidegauge/postgres']);
  assert.ok(service('postgres').limit! > service('postgres').reserved!);
  assert.match(service('ingest').image!, /tidegauge-ingest:\d/);
  assert.equal(service('api').environment.HTTP_PORT, '8080');
  assert.ok(stack.secrets.includes('tidegauge_postgres_store_url'));
  assert.ok(stack.secrets.includes('tidegauge_mosquitto_key'));
  assert.deepEqual(stack.networks.map(({ name }) => name).toSorted(), ['broker', 'store']);
  assert.ok(Number(service('mosquitto').environment.MAX_QUEUED_MESSAGES) > 0);
});

test('optional members are recognised like in stacks/bin/deploy', () => {
  const { services } = readStack(ROOT, ['docker-stack.yml', 'stacks/mongodb.yml'], '1gb', {});
  const optional = (name: string) => services.find((each) => each.name === name)!.optional;
  assert.deepEqual(['mongodb-1', 'mongodb-2', 'mongodb-3'].map(optional), [false, true, true]);
});

test('the environment has precedence over the files', () => {
  const image = (environment: Record<string, string>) =>
    readStack(ROOT, ['stacks/postgres.yml'], '1gb', environment).services[0]!.image;
  assert.equal(image({ POSTGRES_IMAGE: 'mine:1' }), 'mine:1');
  assert.notEqual(image({}), 'mine:1');
});

test('every form of a port, a label, a volume and an environment is read', () => {
  write('stacks/versions.env', 'TAG=1.2\n');
  write(
    'a.yml',
    `
services:
  one:
    image: one:\${TAG}
    ports: ['8080:80', '127.0.0.1:1883:1883/tcp', '9000', { target: 1, published: '443', mode: host }]
    environment: [A=1, B=x=y, C]
    volumes: ['/srv/one:/data', 'named:/other', { type: bind, source: /srv/two, target: /two }]
    deploy:
      mode: global
      placement: { constraints: ['node.labels.a == b', 'node.role == manager'] }
      resources: { limits: { memory: 430m } }
networks: { broker: { driver: overlay, driver_opts: { com.docker.network.driver.mtu: '1400' } } }
secrets: { s: { external: { name: other } }, file: { file: x } }
`,
  );
  const { services, networks, secrets } = readStack(directory, ['a.yml'], null, {});
  const [one] = services;
  assert.equal(one!.image, 'one:1.2');
  assert.deepEqual(one!.ports, [8080, 1883, 443]);
  assert.deepEqual(one!.environment, { A: '1', B: 'x=y', C: '' });
  assert.deepEqual(one!.directories, ['/srv/one', '/srv/two']);
  assert.equal(one!.replicas, null);
  assert.deepEqual([...one!.labels], [['a', 'b']]);
  assert.equal(one!.limit, 430 * 2 ** 20);
  assert.deepEqual(networks, [{ name: 'broker', mtu: 1400 }]);
  assert.deepEqual(secrets, ['s']);
});

test('variables are expanded like in a shell and Docker, and the error for a missing one names its file', () => {
  const variables = { SET: 'x', EMPTY: '' };
  const put = (text: string) => interpolate(text, variables, 'a.yml');
  assert.equal(put(`$SET \${SET}! $$SET \${EMPTY:-d} \${EMPTY-d} \${NONE-d}`), 'x x! $SET d  d');
  assert.throws(() => put(`\${NONE?read stacks/versions.env first}`), {
    name: 'StackError',
    message: 'a.yml needs NONE: read stacks/versions.env first',
  });
  assert.deepEqual(parseEnv(`# c\nA=1 # one\nexport B="two words"\nC='$A'\nD=\${A}/\${X:-y}\nE=\n`, {}), {
    A: '1',
    B: 'two words',
    C: '$A',
    D: '1/y',
    E: '',
  });
});

test('a file that is missing or invalid is one clear line', () => {
  assert.throws(
    () => readStack(directory, ['none.yml'], null, {}),
    (error: Error) => {
      assert.ok(error instanceof StackError);
      assert.match(error.message, /none\.yml does not exist$/);
      return true;
    },
  );
  write('broken.yml', 'services: [');
  assert.throws(() => readStack(directory, ['broken.yml'], null, {}), /broken\.yml is not YAML/);
});

test('sizes are read as Docker writes them', () => {
  assert.deepEqual(['512M', '1g', '430mb', '1.5GiB', '1024', 'much', ''].map(dockerSize), [
    512 * 2 ** 20,
    2 ** 30,
    430 * 2 ** 20,
    1.5 * 2 ** 30,
    1024,
    null,
    null,
  ]);
});
