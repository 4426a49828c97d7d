import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, launchServer, runProgram, type ServerProcess } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { answersConnect } from './mqtt-answers.ts';
import { serverDirectory } from './server-directory.ts';

const READY_MS = 10_000;

export interface MosquittoOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Further lines of mosquitto.conf. */
  readonly conf?: readonly string[];
  /** Keeps sessions and queues on disk over `restart` (not over `kill`, unless saved before). Default false. */
  readonly persistence?: boolean;
  /** The directory of configuration and data, which `stop` keeps. Default: a temporary one, which `stop` removes. */
  readonly directory?: string;
  /** Only this user may connect. Default: every client may connect. */
  readonly credentials?: { readonly username: string; readonly password: string };
  /** Adds a second listener with TLS and a new certificate. Default false. */
  readonly tls?: boolean;
}

export interface Mosquitto {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Present with the `tls` option: the TLS listener, and the certificate authority to trust (PEM). */
  readonly tls: { readonly url: string; readonly ca: string } | null;
  /** Stops it in an orderly way, and removes the files that were made. May be called twice. */
  stop(): Promise<void>;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Ends it if it runs, and starts it again on the same port. */
  restart(): Promise<void>;
}

/**
 * Starts Debian's mosquitto on loopback, as a child of this process. Rejects when it is missing and cannot be
 * installed, or when it is not ready within 10 s (with its output).
 *
 * Its limits are raised: no limit on messages in flight, and a million messages or 1 GiB queued per client. Above these
 * mosquitto drops messages, although it acknowledges them to the publisher.
 */
export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const binary = await findProgram('mosquitto', 'mosquitto');
  const { path: directory, remove } = await serverDirectory('mosquitto', options.directory);
  const port = options.port ?? (await freePort());
  const tls = options.tls === true ? await makeTlsListener(directory) : null;
  const conf = join(directory, 'mosquitto.conf');
  await writeFile(conf, `${(await configure(options, directory, port, tls?.conf ?? [])).join('\n')}\n`);

  let broker = await launch(binary, conf, port);
  return {
    url: `mqtt://127.0.0.1:${port}`,
    port,
    get pid() {
      return broker.pid;
    },
    tls: tls === null ? null : { url: tls.url, ca: tls.ca },
    async stop() {
      await broker.stop();
      remove();
    },
    async kill() {
      await broker.kill();
    },
    async restart() {
      await broker.stop();
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
    await runProgram('mosquitto_passwd', ['-b', '-c', file, username, password]);
    access.splice(0, 1, 'allow_anonymous false', `password_file ${file}`);
  }
  return [
    ...access,
    // Started as root, mosquitto would change to the user mosquitto, who cannot read a directory made by root.
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

function launch(binary: string, conf: string, port: number): Promise<ServerProcess> {
  return launchServer({
    name: `mosquitto on 127.0.0.1:${port}`,
    command: binary,
    args: ['-c', conf],
    ready: () => answersConnect(port),
    readyMs: READY_MS,
  });
}

async function makeTlsListener(
  directory: string,
): Promise<{ url: string; ca: string; conf: readonly string[] }> {
  const path = (name: string): string => join(directory, name);
  const make = (...args: string[]): Promise<unknown> => runProgram('openssl', args);
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
