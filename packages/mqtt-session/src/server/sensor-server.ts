import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type TlsOptions as NodeTlsOptions,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import { InboundMessage } from '../publish.ts';
import type { Will } from './connect.ts';
import {
  DEFAULT_LIMITS,
  type EndReason,
  type Peer,
  type ServerHandlers,
  type ServerLimits,
  ServerStats,
} from './options.ts';
import { PartialPackets } from './partial-packets.ts';
import { type ConnectionHost, SensorConnection } from './sensor-connection.ts';
import { Sessions } from './sessions.ts';

/** An address to listen on. */
export interface Listener {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Certificate, key and, for client certificates, the authority (`ca`). Null: without TLS. */
  readonly tls: Pick<NodeTlsOptions, 'cert' | 'key' | 'ca' | 'minVersion'> | null;
}

const SWEEP_MS = 1000;
const KEEP_ALIVE_PROBE_MS = 60_000;
const SESSIONS_PER_CONNECTION = 10;
/** Bytes of wills that become due during a pause, and of each besides its topic and payload. */
const MAX_WAITING_WILL_BYTES = 4 * 1024 * 1024;
const WILL_BYTES = 400;

/** A connection from the first byte on, before TLS has a user. */
interface Place {
  readonly address: string;
  /** The client of the address. */
  readonly client: string;
  readonly socket: Socket;
  readonly since: number;
  connection: SensorConnection | null;
}

/**
 * An MQTT server for clients that publish (MQTT 5 and 3.1.1, section numbers in the code). The application
 * acknowledges each message when it is stored; PUBACK and PUBREC are sent then, in the order of receipt.
 *
 * Nobody can subscribe: SUBSCRIBE is answered with a failure. Retained messages are not kept.
 */
export class SensorServer implements ConnectionHost {
  readonly limits: ServerLimits;
  readonly handlers: ServerHandlers;
  readonly stats = new ServerStats();
  readonly sessions: Sessions;
  readonly #servers: Server[] = [];
  readonly #places = new Map<Socket, Place>();
  /** Connections by the client of their address. */
  readonly #byAddress = new Map<string, number>();
  // Open connections; those that were read after a hold come last.
  readonly #connections = new Set<SensorConnection>();
  readonly #partial: PartialPackets<SensorConnection>;
  #dirty: SensorConnection[] = [];
  readonly #clientOf: (address: string) => string;
  // Wills that became due during a pause.
  #wills: Will[] = [];
  #willBytes = 0;
  #paused = false;
  #isListening = false;
  #sweep: NodeJS.Timeout | undefined;

  /**
   * @param clientOf the client of an address, for bounds on the connections of a client. One machine can have many
   * addresses of IPv6. Default: each address is a client
   */
  constructor(
    handlers: ServerHandlers,
    limits: Partial<ServerLimits> = {},
    clientOf: (address: string) => string = (address) => address,
  ) {
    this.handlers = handlers;
    this.#clientOf = clientOf;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.#partial = new PartialPackets(this.limits.maxPartialBytes);
    this.sessions = new Sessions({
      maximum: this.limits.maxConnections * SESSIONS_PER_CONNECTION,
      maximumExpirySeconds: this.limits.maximumSessionExpirySeconds,
      onWill: (will) => this.#publishWill(will),
    });
  }

  /** Connections now, with those that have not logged in. */
  get connections(): number {
    return this.#places.size;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /**
   * Listens on an address. Rejects with the system's error, such as `code` EADDRINUSE.
   *
   * @returns the port, and a function that replaces the certificate for new connections
   */
  async listen({
    host,
    port,
    tls,
  }: Listener): Promise<{ port: number; renew(options: SecureContextOptions): void }> {
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS };
    const server =
      tls === null
        ? createServer(options, (socket) => this.#open(socket, socket, false))
        : createTlsServer({
            ...options,
            ...tls,
            handshakeTimeout: this.limits.connectTimeoutMs,
            requestCert: tls.ca !== undefined,
            // A wrong certificate is counted and refused in #secured.
            rejectUnauthorized: false,
          });
    const raw = new Map<string, Socket>();
    // Before Node's own listener, which begins the handshake.
    server.prependListener('connection', (socket: Socket) => {
      if (!this.#admit(socket) || tls === null) return;
      const key = `${socket.remoteAddress} ${socket.remotePort}`;
      raw.set(key, socket);
      socket.once('close', () => raw.delete(key));
    });
    if (tls !== null) {
      server.on('secureConnection', (socket: TLSSocket) =>
        this.#secured(socket, raw.get(`${socket.remoteAddress} ${socket.remotePort}`)),
      );
      server.on('tlsClientError', (error: Error, socket: TLSSocket) =>
        this.#refused('tls', socket.remoteAddress ?? '', error.message),
      );
    }
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, () => resolve());
    });
    // For example too many open files. The next connection may succeed.
    server
      .removeAllListeners('error')
      .on('error', (error) => this.#refused('connections', '', error.message));
    this.#servers.push(server);
    this.#isListening = true;
    this.#sweep ??= setInterval(() => this.#look(), SWEEP_MS);
    return {
      port: (server.address() as AddressInfo).port,
      renew: (changed) => (server as ReturnType<typeof createTlsServer>).setSecureContext(changed),
    };
  }

