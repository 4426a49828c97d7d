import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/lab';
import type { Board } from '@tidegauge/lab/docker/boards';
import { buildDebian } from '../../../scripts/debian/build-debian.ts';
import { Builder, tagsOf } from '../../images/debian/builder.ts';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';

const SERVICES = ['tidegauge-ingest', 'tidegauge-api'];
const NODE = '/usr/lib/tidegauge/bin/node';
const PASSWORD = 'correct horse';
const STEP_MS = 300_000;

const { boards, stop, skip } = await boardsOrSkip(1);
const [engine] = boards as [Board];
const folder = temporaryDirectory('debian');
after(async () => {
  await stop();
  folder.remove();
});

/** Runs a command on a Debian with systemd and without Docker, as root. */
const on = (...command: string[]): Promise<string> =>
  engine.docker(['exec', 'board', ...command], { timeoutMs: STEP_MS });
const shell = (script: string): Promise<string> => on('sh', '-euc', script);

const pids = async (): Promise<readonly string[]> =>
  Promise.all(SERVICES.map((service) => on('systemctl', 'show', '--property=MainPID', '--value', service)));

async function publish(value: number, ...login: string[]): Promise<void> {
  const topic = ['-t', 'sensors/site-3/boiler/temperature', '-q', '1', '-m', String(value)];
  await until('ingest', async () => {
    await on('mosquitto_pub', '-h', 'localhost', ...login, ...topic);
    return true;
  });
}

/** Waits until the API returns a value. */
async function stored(value: number, origin = 'http://127.0.0.1:8080', key = ''): Promise<void> {
  const code = `const [, url, key] = process.argv;
    const answer = await fetch(url, key === '' ? {} : { headers: { authorization: 'Bearer ' + key } });
    process.stdout.write(await answer.text());`;
  const url = `${origin}/v1/readings/latest?device=site-3/boiler`;
  const trusted = 'NODE_EXTRA_CA_CERTS=/var/lib/tidegauge/tls/cert.pem';
  await until(`${value} in the store`, async () => {
    const text = await on('env', trusted, NODE, '--input-type=module', '-e', code, '--', url, key);
    const { readings } = JSON.parse(text) as { readings: readonly { readonly value: number }[] };
    return readings[0]?.value === value;
  });
}

/** Makes a package of the same files with another version, on the board. */
const repack = (version: string): Promise<string> =>
  shell(`mkdir -p /root/versions && cd /root/versions && dpkg-deb --raw-extract /root/first.deb ${version}
    sed -i 's/^Version: .*/Version: ${version}/' ${version}/DEBIAN/control
    dpkg-deb -Zgzip -z1 --build ${version} /root/${version}.deb && rm -r ${version}`);

/** Limits the space for programs. */
const limitPrograms = (mebibytes: number): Promise<string> =>
  on('mount', '-o', `remount,size=${mebibytes}m`, '/usr/lib/tidegauge');

test('one command installs services that store a reading', { skip }, async () => {
  const builder = new Builder();
  try {
    await engine.docker(['load', '--quiet', '--input', await builder.archive('systemd')], {
      timeoutMs: STEP_MS,
    });
  } finally {
    await builder.stop();
  }
  const caps = ['SYS_ADMIN', 'SYS_PTRACE'].flatMap((name) => ['--cap-add', name]);
  const filters = ['seccomp=unconfined', 'apparmor=unconfined'].flatMap((each) => ['--security-opt', each]);
  // Only the hierarchy for systemd's units. The container needs no other hierarchy of this machine.
  const mounts = [
    ...['/run', '/run/lock', '/tmp', '/sys/fs/cgroup'].flatMap((place) => ['--tmpfs', place]),
    ...['--volume', '/sys/fs/cgroup/systemd:/sys/fs/cgroup/systemd'],
  ];
  const image = tagsOf('systemd')[0]!;
  await engine.docker([
    ...['run', '--detach', '--name', 'board', '--hostname', 'pi-1', '--memory', '1g'],
    ...[...caps, ...filters, ...mounts, image],
  ]);
  await until('systemd', async () => /running|degraded/.test(await on('systemctl', 'is-system-running')));
  await shell('mkdir /usr/lib/tidegauge && mount -t tmpfs -o size=400m,mode=0755 tmpfs /usr/lib/tidegauge');
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const { file } = await buildDebian({ architecture, out: folder.path, quick: true });
  await engine.docker(['cp', file, `board:/root/${basename(file)}`]);
  await shell(`ln -s ${basename(file)} /root/first.deb`);
  const printed = await shell(`cd /root && apt-get install --yes ./${basename(file)}`);
  assert.match(printed, /^Tidegauge starts now, .* http:\/\/127\.0\.0\.1:8080\/$/m);
  await publish(21.5);
  await stored(21.5);
  for (const service of SERVICES) assert.equal(await on('systemctl', 'is-enabled', service), 'enabled');
});

test('nothing is open to other machines', { skip }, async () => {
  assert.equal(await shell("ss -Hltn | awk '{ print $4 }' | grep -v '^127\\.' || true"), '');
});

test('services run as their user, can write to their state only, and have no secret in their environment', {
  skip,
}, async () => {
  const [ingest, api] = await pids();
  for (const pid of [ingest!, api!]) {
    assert.equal(await on('stat', '--format', '%U', `/proc/${pid}`), 'tidegauge');
    const status = await on('cat', `/proc/${pid}/status`);
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    const inside = ['nsenter', '--target', pid, '--mount', 'touch'];
    await assert.rejects(on(...inside, '/usr/lib/tidegauge/x'), /Read-only/);
    assert.doesNotMatch(await shell(`tr '\\0' '\\n' </proc/${pid}/environ`), /[0-9a-f]{48}/);
  }
  const modes = await on('stat', '--format', '%a %U %G', '/var/lib/tidegauge', '/etc/tidegauge/ingest-token');
  assert.equal(modes, '750 tidegauge tidegauge\n640 root tidegauge');
});

