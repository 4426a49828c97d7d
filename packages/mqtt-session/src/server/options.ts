import type { InboundMessage, UndecodableMessage } from '../publish.ts';
import type { ClientHandle } from './client.ts';
import type { ConnectRequest } from './connect.ts';

/** Bounds of a server. `DEFAULT_LIMITS` has reasonable values. */
export interface ServerLimits {
  /**
   * Connections at the same time that have logged in. Then the client with the most loses the one from which nothing has
   * arrived for the longest time. As many that have not logged in can wait for their turn.
   */
  readonly maxConnections: number;
  /** Connections of a client that have logged in: of one user, or without a login of the client of an address. */
  readonly maxConnectionsPerClient: number;
  /** From the connection to a complete CONNECT, with TLS, milliseconds. */
  readonly connectTimeoutMs: number;
  /** Bytes of a packet. Of a larger PUBLISH of MQTT 3.1.1 only the topic is kept. */
  readonly maximumPacketSize: number;
  readonly maximumTopicBytes: number;
  /** Messages of a connection without acknowledgement; further ones are not read. */
  readonly receiveMaximum: number;
  /** Bytes of the messages of a connection without acknowledgement; further ones are not read. */
  readonly maxInFlightBytes: number;
  /** Bytes of all packets that have arrived in part. Then a connection of the client with the most of them ends. */
  readonly maxPartialBytes: number;
  /** Longest time that a session lasts without a connection, seconds. */
  readonly maximumSessionExpirySeconds: number;
  readonly topicAliasMaximum: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: ServerLimits = {
  maxConnections: 500,
  maxConnectionsPerClient: 250,
  connectTimeoutMs: 10_000,
  maximumPacketSize: MIB,
  maximumTopicBytes: 1024,
  receiveMaximum: 1000,
  maxInFlightBytes: MIB,
  maxPartialBytes: 8 * MIB,
  maximumSessionExpirySeconds: 86_400,
  topicAliasMaximum: 16,
};

/** A client that logged in. */
export interface User {
  /** Null: without a login. It is a part of the identity of a session, so no user can take over that of another one. */
  readonly name: string | null;
  mayPublish(topic: string): boolean;
  /** Whether messages of `SensorServer.publish` on a topic are sent to it. Default: none are, and it cannot subscribe. */
  mayReceive?(topic: string): boolean;
  /** Whether the login is still valid. Asked about once a second; its connection ends when it is not. Default: it is. */
  isCurrent?(): boolean;
}

/** Where a CONNECT came from. */
export interface Peer {
  readonly address: string;
  readonly isTls: boolean;
  /** The common name of a client certificate that the listener's authority signed; null without one. */
  readonly certificateName: string | null;
  /** Whether it reached the server on a loopback address. */
  readonly isLoopback: boolean;
}

export type LoginProblem = 'credentials' | 'not_authorized' | 'busy';

/** Why the server ended or refused a connection. These are values of a label. */
export const END_REASONS = [
  'connections',
  'connections_of_client',
  'connect_timeout',
  'tls',
  'version',
  'client_id',
  'credentials',
  'not_authorized',
  'busy',
  'protocol',
  'publish_denied',
  'quota',
  'keep_alive',
  'taken_over',
  'not_reading',
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Totals of a server since its start. */
export class ServerStats {
  accepted = 0;
  messages = 0;
  /** QoS 2 messages that were sent again, and not delivered again. */
  duplicates = 0;
  /** Messages that the user may not publish. */
  denied = 0;
  subscriptionsRefused = 0;
  wills = 0;
  receivedBytes = 0;
  sentBytes = 0;
  readonly ended: Record<EndReason, number> = Object.fromEntries(
    END_REASONS.map((reason) => [reason, 0]),
  ) as Record<EndReason, number>;
}

/** The part of a message that its acknowledgement needs. */
export type Receipt = Pick<InboundMessage, 'ticket' | 'packetId' | 'qos' | 'size'>;

/** The connection of a client, as the application uses it. */
export interface ClientConnection {
  readonly client: ClientHandle;
  /**
   * Acknowledges a message: it is stored. Call it once for each message, also with QoS 0, and also after the end of the
   * connection. PUBACKs are sent in the order of receipt.
   *
   * @param reason an MQTT 5 reason code; a client of 3.1.1 receives none
   */
  acknowledge(receipt: Receipt, reason?: number): void;
}

/** What the application does. No function may throw. */
export interface ServerHandlers {
  /** Decides about a login. Rejections count as `busy`. `signal` is aborted when the connection ends before. */
  authenticate(request: ConnectRequest, peer: Peer, signal: AbortSignal): Promise<User | LoginProblem>;
  /** Called for each message in the order of receipt. Call `connection.acknowledge(message)` once for each, any QoS. */
  onMessage(message: InboundMessage, connection: ClientConnection): void;
  /** A message that is too large, or whose topic is too long. Acknowledge it as others. */
  onUndecodable(message: UndecodableMessage, connection: ClientConnection): void;
  /** The will of a client whose connection broke. Call `settled` when it is stored: the client exists until then. */
  onWill(message: InboundMessage, client: ClientHandle, settled: () => void): void;
  /** Something that an operator can need. Called for each refusal, so bound what is logged. */
  onRefused(event: {
    readonly reason: EndReason | 'subscribe' | 'denied' | 'will';
    readonly address: string;
    readonly user: string | null;
    readonly clientId: string | null;
    readonly detail: string;
  }): void;
}
