import { createServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  type TlsOptions as NodeTlsOptions,
  type SecureContext,
  type SecureContextOptions,
  TLSSocket,
} from 'node:tls';
import { openAcceptors } from '@tidegauge/acceptors';
import { InboundMessage } from '../publish.ts';
import { Client } from './client.ts';
import type { Will } from './connect.ts';
import { Entrance, type Newcomer } from './entrance.ts';
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
import { Subscribers } from './subscribers.ts';
import { WaitingWills } from './waiting-wills.ts';

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

/**
 * TLS handshakes and logins at the same time. Each can take 100 KiB, and the message of another client can wait for all of
 * them, a millisecond or more for each.
 */
const MAX_ENTERING = 32;
/** Connections that have ended, and wait until their client has read the last packet. */
const MAX_LEAVING = 32;
/** Bytes that a connection buffers when it is not read, besides one chunk of the socket. */
const HIGH_WATER_MARK = 16 * 1024;
/** Of the sockets of clients. */
const SOCKET_OPTIONS = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
  pauseOnConnect: true,
  highWaterMark: HIGH_WATER_MARK,
};
/** Sessions of TLS are resumed only with a name of their server (SSL_CTX_set_session_id_context). */
const SESSION_ID_CONTEXT = 'tidegauge';

/** What TLS needs for new connections. */
interface Secure {
  context: SecureContext;
  readonly requestCert: boolean;
}

/** A connection from the first byte on, before TLS has a user. */
class Place implements Newcomer {
  readonly address: string;
  readonly peerAddress: string;
  readonly raw: Socket;
  /** Null: without TLS. */
  readonly secure: Secure | null;
  /** Since when the handshake or the login could go on. */
  since = performance.now();
  /** The socket, with TLS if there is any. To destroy a raw socket would leave the state of TLS to the garbage collector. */
  socket: Socket;
  connection: SensorConnection | null = null;
  readonly #host: PlaceHost;

  /** @param client the client of the address */
  constructor(raw: Socket, client: string, secure: Secure | null, host: PlaceHost) {
    this.raw = raw;
    this.socket = raw;
    this.peerAddress = raw.remoteAddress ?? '';
    this.address = client;
    this.secure = secure;
    this.#host = host;
  }

  get progress(): number {
    return this.raw.bytesRead;
  }

  get isChecked(): boolean {
    return this.connection?.isChecked ?? false;
  }

  enter(): void {
    this.since = performance.now();
    this.#host.enter(this);
  }

  drop(): void {
    if (this.connection === null) this.#host.dropped(this);
    else this.connection.dropNew();
    this.socket.destroy();
  }
}

/** The part of a server that a place uses. */
interface PlaceHost {
  /** Begins the handshake. */
  enter(place: Place): void;
  /** It ended for another one before its handshake was complete. */
  dropped(place: Place): void;
}

/**
 * An MQTT server for clients that publish (MQTT 5 and 3.1.1, section numbers in the code). The application
 * acknowledges each message when it is stored; PUBACK and PUBREC are sent then, in the order of receipt.
 *
 * Messages of clients are for the application only. A client can subscribe to topics on which the application sends messages
 * to it (`publish`, `User.mayReceive`). Other subscriptions are answered with a failure. Retained messages are not kept.
 */
