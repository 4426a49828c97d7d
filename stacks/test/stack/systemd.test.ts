import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@tidegauge/lab';
import type { Board } from '@tidegauge/lab/docker/boards';
import { Builder, tagsOf } from '../../images/debian/builder.ts';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { ROOT } from '../stack-files.ts';

const run = promisify(execFile);

const SERVICES = ['tidegauge-broker', 'tidegauge-ingest', 'tidegauge-api'];
const NODE = '/usr/local/lib/tidegauge/current/bin/node';
const STEP_MS = 300_000;

const { boards, stop, skip } = await boardsOrSkip(1);
const [engine] = boards as [Board];
const folder = temporaryDirectory('systemd');
after(async () => {
  await stop();
  folder.remove();
});

/** Runs a command on the board without Docker, as root. */
const on = (...command: string[]): Promise<string> =>
  engine.docker(['exec', 'board', ...command], { timeoutMs: STEP_MS });
const shell = (script: string): Promise<string> => on('sh', '-euc', script);

/** Sends a request to the API over HTTPS, and verifies it with the authority that `tidegauge ca` prints. */
async function ask(path: string): Promise<{ readings: readonly { readonly value: number }[] }> {
  const code = `const [, host, path, token] = process.argv;
    const headers = { authorization: 'Bearer ' + token };
    require('node:https').get({ host, port: 8080, path, headers, ca: require('node:fs').readFileSync('/root/ca.pem') }, (r) => r.pipe(process.stdout));`;
  return JSON.parse(await on(NODE, '-e', code, await on('hostname'), path, await on('tidegauge', 'token')));
}

async function publish(value: number, password: string): Promise<void> {
  const where = ['-h', 'localhost', '-p', '8883', '--cafile', '/root/ca.pem', '-u', 'site-3', '-P', password];
  const topic = 'sensors/site-3/boiler/temperature';
  await on('mosquitto_pub', ...where, '-q', '1', '-t', topic, '-m', String(value));
}

const stored = (value: number) =>
  until(`${value} in the store`, async () => {
    const { readings } = await ask('/v1/readings/latest?device=site-3/boiler');
    return readings[0]?.value === value;
  });

let password = '';

test('an archive from another machine turns a plain Debian into a board that stores readings', {
  skip,
}, async () => {
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
  const bundle = join(folder.path, 'bundle.tar.gz');
  await run(join(ROOT, 'stacks/bin/bundle'), ['--output', bundle], { timeout: STEP_MS });
  await engine.docker(['cp', bundle, 'board:/root/bundle.tar.gz']);
  const said = await shell(
    'cd /root && tar -xf bundle.tar.gz && ./tidegauge/install --profile 1gb --host board.example.org',
  );
  assert.match(said, /^copying the release to .*\n[\s\S]*^starting the services$/m);
  assert.match(said, /runs, with memory of the profile 1gb/);
  password = await on('tidegauge', 'sensor', 'add', 'site-3');
  assert.match(password, /^[0-9a-f]{32}$/);
  await shell('tidegauge ca >/root/ca.pem');
  await publish(21.5, password);
  await stored(21.5);
});

test('outside loopback only the TLS ports are open', { skip }, async () => {
  const address = await on('hostname', '-i');
  const fetching = (url: string) => on(NODE, '-e', `fetch('${url}').then((a) => console.log(a.status))`);
  await assert.rejects(fetching(`http://${address}:8080/healthz`));
  await assert.rejects(fetching(`http://${address}:8081/healthz`), /ECONNREFUSED/);
  await assert.rejects(fetching(`http://${address}:9464/healthz`), /ECONNREFUSED/);
  assert.equal(await fetching('http://127.0.0.1:8081/healthz'), '200');
  const open = await shell("ss -Hltn | awk '{ print $4 }' | grep -v '^127\\.' | sed 's/.*://' | sort -u");
  assert.equal(open, '8080\n8883');
});

