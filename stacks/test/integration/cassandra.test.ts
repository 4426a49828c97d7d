import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import { ROOT, readVariables } from '../stack-files.ts';

// The decisions of start.sh before it starts the server. The server itself runs in test/proof/cassandra.test.ts.

const folder = temporaryDirectory('cassandra-start');
after(() => folder.remove());

const OVERLAY = '14: eth0    inet 10.0.1.2/24 brd 10.0.1.255 scope global eth0';
const BRIDGE = '16: eth1    inet 172.18.0.3/16 brd 172.18.255.255 scope global eth1';

interface Board {
  readonly role: 'seed' | 'node';
  /** Whether its data is a part of the cluster's. */
  readonly member?: boolean;
  /** Names that Swarm's DNS resolves: services with a healthy task. */
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
  readonly replace?: string;
}

/** Runs start.sh as on a board, with a `java` that only prints its arguments. */
function start({ role, member = false, names = [], addresses = [OVERLAY, BRIDGE], replace }: Board) {
  const path = mkdtempSync(join(folder.path, 'board-'));
  const [data, run, bin, home] = ['data', 'run', 'bin', 'home'].map((name) => join(path, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const directory of [data, run, bin, join(home, 'lib')]) mkdirSync(directory, { recursive: true });
  const route = addresses.at(-1)!.split(' ')[1];
  const programs = {
    ip: `case "$*" in *route*) echo 'default via 172.18.0.1 dev ${route}' ;; *) printf '%s\\n' ${addresses.map((line) => `'${line}'`).join(' ')} ;; esac`,
    getent: `case " ${names.join(' ')} " in *" $2 "*) ;; *) exit 2 ;; esac`,
    java: 'echo "java $*"',
    sleep: 'exit 0',
  };
  for (const [name, lines] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(
    join(home, 'jvm17-server.options'),
    '--add-opens java.base/java.io=ALL-UNNAMED\n-XX:+UseG1GC\n',
  );
  writeFileSync(join(home, 'lib/jamm-1.jar'), '');
  writeFileSync(join(path, 'password'), 'secret');
  if (member) writeFileSync(join(data, 'member'), '');
  if (replace !== undefined) writeFileSync(join(data, 'replace'), `${replace}\n`);
  const script = join(path, 'start.sh');
  const shipped = readFileSync(join(ROOT, 'stacks/cassandra/start.sh'), 'utf8');
  writeFileSync(
    script,
    shipped
      .replaceAll('/var/lib/cassandra', data)
      .replaceAll('/run/cassandra', run)
      .replaceAll('/run/secrets', path),
  );
  const { status, stdout, stderr } = spawnSync('sh', [script], {
    encoding: 'utf8',
    env: {
      ...readVariables('stacks/profiles/1gb.env'),
      PATH: `${bin}:${process.env.PATH}`,
      CASSANDRA_ROLE: role,
      CASSANDRA_COMMITLOG_SYNC: 'batch',
      CASSANDRA_JOIN_SPREAD: '0',
      CASSANDRA_HOME: home,
      CASSANDRA_CONF: home,
    },
  });
  const settings = status === 0 ? readFileSync(join(run, 'cassandra.yaml'), 'utf8') : '';
  const [, seeds] = /seeds: "(.*?)"/.exec(settings) ?? [];
  return { status, stdout, stderr, settings, seeds };
}

test('a server listens on the network of the store, not on the board’s bridge', () => {
  const { settings, status, stderr } = start({ role: 'seed', member: true });
  assert.equal(status, 0, stderr);
  assert.match(settings, /^listen_address: 10\.0\.1\.2$/m);
  assert.match(settings, /^rpc_address: 10\.0\.1\.2$/m);
  const composed = start({ role: 'seed', member: true, addresses: [BRIDGE] });
  assert.match(composed.settings, /^listen_address: 172\.18\.0\.3$/m);
  const third = '18: eth2    inet 10.0.2.9/24 brd 10.0.2.255 scope global eth2';
  const torn = start({ role: 'seed', member: true, addresses: [OVERLAY, third, BRIDGE] });
  assert.equal(torn.status, 1);
  assert.match(torn.stderr, /attach it to the network store alone/);
});

test('only the seed is in its own list of seeds', () => {
  assert.equal(start({ role: 'seed', member: true }).seeds, '10.0.1.2');
  assert.equal(
    start({ role: 'seed', member: true, names: ['tasks.cassandra'] }).seeds,
    '10.0.1.2,tasks.cassandra',
  );
  const names = ['tasks.cassandra-seed', 'tasks.cassandra'];
  assert.equal(start({ role: 'node', names }).seeds, 'tasks.cassandra-seed');
  assert.equal(start({ role: 'node', names, member: true }).seeds, 'tasks.cassandra-seed');
});

test('without a seed a member starts with the others as seeds, and a new board does not start', () => {
  assert.equal(start({ role: 'node', names: ['tasks.cassandra'], member: true }).seeds, 'tasks.cassandra');
  const { status, stderr } = start({ role: 'node', names: ['tasks.cassandra'] });
  assert.equal(status, 1);
  assert.match(stderr, /no seed after 600 s: docker node update --label-add tidegauge\.cassandra=seed BOARD/);
});

test('a board without data does not become the seed of others that have some', () => {
  const { status, stderr } = start({ role: 'seed', names: ['tasks.cassandra'] });
  assert.equal(status, 1);
  assert.match(stderr, /this board has no data, and others have: label it node/);
});

test('the heap comes from the profile, the modules from the image, and a file names a node to replace', () => {
  const { stdout } = start({ role: 'node', names: ['tasks.cassandra-seed'], replace: '10.0.1.7' });
  for (const argument of ['-Xmx430M', '-Xmn142M', '--add-opens java.base/java.io=ALL-UNNAMED']) {
    assert.ok(stdout.includes(` ${argument} `), argument);
  }
  assert.ok(stdout.includes(' -Dcassandra.replace_address_first_boot=10.0.1.7 '));
  assert.ok(!stdout.includes('UseG1GC'), 'the collector is the profile’s');
});
