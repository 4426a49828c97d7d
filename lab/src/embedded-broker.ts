import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Aedes, type AuthenticateError, type Client } from 'aedes';
import { BrokerQueue, type Persistence } from './broker-queue.ts';

export interface EmbeddedBrokerOptions {
  /** Default 1883. 0: a free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Credentials that every client must send. Set both or neither. Without them every client may connect. */
  readonly username?: string;
  readonly password?: string;
  /** Receives a line for each refused client, at most one per second. Default: writes to standard error. */
  readonly log?: (line: string) => void;
}

const MIB = 1024 * 1024;
/** Maximum size of a packet, and of all data before CONNECT is accepted, in bytes. */
const MAX_PACKET = 8 * MIB;
const MAX_FIRST_PACKET = 64 * 1024;
const MAX_TOPIC_LENGTH = 1024;
const MAX_CONNECTIONS = 1000;
/** Maximum time between the connection and its CONNECT, in milliseconds. */
const CONNECT_MS = 10_000;
/** Maximum number of QoS 2 messages of a client that wait for PUBREL. */
const MAX_INFLIGHT = 1000;
const BOUNDS = { queuedBytes: 64 * MIB, heldBytes: 32 * MIB, retainedBytes: 8 * MIB, awayMs: 300_000 };
const LOG_MS = 1000;

/** The reason why the broker disconnects a client. */
class Refusal extends Error {}

/** The internal parts of aedes's client that this module limits or corrects. */
interface Inside {
  readonly id: string | null;
  readonly clean: boolean;
  readonly connecting: boolean;
  readonly connected: boolean;
  duplicates: object;
  readonly _parser: { parse(bytes: Buffer): number; readonly packet: { readonly length: number } };
  emit(event: 'error', error: Error): void;
}

export interface EmbeddedBroker {
  readonly url: string;
  readonly port: number;
  /** Ends all connections. Queued messages are lost, because they are only in memory. */
  close(): Promise<void>;
}

/**
 * Starts an MQTT 3.1.1 broker in this process (aedes, with sessions in memory). It reports the supported version to
 * clients of MQTT 5. Packets, topics, connections and queues are limited. Rejects with the system's error, such as
 * `code` EADDRINUSE when the port is in use.
 */
export async function startEmbeddedBroker(options: EmbeddedBrokerOptions = {}): Promise<EmbeddedBroker> {
  const { port = 1883, host = '127.0.0.1', username, password } = options;
  if ((username === undefined) !== (password === undefined)) {
    throw new TypeError('the embedded broker takes both username and password, or neither');
  }
  const broker = await Aedes.createBroker({ connectTimeout: CONNECT_MS, maxInflightInbound: MAX_INFLIGHT });
  const queue = new BrokerQueue(BOUNDS);
  queue.install((broker as unknown as { persistence: Persistence }).persistence);
  broker.authorizePublish = (_client, packet, done) => {
    const problem = topicProblem(packet.topic);
    if (problem !== null) done(new Refusal(`its message on ${shown(packet.topic)} is refused: ${problem}`));
    else if (packet.qos > 0 && queue.full)
      done(
        new Refusal('the queue for those who read is full: its message is not taken, send it again later'),
      );
    else done(null);
  };
  // aedes assumes that a message that arrives out of order is a duplicate, and drops it. This turns the check off.
  broker.on('client', (client) => {
    inside(client).duplicates = new Proxy({}, { set: () => true });
    queue.note(client.id, true);
  });
  broker.on('clientDisconnect', (client) => queue.note(client.id, false));
  // Retained messages are in no queue. They must not have the identifiers of queued messages.
  broker.authorizeForward = (client, packet) => {
    const { id, clean } = inside(client);
    if (packet.retain && packet.qos > 0 && !clean && id !== null && packet.messageId === undefined)
      packet.messageId = queue.takeId(id);
    return packet;
  };
  const log = limited(options.log ?? ((line) => process.stderr.write(`${line}\n`)));
  const onError = (client: Client, error: Error): void => {
    if (error instanceof Refusal)
      log(`broker: ended the connection of ${shown(client.id ?? 'a client')}: ${error.message}`);
  };
  broker.on('clientError', onError);
  broker.on('connectionError', onError);
  if (username !== undefined && password !== undefined) {
    broker.authenticate = (_client, givenUser, givenPassword, done) => {
      // Both are always compared, so that the time does not reveal which one is wrong.
      const user = isEqual(givenUser ?? '', username);
      const pass = isEqual(givenPassword ?? '', password);
      if (user && pass) done(null, true);
      else
        done(
          Object.assign(new Error('bad user name or password'), { returnCode: 4 }) as AuthenticateError,
          null,
        );
    };
  }

  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    limitPackets(inside(broker.handle(socket)));
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    await new Promise<void>((resolve) => broker.close(resolve));
    throw error;
  }
  const bound = (server.address() as AddressInfo).port;

  return {
    url: `mqtt://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await new Promise<void>((resolve) => broker.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function inside(client: Client): Inside {
  return client as unknown as Inside;
}

/** Disconnects a client when the header of a packet announces too many bytes, before they are buffered. */
function limitPackets(client: Inside): void {
  const parser = client._parser;
  const parse = parser.parse.bind(parser);
  parser.parse = (bytes) => {
    let rest: number;
    try {
      rest = parse(bytes);
    } catch (error) {
      client.emit('error', new Refusal(`it sent what is no MQTT: ${(error as Error).message}`));
      return 0;
    }
    const most = client.connected || client.connecting ? MAX_PACKET : MAX_FIRST_PACKET;
    if (parser.packet.length > most) {
      client.emit(
        'error',
        new Refusal(`its packet has ${parser.packet.length} bytes, at most ${most} are taken`),
      );
    }
    return rest;
  };
}

function topicProblem(topic: string): string | null {
  if (topic.length > MAX_TOPIC_LENGTH) return `a topic has at most ${MAX_TOPIC_LENGTH} characters`;
  if (topic.includes('\0')) return 'a topic cannot hold the character NUL';
  if (topic.includes('\ufffd')) return 'a topic must be valid UTF-8';
  if (topic.startsWith('$')) return 'topics that begin with $ are reserved';
  return null;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

function limited(log: (line: string) => void): (line: string) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (line) => {
    if (performance.now() - last < LOG_MS) return;
    last = performance.now();
    log(line);
  };
}

function isEqual(given: string | Buffer, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(value: string | Buffer): Buffer {
  return createHash('sha256').update(value).digest();
}