  /** Stops reading from all connections. Keep-alive does not count while nothing is read. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    for (const connection of this.#connections) connection.refreshHold();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    const wills = this.#wills;
    this.#wills = [];
    this.#willBytes = 0;
    // The application may pause again, and the rest waits.
    for (const will of wills) this.#publishWill(will);
    for (const connection of [...this.#connections]) connection.refreshHold();
  }

  /** Accepts no more connections. Those that are open continue. */
  stopListening(): void {
    this.#isListening = false;
    for (const server of this.#servers.splice(0)) server.close();
  }

  /**
   * Sends the acknowledgements that are ready, and ends all connections. Resolves when they are closed, after about a
   * second at most. Wills are not published (MQTT 5, section 3.1.2.5).
   */
  async close(): Promise<void> {
    this.stopListening();
    clearInterval(this.#sweep);
    const closed = [...this.#places.keys()].map(
      (socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve())),
    );
    for (const connection of [...this.#connections]) connection.close();
    for (const { connection, socket } of this.#places.values()) if (connection === null) socket.destroy();
    await Promise.all(closed);
    this.sessions.clear();
    this.#wills = [];
  }

  flushSoon(connection: SensorConnection): void {
    if (connection.isFlushDue) return;
    connection.isFlushDue = true;
    if (this.#dirty.length === 0) queueMicrotask(this.#flush);
    this.#dirty.push(connection);
  }

  collects(connection: SensorConnection, bytes: number): boolean {
    return this.#partial.collect(connection, bytes);
  }

  served(connection: SensorConnection): void {
    if (this.#connections.delete(connection)) this.#connections.add(connection);
  }

  ended(connection: SensorConnection): void {
    this.#connections.delete(connection);
  }

  readonly #flush = (): void => {
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const connection of dirty) {
      connection.isFlushDue = false;
      connection.flush();
    }
  };

  /** Takes a place for a connection, or refuses it. */
  #admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const client = this.#clientOf(address);
    const ofAddress = this.#byAddress.get(client) ?? 0;
    const { maxConnections, maxConnectionsPerAddress } = this.limits;
    const isTooMany = ofAddress >= maxConnectionsPerAddress;
    if (isTooMany || (this.#places.size >= maxConnections && !this.#makeRoom())) {
      this.#refused(isTooMany ? 'connections_of_address' : 'connections', address, 'too many connections');
      socket.on('error', () => {});
      socket.destroy();
      return false;
    }
    this.#byAddress.set(client, ofAddress + 1);
    this.#places.set(socket, { address, client, socket, since: performance.now(), connection: null });
    socket.on('error', () => {});
    socket.once('close', () => this.#leave(socket));
    return true;
  }

  #leave(socket: Socket): void {
    const place = this.#places.get(socket);
    if (place === undefined) return;
    this.#places.delete(socket);
    const left = this.#byAddress.get(place.client)! - 1;
    if (left === 0) this.#byAddress.delete(place.client);
    else this.#byAddress.set(place.client, left);
  }

  /** Ends the oldest connection without a login. Returns false when there is none. */
  #makeRoom(): boolean {
    for (const { connection, socket } of this.#places.values()) {
      if (connection !== null && !connection.isNew) continue;
      connection?.dropNew();
      socket.destroy();
      this.#leave(socket);
      return true;
    }
    return false;
  }

  #secured(socket: TLSSocket, raw: Socket | undefined): void {
    if (raw === undefined) {
      socket.destroy();
      return;
    }
    socket.once('close', () => this.#leave(raw));
    const certificate = socket.getPeerCertificate();
    const isPresent = certificate !== undefined && Object.keys(certificate).length > 0;
    if (isPresent && !socket.authorized) {
      this.#refused('tls', socket.remoteAddress ?? '', `client certificate: ${socket.authorizationError}`);
      socket.destroy();
      return;
    }
    const name: unknown = isPresent ? certificate.subject.CN : null;
    this.#open(socket, raw, true, typeof name === 'string' ? name : null);
  }

  #open(socket: Socket, raw: Socket, isTls: boolean, certificateName: string | null = null): void {
    const place = this.#places.get(raw);
    if (place === undefined) return;
    const { address, client } = place;
    const peer: Peer = {
      address,
      isTls,
      certificateName,
      isLoopback: isLoopbackAddress(socket.localAddress),
    };
    place.connection = new SensorConnection(socket, peer, client, this);
    this.#connections.add(place.connection);
  }

  #look(): void {
    const now = performance.now();
    for (const connection of [...this.#connections]) connection.checkTime(now);
    // A TLS handshake that is not complete has no connection yet.
    for (const { connection, socket, address, since } of [...this.#places.values()]) {
      if (connection !== null || now - since < this.limits.connectTimeoutMs) continue;
      this.#refused('connect_timeout', address, 'no TLS handshake in time');
      socket.destroy();
    }
    this.sessions.sweep(now);
  }

  #refused(reason: EndReason, address: string, detail: string): void {
    this.stats.ended[reason] += 1;
    this.handlers.onRefused({ reason, address, user: null, clientId: null, detail });
  }

  /**
   * Passes a will on. Connections can end while nothing is read, so their wills wait then. They have no
   * acknowledgement, so those without room are left out.
   */
  #publishWill(will: Will): void {
    const { topic, payload } = will;
    const size = topic.length + payload.length;
    if (this.#paused) {
      const bytes = WILL_BYTES + 2 * size;
      if (this.#willBytes + bytes > MAX_WAITING_WILL_BYTES) {
        const detail = `no room for a will on ${topic}`;
        this.handlers.onRefused({ reason: 'will', address: '', user: null, clientId: null, detail });
        return;
      }
      this.#willBytes += bytes;
      this.#wills.push(will);
      return;
    }
    this.stats.wills += 1;
    this.handlers.onWill(new InboundMessage(0, topic, 0, null, payload, 0, payload.length, size));
  }
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1$|(?:::ffff:)?127\.)/.test(address);
}