test('each service has its own user, can write to its state only, and cannot read the secrets of others', {
  skip,
}, async () => {
  for (const service of SERVICES) {
    const pid = await on('systemctl', 'show', '--property', 'MainPID', '--value', service);
    assert.notEqual(await on('stat', '--format', '%U', `/proc/${pid}`), 'root', service);
    const status = await on('cat', `/proc/${pid}/status`);
    assert.match(status, /^CapEff:\s+0+$/m, service);
    assert.match(status, /^NoNewPrivs:\s+1$/m, service);
    const inside = ['nsenter', '--target', pid, '--mount', 'touch'];
    await assert.rejects(on(...inside, '/usr/local/lib/tidegauge/current/x'), /Read-only/, service);
    const environment = await shell(`tr '\\0' '\\n' </proc/${pid}/environ`);
    assert.doesNotMatch(environment, /[0-9a-f]{48}/, service);
  }
  for (const place of ['/etc/tidegauge/secrets', '/etc/tidegauge/authority', '/var/lib/tidegauge']) {
    assert.equal(await on('stat', '--format', '%a', place), '700', place);
  }
  const worst = await shell(
    `for s in ${SERVICES.join(' ')}; do systemd-analyze security --no-pager $s | sed -n 's/.*level for [^:]*: \\([0-9.]*\\) .*/\\1/p'; done | sort -n | tail -n 1`,
  );
  assert.ok(Number(worst) < 2, `exposure ${worst}`);
});

test('a second installation changes nothing, and an upgrade keeps data, secrets and sensors', {
  skip,
}, async () => {
  const digest = () => shell('cat /etc/tidegauge/secrets/* /var/lib/tidegauge-broker/sensors | sha256sum');
  const before = await digest();
  const releases = () => on('ls', '/usr/local/lib/tidegauge/releases');
  const first = await releases();
  assert.match(await shell('/root/tidegauge/install'), /is installed already/);
  assert.equal(await releases(), first);
  await shell('cp -R /root/tidegauge /root/next && echo next-1 >/root/next/RELEASE && /root/next/install');
  assert.equal(await on('readlink', '/usr/local/lib/tidegauge/current'), 'releases/next-1');
  assert.equal(await digest(), before);
  await stored(21.5);
  await publish(22.5, password);
  await stored(22.5);
});

test('a release that does not answer is replaced by the previous one', { skip }, async () => {
  await shell(`cp -R /root/tidegauge /root/broken && echo broken-1 >/root/broken/RELEASE
    echo 'process.exit(3)' >/root/broken/services/api/src/main.ts`);
  await assert.rejects(
    shell('TIDEGAUGE_WAIT_SECONDS=20 /root/broken/install'),
    /release broken-1 was not installed; release next-1 runs again/,
  );
  assert.equal(await on('readlink', '/usr/local/lib/tidegauge/current'), 'releases/next-1');
  assert.doesNotMatch(await on('ls', '/usr/local/lib/tidegauge/releases'), /broken/);
  await stored(22.5);
});

test('certificates are renewed for further names, and sensors still trust the board', { skip }, async () => {
  const serial = () => shell('openssl x509 -noout -serial -in /etc/tidegauge/secrets/tidegauge_api_cert');
  const before = await serial();
  assert.match(await on('tidegauge', 'renew', '--host', 'new.example.org'), /^mosquitto .*\napi .*$/);
  assert.notEqual(await serial(), before);
  const named = await shell(
    'openssl s_client -connect localhost:8080 -CAfile /root/ca.pem -verify_return_error -verify_hostname new.example.org </dev/null 2>&1',
  );
  assert.match(named, /Verification: OK/);
  await publish(23.5, password);
  await stored(23.5);
});

test('uninstall keeps data, secrets and the command; purge removes everything, also afterwards', {
  skip,
}, async () => {
  await on('tidegauge', 'uninstall');
  const left = 'ls -d /usr/local/lib/tidegauge /etc/systemd/system/tidegauge* 2>/dev/null || true';
  assert.equal(await shell(left), '');
  await assert.rejects(on('tidegauge', 'status'), /is not installed/);
  assert.equal(await shell("cat /proc/[0-9]*/comm | grep -Ex 'node|mosquitto' || true"), '');
  await shell('/root/tidegauge/install');
  await stored(23.5);
  await on('tidegauge', 'uninstall');
  await on('tidegauge', 'uninstall', '--purge');
  const all =
    'ls -d /etc/tidegauge /var/lib/tidegauge* /var/cache/tidegauge /usr/local/sbin/tidegauge* 2>/dev/null || true; getent passwd tidegauge || true';
  assert.equal(await shell(all), '');
});
