import type { ClientConnection, ClientHandle, Receipt, ServerLimits } from '@tidegauge/mqtt-session/server';
import { SensorServer } from '@tidegauge/mqtt-session/server';
import {
  type Config,
  ConfigError,
  clientOf,
  isLoopback,
  type Logger,
  readPair,
  readSettingFile,
  TLS_OPTIONS,
  type TlsFiles,
  watchPair,
} from '@tidegauge/service';
import { AckDemand } from '../ack-demand.ts';
import type { Delivery, Origin } from '../delivery.ts';
import { BOUNDS } from '../memory.ts';
import type { MessageSource } from '../message-source.ts';
import type { Pipeline } from '../pipeline.ts';
import { MAX_TOPIC_BYTES } from '../routes.ts';
import type { settings } from '../settings.ts';
import { Share } from '../share.ts';
import { hasLogins, Logins } from './logins.ts';
import { RefusalLog } from './refusal-log.ts';

interface Address {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** The ports of addresses without one. */
export const PORTS = { mqtt: 1883, mqtts: 8883 };
/** For TLS and CONNECT. A sensor on a slow link needs seconds. */
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 500;
/** Memory of a connection with TLS: 60 KiB, and up to 100 KiB more under load. */
const TLS_BYTES = 160 * 1024;
/** Unacknowledged messages of a connection, and their bytes. A commit takes milliseconds, so more gains nothing. */
const RECEIVE_MAXIMUM = 1000;
const IN_FLIGHT_BYTES = 2 ** 20;
/** A session has only the numbers of QoS 2 messages. */
const SESSION_EXPIRY_S = 86_400;

/** Sensors that connect to ingest itself. Their PUBACK means that the message is stored or in the spool. */
export class DirectSource implements MessageSource {
  readonly name = 'the listener for sensors';
  readonly server: SensorServer;
  readonly #config: Config<typeof settings>;
  readonly #addresses: readonly Address[];
  readonly #files: TlsFiles | null;
  readonly #logger: Logger;
  readonly #logins: Logins;
  readonly #origins = new WeakMap<ClientConnection, Origin>();
  readonly #shares = new WeakMap<ClientHandle, Share>();
  readonly #endWatches: (() => void)[] = [];
  #pipeline: Pipeline | null = null;

