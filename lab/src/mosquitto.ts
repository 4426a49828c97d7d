import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

const READY_MS = 10_000;
const STOP_MS = 5000;
const LOG_TAIL_CHARACTERS = 4000;
const POLICY = '/usr/sbin/policy-rc.d';

export interface MosquittoOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Further lines of mosquitto.conf. */
  readonly conf?: readonly string[];
  /** Keeps sessions and queues on disk over `restart` (not over `kill`, unless saved before). Default false. */
  readonly persistence?: boolean;
  /** Where configuration and data go, kept by `stop`. Default: a temporary directory, removed by `stop`. */
  readonly directory?: string;
  /** Only this user may connect; else anybody may. */
  readonly credentials?: { readonly username: string; readonly password: string };
  /** A second listener with TLS, its certificate made on the spot. Default false. */
  readonly tls?: boolean;
}

export interface Mosquitto {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Present with the `tls` option: the TLS listener, and the certificate authority to trust (PEM). */
  readonly tls: { readonly url: string; readonly ca: string } | null;
  /** Ends it as an operator would, and removes what was made. Twice is fine. */
  stop(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Ends it if it runs, and starts it again on the same port. */
  restart(): Promise<void>;
}

/**
 * Starts Debian's mosquitto on loopback, as a child of this process. Rejects when it is missing and cannot be
 * installed, or is not ready within 10 s (with what it said).
 *
 * Its own limits are out of the way: no limit on messages in flight, and a million messages or 1 GiB queued
 * per client, beyond which mosquitto drops while still telling the publisher yes.
 */
export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const binary = await findMosquitto();
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'tidegauge-mosquitto-')));
  await mkdir(directory, { recursive: true });
  const port = options.port ?? (await freePort());
  const tls = options.tls === true ? await makeTlsListener(directory) : null;
  const conf = join(directory, 'mosquitto.conf');
  await writeFile(conf, `${(await configure(options, directory, port, tls?.conf ?? [])).join('\n')}\n`);

  // Where the process that uses it dies before `stop`.
  const clean = (): void => {
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', clean);
  let broker = await launch(binary, conf, port);
  return {
    url: `mqtt://127.0.0.1:${port}`,
    port,
    get pid() {
      return broker.pid;
    },
    tls: tls === null ? null : { url: tls.url, ca: tls.ca },
    async stop() {
      await broker.end('SIGTERM');
      process.removeListener('exit', clean);
      clean();
    },
    async kill() {
      await broker.end('SIGKILL');
    },
    async restart() {
      await broker.end('SIGTERM');
      broker = await launch(binary, conf, port);
    },
  };
}

async function configure(
  options: MosquittoOptions,
  directory: string,
  port: number,
  tlsLines: readonly string[],
): Promise<string[]> {
  const access = ['allow_anonymous true'];
  if (options.credentials !== undefined) {
    const { username, password } = options.credentials;
    const file = join(directory, 'passwords');
    await run('mosquitto_passwd', ['-b', '-c', file, username, password]);
    access.splice(0, 1, 'allow_anonymous false', `password_file ${file}`);
  }
  return [
    ...access,
    // As root it would drop to the user mosquitto, who cannot read a directory made by root.
    ...(process.getuid?.() === 0 ? ['user root'] : []),
    'log_dest stderr',
    'log_type error',
    'log_type warning',
    'max_inflight_messages 0',
    'max_queued_messages 1000000',
    'max_queued_bytes 1073741824',
    `persistence ${options.persistence === true}`,
    `persistence_location ${directory}/`,
    ...(options.conf ?? []),
    `listener ${port} 127.0.0.1`,
    ...tlsLines,
  ];
}

interface Running {
  readonly pid: number;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

async function launch(binary: string, conf: string, port: number): Promise<Running> {
  const child = spawn(binary, ['-c', conf], { stdio: ['ignore', 'ignore', 'pipe'] });
  const killChild = (): void => void child.kill('SIGKILL');
  process.once('exit', killChild);
  let running = true;
  const markEnded = (): void => {
    running = false;
    process.removeListener('exit', killChild);
  };
  const exited = once(child, 'exit').then(markEnded, markEnded);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_TAIL_CHARACTERS);
  });

  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (!running) return;
    child.kill(signal);
    const timer = setTimeout(killChild, STOP_MS);
    await exited.finally(() => clearTimeout(timer));
  };
  const deadline = Date.now() + READY_MS;
  while (!(await answersConnect(port))) {
    if (!running || Date.now() > deadline) {
      await end('SIGKILL');
      throw new Error(`mosquitto is not ready on 127.0.0.1:${port}: ${log.trim() || 'it said nothing'}`);
    }
    await delay(20);
  }
  return { pid: child.pid!, end };
}

// MQTT 3.1.1, clean session, no client id: whatever CONNACK says, somebody is there to say it.
const CONNECT = Buffer.from([0x10, 12, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 10, 0, 0]);

function answersConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 1000 });
    const finish = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('connect', () => socket.write(CONNECT));
    socket.on('data', (data) => finish(data[0] === 0x20));
    socket.on('timeout', () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function makeTlsListener(
  directory: string,
): Promise<{ url: string; ca: string; conf: readonly string[] }> {
  const path = (name: string): string => join(directory, name);
  const make = (...args: string[]): Promise<unknown> => run('openssl', args);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await make('req', '-x509', ...key, '-keyout', path('ca.key'), '-out', path('ca.pem'), '-subj', '/CN=lab');
  await make(
    ...['req', '-x509', ...key, '-keyout', path('server.key'), '-out', path('server.pem')],
    ...['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-subj', '/CN=localhost'],
    ...[
      '-addext',
      'subjectAltName=IP:127.0.0.1,DNS:localhost',
      '-addext',
      'basicConstraints=critical,CA:FALSE',
    ],
  );
  const port = await freePort();
  return {
    url: `mqtts://127.0.0.1:${port}`,
    ca: await readFile(path('ca.pem'), 'utf8'),
    conf: [
      `listener ${port} 127.0.0.1`,
      `cafile ${path('ca.pem')}`,
      `certfile ${path('server.pem')}`,
      `keyfile ${path('server.key')}`,
    ],
  };
}

async function findMosquitto(): Promise<string> {
  const found = await lookUp();
  if (found !== null) return found;
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) await installMosquitto();
  const installed = await lookUp();
  if (installed !== null) return installed;
  throw new Error(
    'mosquitto is not installed: `sudo apt-get install mosquitto`, or `brew install mosquitto`',
  );
}

// Debian keeps it in sbin, which is not on the PATH of ordinary users.
async function lookUp(): Promise<string | null> {
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    '/usr/sbin',
    '/usr/local/sbin',
    '/opt/homebrew/sbin',
  ];
  for (const folder of folders) {
    const path = join(folder, 'mosquitto');
    if (await access(path).then(yes, no)) return path;
  }
  return null;
}

const yes = (): boolean => true;
const no = (): boolean => false;

// policy-rc.d with 101 keeps the package from starting its own broker on 1883.
async function installMosquitto(): Promise<void> {
  const guard = !existsSync(POLICY);
  if (guard) {
    await writeFile(POLICY, '#!/bin/sh\nexit 101\n');
    await chmod(POLICY, 0o755);
  }
  const environment = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  const install = ['install', '--yes', '--no-install-recommends', 'mosquitto'];
  try {
    await run('apt-get', install, environment).catch(async () => {
      await run('apt-get', ['update'], environment);
      await run('apt-get', install, environment);
    });
  } finally {
    if (guard) await rm(POLICY, { force: true });
  }
}