export class SensorServer implements ConnectionHost {
  readonly limits: ServerLimits;
  readonly handlers: ServerHandlers;
  readonly stats = new ServerStats();
  readonly sessions: Sessions;
  readonly subscribers = new Subscribers<SensorConnection>();
  readonly #servers: Server[] = [];
  readonly #places = new Set<Place>();
  readonly #entrance: Entrance<Place>;
  /** Clients that logged in, by name. The one that was read first after a pause comes last. */
  readonly #clients = new Map<string, Client<SensorConnection>>();
  readonly #placeOf = new WeakMap<SensorConnection, Place>();
  /** Sockets of connections that ended, until they are closed. */
  readonly #leaving = new Set<Socket>();
  /** Connections that logged in. */
  #joined = 0;
  readonly #partial: PartialPackets<SensorConnection>;
  #dirty: SensorConnection[] = [];
  readonly #clientOf: (address: string) => string;
  readonly #wills = new WaitingWills();
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
    this.#entrance = new Entrance({ maxEntering: MAX_ENTERING, maxWaiting: this.limits.maxConnections });
    this.sessions = new Sessions({
      maximum: this.limits.maxConnections * SESSIONS_PER_CONNECTION,
      maximumExpirySeconds: this.limits.maximumSessionExpirySeconds,
      onWill: (will, client) => this.#publishWill(will, client),
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
    const secure = tls === null ? null : { context: contextOf(tls), requestCert: tls.ca !== undefined };
    const arrive = (socket: Socket) => this.#arrive(socket, secure);
    const { port: chosen, servers } = await openAcceptors({ host, port }, () =>
      createServer(SOCKET_OPTIONS, arrive),
    );
    this.#servers.push(...servers);
    for (const server of servers) {
      // For example too many open files. The next connection may succeed.
      server.on('error', (error) => this.#refused('connections', '', error.message));
    }
    this.#isListening = true;
    this.#sweep ??= setInterval(() => this.#look(), SWEEP_MS);
    return {
      port: chosen,
      renew: (changed) => {
        if (secure !== null) secure.context = contextOf({ ...tls, ...changed });
      },
    };
  }

  /** Stops reading from all connections. Keep-alive does not count while nothing is read. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    for (const client of this.#clients.values()) client.refreshHold();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    // Another client comes first after the next pause.
    const clients = [...this.#clients];
    const [first] = clients;
    if (first !== undefined) {
      this.#clients.delete(first[0]);
      this.#clients.set(...first);
    }
    for (const [, client] of clients) client.refreshHold();
    for (const name of this.#wills.clients) this.#passOnWaiting(this.#clientNamed(name));
  }

  /**
   * Sends a message with QoS 0 to the clients that subscribed to its topic and may receive it. It is left out for a client
   * that is not connected, or does not read.
   *
   * @param topic without wildcards
   * @returns whether it was sent to any
   */
  publish(topic: string, payload: Uint8Array): boolean {
    let isSent = false;
    for (const connection of this.subscribers.of(topic)) if (connection.send(topic, payload)) isSent = true;
    return isSent;
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
    const closed = [...this.#places].map(
      ({ raw }) => new Promise<void>((resolve) => void raw.once('close', () => resolve())),
    );
    for (const { connection } of [...this.#places]) connection?.close();
    for (const { connection, socket } of [...this.#places]) if (connection === null) socket.destroy();
    this.#entrance.close();
    await Promise.all(closed);
    this.sessions.clear();
    this.#wills.clear();
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

  join(connection: SensorConnection, name: string): EndReason | null {
    const client = this.#clientNamed(name);
    const { maxConnections, maxConnectionsPerClient } = this.limits;
    const own = client.connections.size;
    if (own >= maxConnectionsPerClient) return 'connections_of_client';
    if (this.#joined >= maxConnections) {
      let most = client;
      for (const each of this.#clients.values())
        if (each.connections.size > most.connections.size) most = each;
      // Two clients with as many do not take each other's place in turns.
      if (most.connections.size < own + 2) return 'connections';
      most.idlest!.makePlace();
    }
    client.connections.add(connection);
    connection.client = client;
    this.#joined += 1;
    this.#entrance.leave(this.#placeOf.get(connection)!);
    return null;
  }

  ended(connection: SensorConnection): void {
    if (!connection.client.connections.delete(connection)) return;
    this.#joined -= 1;
    const { socket } = this.#placeOf.get(connection)!;
    // Its close was the end of the connection, so no other one follows.
    if (socket.closed) return;
    // It is open until its client has read the last packet, and has its memory.
    this.#leaving.add(socket);
    socket.once('close', () => this.#leaving.delete(socket));
    const [oldest] = this.#leaving;
    if (this.#leaving.size > MAX_LEAVING) oldest!.destroy();
  }

  readonly #flush = (): void => {
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const connection of dirty) {
      connection.isFlushDue = false;
      connection.flush();
    }
  };

  #arrive(raw: Socket, secure: Secure | null): void {
    raw.on('error', () => {});
    // It is closed already.
    if (raw.remoteAddress === undefined) {
      raw.destroy();
      return;
    }
    const client = this.#clientOf(raw.remoteAddress);
    const place = new Place(raw, client, secure, this.#host);
    this.#places.add(place);
    raw.once('close', () => {
      this.#places.delete(place);
      this.#entrance.leave(place);
    });
    this.#entrance.arrive(place);
  }

  readonly #host: PlaceHost = {
    enter: (place) => this.#enter(place),
    dropped: ({ peerAddress }) => this.#refused('connections', peerAddress, 'others wait to log in'),
  };

  #enter(place: Place): void {
    const { raw, secure } = place;
    if (secure === null) {
      this.#open(place, null);
      return;
    }
    const { context: secureContext, requestCert } = secure;
    // A wrong certificate is counted and refused in #secured.
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext,
      requestCert,
      rejectUnauthorized: false,
      highWaterMark: HIGH_WATER_MARK,
    } as object);
    place.socket = socket;
    const fail = ({ message }: Error) => {
      if (place.connection === null) this.#refused('tls', place.peerAddress, message);
      socket.destroy();
    };
    // Node reports what is wrong with a handshake with the first of these events only.
    socket.once('_tlsError', fail);
    socket.on('error', fail);
    socket.once('secure', () => this.#secured(place, socket));
  }

  #secured(place: Place, socket: TLSSocket): void {
    const certificate = socket.getPeerCertificate();
    const isPresent = certificate !== undefined && Object.keys(certificate).length > 0;
    const problem = isPresent ? problemOf(socket) : null;
    if (problem !== null) {
      this.#refused('tls', place.peerAddress, `client certificate: ${problem}`);
      socket.destroy();
      return;
    }
    const name: unknown = isPresent ? certificate.subject.CN : null;
    this.#open(place, typeof name === 'string' ? name : null);
  }

  #open(place: Place, certificateName: string | null): void {
    const { socket, raw, address, peerAddress, secure } = place;
    const peer: Peer = {
      address: peerAddress,
      isTls: secure !== null,
      certificateName,
      isLoopback: isLoopbackAddress(raw.localAddress),
    };
    const client = new Client<SensorConnection>(`address ${address}`);
    place.connection = new SensorConnection(socket, peer, client, this);
    this.#placeOf.set(place.connection, place);
    // It was paused when it arrived.
    if (secure === null) raw.resume();
  }

  #look(): void {
    const now = performance.now();
    for (const { connection, socket, peerAddress, since } of [...this.#places]) {
      if (connection !== null) connection.checkTime(now);
      else if (now - since >= this.limits.connectTimeoutMs) {
        // A TLS handshake that is not complete, or one that did not begin, has no connection yet.
        this.#refused('connect_timeout', peerAddress, 'no TLS handshake in time');
        socket.destroy();
      }
    }
    for (const client of [...this.#clients.values()]) {
      client.nextSecond();
      if (client.isGone) this.#clients.delete(client.name);
    }
    this.sessions.sweep(now);
  }

  #refused(reason: EndReason, address: string, detail: string): void {
    this.stats.ended[reason] += 1;
    this.handlers.onRefused({ reason, address, user: null, clientId: null, detail });
  }

  #clientNamed(name: string): Client<SensorConnection> {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client = new Client<SensorConnection>(name, () => this.#passOnWaiting(client));
    this.#clients.set(name, client);
    return client;
  }

  /**
   * Passes a will on. While nothing is read from its client, it waits, as messages of the client do. It has no
   * acknowledgement, so one without room is left out.
   */
  #publishWill(will: Will, name: string): void {
    const client = this.#clientNamed(name);
    if (!this.#paused && !client.isPaused) this.#passOn(will, client);
    else if (!this.#wills.add(name, will)) {
      const detail = `no room for a will of ${name} on ${will.topic}`;
      this.handlers.onRefused({ reason: 'will', address: '', user: null, clientId: null, detail });
    }
  }

  /** Passes on the wills of a client that wait, until nothing is read from it again. */
  #passOnWaiting(client: Client<SensorConnection>): void {
    while (!this.#paused && !client.isPaused) {
      const will = this.#wills.take(client.name);
      if (will === undefined) return;
      this.#passOn(will, client);
    }
  }

  #passOn({ topic, payload }: Will, client: Client<SensorConnection>): void {
    const size = topic.length + payload.length;
    this.stats.wills += 1;
    client.unacknowledged += 1;
    this.handlers.onWill(
      new InboundMessage(0, topic, 0, null, payload, 0, payload.length, size),
      client,
      () => {
        client.unacknowledged -= 1;
      },
    );
  }
}

/**
 * Why the certificate of a client is not valid; null when it is. Only Node's own server for TLS sets `authorized`, and it
 * hides its sockets until the handshake is complete, so that they could not be destroyed before. Without the answer of
 * OpenSSL no certificate is valid.
 */
function problemOf(socket: TLSSocket): string | null {
  const { ssl } = socket as unknown as { ssl?: { verifyError?(): NodeJS.ErrnoException | null } | null };
  const error = ssl?.verifyError?.();
  if (error === null) return null;
  return error?.code ?? 'it was not verified';
}

function contextOf(options: SecureContextOptions): SecureContext {
  return createSecureContext({ ...options, sessionIdContext: SESSION_ID_CONTEXT });
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1$|(?:::ffff:)?127\.)/.test(address);
}
