import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findProgram, freePort, launchServer, temporaryDirectory } from '@tidegauge/lab';

const run = promisify(execFile);

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const READY_MS = 30_000;

/** A broker that runs with the shipped files. */
export interface ShippedBroker {
  /** The URL for sensors. */
  readonly url: string;
  /** The URL for ingest and the exporter. */
  readonly servicesUrl: string;
  /** The URL for sensors with a certificate; nothing listens there without SENSOR_CERTIFICATES. */
  readonly certificatesUrl: string;
  /** The directory of the authority. */
  readonly authority: string;
  /** The file of revoked certificates, which the broker reads when it starts. */
  readonly revoked: string;
  readonly ca: string;
  readonly pid: number;
  /** Password of a user of the stack. Replicas (`ingest-1`) have the same one. */
  password(user: string): Promise<string>;
  /** The file of sensors' users. Each line is `name:password` until it is hashed. */
  readonly sensors: string;
  /** Runs the container's health check. Rejects when it fails. */
  health(): Promise<string>;
  log(): string;
  /** Ends the broker and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface BrokerBounds {
  readonly queuedMessages: number;
  readonly queuedBytes: number;
  /** Other variables of start.sh. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts Debian's mosquitto with the shipped start.sh, mosquitto.conf and acl, in which only paths are changed, and
 * with the secrets of stacks/bin/secrets.
 */
export async function startShippedBroker(bounds: BrokerBounds): Promise<ShippedBroker> {
  await findProgram('mosquitto', 'mosquitto');
  await findProgram('mosquitto_sub', 'mosquitto-clients');
  const { path, remove } = temporaryDirectory('shipped-broker');
  const [port, servicesPort, certificatesPort] = [await freePort(), await freePort(), await freePort()];
  const ports: Readonly<Record<string, number>> = { 8883: port, 8884: servicesPort, 8885: certificatesPort };
  const secrets = join(path, 'secrets');
  await run(join(ROOT, 'stacks/bin/secrets'), ['sqlite', '--directory', secrets]);
  const mounts = { '/run/mosquitto': 'run', '/mosquitto/config': 'config', '/mosquitto/data': 'data' };
  for (const folder of Object.values(mounts)) await mkdir(join(path, folder));
  for (const name of ['mosquitto.conf', 'acl', 'start.sh']) {
    let text = await readFile(join(ROOT, 'stacks/mosquitto', name), 'utf8');
    text = text.replaceAll('/run/secrets/', `${secrets}/tidegauge_`);
    for (const [from, to] of Object.entries(mounts)) text = text.replaceAll(from, join(path, to));
    // In one pass, because a port can contain the digits of the next one.
    text = text.replace(/888[345]/g, (from) => String(ports[from]));
    // The broker ends with its script, which is killed when this process exits.
    text = text.replace(/^mosquitto -c/m, 'setpriv --pdeathsig KILL mosquitto -c');
    // As root it would switch to the user mosquitto, who cannot read files that root created.
    if (name === 'mosquitto.conf' && process.getuid?.() === 0) text += '\nuser root\n';
    await writeFile(join(path, 'config', name), text);
  }
  const start = join(path, 'config/start.sh');
  const health = async (): Promise<string> => (await run('sh', [start, 'health'])).stdout;
  const launch = () =>
    launchServer({
      name: `start.sh on port ${port}`,
      command: 'sh',
      args: [start],
      env: {
        MAX_QUEUED_MESSAGES: String(bounds.queuedMessages),
        MAX_QUEUED_BYTES: String(bounds.queuedBytes),
        ...bounds.env,
      },
      ready: () =>
        health().then(
          () => true,
          () => false,
        ),
      readyMs: READY_MS,
    });
  let server = await launch();
  return {
    url: `mqtts://localhost:${port}`,
    servicesUrl: `mqtts://localhost:${servicesPort}`,
    certificatesUrl: `mqtts://localhost:${certificatesPort}`,
    authority: `${secrets}-authority`,
    revoked: join(path, 'data/revoked.pem'),
    ca: await readFile(join(secrets, 'tidegauge_ca'), 'utf8'),
    get pid() {
      return server.pid;
    },
    async password(user) {
      const lines = await readFile(join(secrets, 'tidegauge_mosquitto_passwords'), 'utf8');
      const [, password] = new RegExp(`^${user.replace(/-\d+$/, '')}:(.*)$`, 'm').exec(lines) ?? [];
      if (password === undefined) throw new Error(`stacks/bin/secrets makes no user ${user}`);
      return password;
    },
    sensors: join(path, 'data/sensors'),
    health,
    log: () => server.log(),
    async restart() {
      await server.stop();
      server = await launch();
    },
    async stop() {
      await server.stop();
      remove();
    },
  };
}

/** Replaces the file of sensors' users as stacks/bin/sensor does: it hashes the passwords, then renames the file. */
export async function writeSensors(file: string, users: Readonly<Record<string, string>>): Promise<void> {
  const next = `${file}.new`;
  const lines = Object.entries(users).map(([name, password]) => `${name}:${password}\n`);
  await writeFile(next, lines.join(''));
  if (lines.length > 0) await run('mosquitto_passwd', ['-U', next]);
  await cp(next, `${file}.hashed`);
  await run('mv', [`${file}.hashed`, file]);
}