  /**
   * @param route whether a route takes messages of a topic
   * @throws {ConfigError} when the settings cannot be used
   */
  constructor(config: Config<typeof settings>, takes: (topic: string) => boolean, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    this.#addresses = (config.listen ?? []).map(addressOf);
    this.#files = filesOf(config, this.#addresses);
    checkOpen(config, this.#addresses, logger);
    this.#logins = new Logins(config, logger);
    const refusals = new RefusalLog(logger);
    this.server = new SensorServer(
      {
        authenticate: (request, peer, signal) => this.#logins.authenticate(request, peer, signal),
        onMessage: (message, connection) => this.#pipeline!.accept(message, this.#originOf(connection)),
        onUndecodable: (message, connection) => this.#pipeline!.refuse(message, this.#originOf(connection)),
        // Most wills are states such as offline, on topics that no route takes.
        onWill: (message, client, settled) => {
          if (!takes(message.topic)) settled();
          else
            this.#pipeline!.accept(message, { client: client.name, share: this.#shareOf(client), settled });
        },
        onRefused: (event) => refusals.note(event),
      },
      {
        ...connectionsOf(config, this.#files !== null),
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        maximumPacketSize: config.maxPayload,
        maximumTopicBytes: MAX_TOPIC_BYTES,
        receiveMaximum: RECEIVE_MAXIMUM,
        maxInFlightBytes: IN_FLIGHT_BYTES,
        maxPartialBytes: Math.max(BOUNDS.partialPackets, config.maxPayload),
        maximumSessionExpirySeconds: SESSION_EXPIRY_S,
      },
      clientOf,
    );
  }

  get connected(): boolean {
    return this.server.isListening;
  }

  get trouble(): string | null {
    return this.connected ? null : 'sensors cannot connect: ingest does not listen';
  }

  /** @throws {ConfigError} when an address is taken, or certificates cannot be used */
  async start(pipeline: Pipeline): Promise<void> {
    this.#pipeline = pipeline;
    const { listenCa } = this.#config;
    const ca = listenCa === null ? {} : { ca: readSettingFile('LISTEN_CA', listenCa) };
    const files = this.#files;
    const pair = files === null ? null : await readPair(files);
    for (const { host, port, isTls, url } of this.#addresses) {
      const tls = isTls ? { ...TLS_OPTIONS, ...pair!, ...ca } : null;
      try {
        const { renew } = await this.server.listen({ host, port, tls });
        if (!isTls) continue;
        // A renewed certificate must not remove the authority of client certificates.
        const server = { setSecureContext: (changed: object) => renew({ ...changed, ...ca }) };
        this.#endWatches.push(watchPair(server, pair!, { files: files!, logger: this.#logger }));
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        throw new ConfigError([
          code === 'EADDRINUSE'
            ? `port ${port} on ${host} is taken: choose another with LISTEN (tidegauge start: --mqtt-port), or use the broker there with BROKER (tidegauge start: --broker)`
            : `LISTEN: ${url} cannot be opened: ${message}`,
        ]);
      }
    }
  }

  pause(): void {
    this.server.pause();
  }

  resume(): void {
    this.server.resume();
  }

  /** All topics arrive. The routes decide what is decoded. */
  async subscribe(): Promise<void> {}

  stopAccepting(): void {
    this.server.stopListening();
  }

  async close(): Promise<void> {
    for (const end of this.#endWatches) end();
    this.#logins.close();
    await this.server.close();
  }

  #originOf(connection: ClientConnection): Origin {
    const known = this.#origins.get(connection);
    if (known !== undefined) return known;
    const demand = new AckDemand();
    const origin: Origin = {
      client: connection.client.name,
      share: this.#shareOf(connection.client),
      demand,
      settled({ token }: Delivery) {
        demand.settled();
        connection.acknowledge(token as Receipt);
      },
      compact: (token) => {
        const { ticket, packetId, qos, size } = token as Receipt;
        return { ticket, packetId, qos, size };
      },
    };
    this.#origins.set(connection, origin);
    return origin;
  }

  #shareOf(client: ClientHandle): Share {
    const known = this.#shares.get(client);
    if (known !== undefined) return known;
    const share = new Share((full) => (full ? client.pause() : client.resume()));
    this.#shares.set(client, share);
    return share;
  }
}

function addressOf(url: string): Address {
  const { protocol, hostname, port, username, password, pathname, search } = new URL(url);
  if (username !== '' || password !== '' || pathname.length > 1 || search !== '')
    throw new ConfigError(['LISTEN: an address has a scheme, a host and a port only: mqtt://127.0.0.1:1883']);
  const isTls = protocol === 'mqtts:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return { url, host, port: Number(port || (isTls ? PORTS.mqtts : PORTS.mqtt)), isTls };
}

/** The bounds on the number of connections. */
function connectionsOf(
  { listenMaxConnections, listenMaxPerLogin }: Config<typeof settings>,
  isTls: boolean,
): Pick<ServerLimits, 'maxConnections' | 'maxConnectionsPerClient'> {
  const fitting = isTls ? Math.min(CONNECTIONS, Math.floor(BOUNDS.connections / TLS_BYTES)) : CONNECTIONS;
  const maxConnections = listenMaxConnections ?? fitting;
  return { maxConnections, maxConnectionsPerClient: listenMaxPerLogin ?? Math.ceil(maxConnections / 2) };
}

function filesOf(
  { listenCert, listenKey, listenCa }: Config<typeof settings>,
  addresses: readonly Address[],
) {
  const isTls = addresses.some((address) => address.isTls);
  if (isTls && (listenCert === null || listenKey === null))
    throw new ConfigError(['LISTEN has mqtts, which needs LISTEN_CERT and LISTEN_KEY']);
  if (!isTls && listenCa !== null)
    throw new ConfigError(['LISTEN_CA is for client certificates, which need mqtts in LISTEN']);
  return isTls ? { cert: listenCert!, key: listenKey! } : null;
}

/** @throws {ConfigError} when sensors beyond loopback could publish without a login */
function checkOpen(config: Config<typeof settings>, addresses: readonly Address[], logger: Logger): void {
  const open = addresses.filter(({ host }) => !isLoopback(host));
  const [first] = open;
  if (first !== undefined && !hasLogins(config) && !config.listenAnonymous) {
    throw new ConfigError([
      `LISTEN has ${first.url}, which others can reach, and no logins: set LISTEN_PASSWORDS, LISTEN_CA, or LISTEN_USER and LISTEN_PASSWORD; LISTEN_ANONYMOUS=true accepts everyone`,
    ]);
  }
  const plain = open.find(({ isTls }) => !isTls);
  if (plain !== undefined)
    logger.warn(
      { listen: plain.url },
      'sensors send passwords and readings over the network in plain text: use mqtts',
    );
}