test('commands of root use the data of the services as their user; others have no access to it', {
  skip,
}, async () => {
  await shell(`echo '${PASSWORD}' | tidegauge passwords add site-3`);
  assert.equal(await on('stat', '--format', '%a %U', '/var/lib/tidegauge/passwords'), '600 tidegauge');
  assert.equal(await on('tidegauge', 'passwords', 'list'), 'site-3');
  await on('tidegauge', 'quarantine', 'list');
  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  assert.match(await on(...nobody, 'tidegauge', '--version'), /^tidegauge \d/);
  await assert.rejects(on(...nobody, 'ls', '/var/lib/tidegauge'), /denied/);
});

test('with the steps of README.Debian, sensors and browsers of other machines need TLS and a login', {
  skip,
}, async () => {
  await shell(`as() { setpriv --reuid=tidegauge --regid=tidegauge --init-groups "$@"; }
    as mkdir -m 0700 /var/lib/tidegauge/tls
    as openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 825 -subj /CN=pi-1 \
      -addext subjectAltName=DNS:pi-1,DNS:localhost \
      -keyout /var/lib/tidegauge/tls/key.pem -out /var/lib/tidegauge/tls/cert.pem
    sed -Ei 's/^#(LISTEN=mqtts|LISTEN_)/\\1/' /etc/tidegauge/ingest.env
    sed -Ei 's/^#(HTTP_)/\\1/' /etc/tidegauge/api.env`);
  const key = await on('tidegauge', 'keys', 'create', 'me', '--scopes', 'admin');
  await on('systemctl', 'restart', ...SERVICES);
  const tls = ['-p', '8883', '--cafile', '/var/lib/tidegauge/tls/cert.pem'];
  await publish(22.5, ...tls, '-u', 'site-3', '-P', PASSWORD);
  await stored(22.5, 'https://localhost:8080', key);
  await assert.rejects(
    on('mosquitto_pub', '-h', 'localhost', ...tls, '-q', '1', '-t', 'sensors/site-3/a', '-m', '1'),
  );
});

test('an upgrade keeps settings, data and what the administrator has chosen', { skip }, async () => {
  await shell("sed -i 's/^[A-Z]/#&/' /etc/tidegauge/ingest.env /etc/tidegauge/api.env");
  await shell('echo LOG_LEVEL=debug >>/etc/tidegauge/ingest.env && systemctl disable --quiet tidegauge-api');
  await repack('9.1');
  const [before] = await pids();
  await on('dpkg', '--install', '/root/9.1.deb');
  assert.notEqual((await pids())[0], before);
  assert.match(await on('cat', '/etc/tidegauge/ingest.env'), /^LOG_LEVEL=debug$/m);
  await assert.rejects(on('systemctl', 'is-enabled', '--quiet', 'tidegauge-api'));
  await shell('systemctl enable --quiet tidegauge-api && systemctl restart tidegauge-api');
  await stored(22.5);
  await publish(23.5);
  await stored(23.5);
});

test('when the disk is full during an upgrade, the old version runs on, and a later upgrade works', {
  skip,
}, async () => {
  await repack('9.2');
  const used = Number(await shell("df --output=used -m /usr/lib/tidegauge | tail -n 1 | tr -d ' '"));
  await limitPrograms(used + 20);
  const before = await pids();
  await assert.rejects(on('dpkg', '--install', '/root/9.2.deb'), /No space left on device/);
  const state = ['dpkg-query', '--show', '--showformat', `\${Status} \${Version}`, 'tidegauge'];
  assert.equal(await on(...state), 'install ok installed 9.1');
  assert.deepEqual(await pids(), before);
  await publish(24.5);
  await stored(24.5);
  await on('systemctl', 'restart', ...SERVICES);
  await publish(25.5);
  await stored(25.5);
  await limitPrograms(400);
  await on('dpkg', '--install', '/root/9.2.deb');
  assert.equal(await on(...state), 'install ok installed 9.2');
  await stored(25.5);
});

test('a removal keeps settings and data, and a purge removes what belongs to Tidegauge only', {
  skip,
}, async () => {
  await shell('mkdir /var/lib/tidegauge/postgres && touch /var/lib/tidegauge/postgres/of-another-user');
  await on('dpkg', '--remove', 'tidegauge');
  assert.equal(await shell('cat /proc/[0-9]*/comm | grep -x node || true'), '');
  assert.equal(await shell('ls /var/cache | grep tidegauge || true'), '');
  await on('dpkg', '--install', '/root/9.2.deb');
  await stored(25.5);
  await on('dpkg', '--purge', 'tidegauge');
  const left = await shell('find /var/lib/tidegauge -mindepth 1 -printf "%P\\n" | sort');
  assert.equal(left, 'postgres\npostgres/of-another-user');
  assert.equal(await shell('ls -d /etc/tidegauge /etc/systemd/system/*/tidegauge* 2>/dev/null || true'), '');
});

test('beside an archive of version 0.2 it is not installed, and the reason has the next step', {
  skip,
}, async () => {
  await shell('mkdir -p /usr/local/lib/tidegauge/current');
  await assert.rejects(
    on('dpkg', '--install', '/root/9.2.deb'),
    /Tidegauge 0\.2 from an archive is on this machine[\s\S]*sudo tidegauge uninstall/,
  );
});
