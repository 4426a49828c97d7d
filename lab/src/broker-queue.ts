import { Readable } from 'node:stream';

/** A packet as aedes passes it to its persistence. */
export interface Queued {
  cmd: string;
  brokerId?: string | null;
  brokerCounter?: number;
  topic: string;
  payload: Buffer;
  qos: number;
  retain: boolean;
  dup: boolean;
  messageId?: number | undefined;
}

interface Session {
  readonly id: string;
}

type Store = (client: Session, packet: Queued) => Promise<void>;

/** The part of aedes's persistence that is replaced or called. */
export interface Persistence {
  outgoingEnqueue(session: { clientId: string; qos?: number }, packet: Queued): Promise<void>;
  outgoingEnqueueCombi(
    subscriptions: readonly { clientId: string; qos: number }[],
    packet: Queued,
  ): Promise<void>;
  outgoingUpdate: Store;
  outgoingClearMessageId(client: Session, packet: Queued): Promise<Queued | undefined>;
  outgoingStream(client: Session): Readable;
  storeRetained(packet: Queued): Promise<void>;
  incomingStorePacket: Store;
  incomingDelPacket: Store;
  cleanIncoming(client: Session): Promise<void>;
}

/** The queued messages of one client with a persistent session, in order. */
class Outgoing {
  /** Messages by aedes's number (`brokerCounter`). */
  readonly entries = new Map<number, Queued>();
  /** Messages by packet identifier. null: a retained message uses the identifier. It is in no queue. */
  readonly byId = new Map<number, Queued | null>();
  /** When its client disconnected, in milliseconds of `performance.now()`. null: the client is connected. */
  awaySince: number | null = null;
  #lastId = 0;

  /** Reserves a packet identifier that is not in use. */
  take(entry: Queued | null): number {
    do this.#lastId = (this.#lastId % 65_535) + 1;
    while (this.byId.has(this.#lastId) && this.byId.size < 65_535);
    this.byId.set(this.#lastId, entry);
    return this.#lastId;
  }
}

export interface QueueBounds {
  /** Limit for messages that are queued for clients, in bytes. */
  readonly queuedBytes: number;
  /** Limit for QoS 2 messages that are not released yet, in bytes. */
  readonly heldBytes: number;
  /** Limit for retained messages, in bytes. */
  readonly retainedBytes: number;
  /** How long a disconnected client keeps its queue when `queuedBytes` is reached, in milliseconds. */
  readonly awayMs: number;
}

/** Approximate memory of a message without its topic and payload, in bytes. */
const OVERHEAD = 400;

/**
 * Replaces the queues of aedes's persistence in memory, because those lose acknowledged messages. aedes delivers queued
 * messages with their retain flag. After a reconnection it assigns identifiers that are still in use to other messages.
 * It also ends the connection of a client ("no such packet") that acknowledges a retained QoS 2 message.
 */
export class BrokerQueue {
  readonly #bounds: QueueBounds;
  readonly #outgoing = new Map<string, Outgoing>();
  readonly #connected = new Set<string>();
  readonly #held = new Map<string, Map<number, number>>();
  readonly #retained = new Map<string, number>();
  #queuedBytes = 0;
  #heldBytes = 0;
  #retainedBytes = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /**
   * True while no further message may be acknowledged. When the limit is reached, the queues of clients that have been
   * disconnected for `awayMs` are dropped first, so that an abandoned session does not block all other clients.
   */
  get full(): boolean {
    if (this.#queuedBytes < this.#bounds.queuedBytes) return false;
    for (const { awaySince, entries, byId } of this.#outgoing.values()) {
      if (awaySince === null || performance.now() - awaySince < this.#bounds.awayMs) continue;
      for (const entry of entries.values()) this.#queuedBytes -= size(entry);
      entries.clear();
      byId.clear();
    }
    return this.#queuedBytes >= this.#bounds.queuedBytes;
  }

  /** Records that a client has connected or disconnected. */
  note(clientId: string, connected: boolean): void {
    if (connected) this.#connected.add(clientId);
    else this.#connected.delete(clientId);
    const outgoing = this.#outgoing.get(clientId);
    if (outgoing === undefined) return;
    outgoing.awaySince = connected ? null : performance.now();
    // Clients that use a new id for each connection leave no empty queues.
    if (!connected && outgoing.entries.size === 0) this.#outgoing.delete(clientId);
  }

  /** Reserves an identifier for a retained message of QoS 1 or 2, which is in no queue. */
  takeId(clientId: string): number {
    return this.#of(clientId).take(null);
  }

  /** Replaces the queues of a broker with these. */
  install(persistence: Persistence): void {
    const incoming = this.#incoming(persistence);
    const storeRetained = this.#bounded(persistence.storeRetained.bind(persistence));
    Object.assign(persistence, incoming, {
      outgoingEnqueue: async (session, packet) => this.#enqueue(session.clientId, session.qos ?? 2, packet),
      outgoingEnqueueCombi: async (subscriptions, packet) => {
        for (const { clientId, qos } of subscriptions) this.#enqueue(clientId, qos, packet);
      },
      outgoingUpdate: async (client, packet) => this.#update(client.id, packet),
      outgoingClearMessageId: async (client, packet) => this.#clear(client.id, packet.messageId),
      outgoingStream: (client) => this.#stream(client.id),
      storeRetained,
    } satisfies Partial<Persistence>);
  }

  #of(clientId: string): Outgoing {
    const known = this.#outgoing.get(clientId);
    if (known !== undefined) return known;
    const outgoing = new Outgoing();
    outgoing.awaySince = this.#connected.has(clientId) ? null : performance.now();
    this.#outgoing.set(clientId, outgoing);
    return outgoing;
  }

  #enqueue(clientId: string, qos: number, packet: Queued): void {
    const { topic, payload, brokerId, brokerCounter } = packet;
    const least = Math.min(qos, packet.qos);
    const entry = {
      cmd: 'publish',
      brokerId,
      brokerCounter,
      topic,
      payload,
      qos: least,
      retain: false,
      dup: false,
    };
    this.#of(clientId).entries.set(brokerCounter!, entry as Queued);
    this.#queuedBytes += size(packet);
  }

  // aedes calls this before it writes a packet. A message receives its identifier, and a PUBREL replaces its message.
  #update(clientId: string, packet: Queued): void {
    const outgoing = this.#of(clientId);
    if (packet.cmd === 'pubrel') {
      const entry = outgoing.byId.get(packet.messageId!);
      if (entry != null && entry.cmd === 'publish') {
        this.#queuedBytes -= entry.payload.length;
        entry.cmd = 'pubrel';
        entry.payload = Buffer.alloc(0);
      }
      return;
    }
    const entry = outgoing.entries.get(packet.brokerCounter!);
    if (entry === undefined) {
      packet.messageId = outgoing.take(null);
      return;
    }
    if (entry.messageId === undefined) entry.messageId = outgoing.take(entry);
    else packet.dup = true;
    packet.messageId = entry.messageId;
    packet.qos = entry.qos;
    packet.retain = false;
  }

  #clear(clientId: string, messageId: number | undefined): Queued | undefined {
    const outgoing = this.#of(clientId);
    const entry = messageId === undefined ? undefined : outgoing.byId.get(messageId);
    if (entry === undefined) return undefined;
    outgoing.byId.delete(messageId!);
    if (entry === null) return undefined;
    outgoing.entries.delete(entry.brokerCounter!);
    this.#queuedBytes -= size(entry);
    return entry;
  }

  // aedes calls this at each connection. Identifiers without a message belong to the previous connection.
  #stream(clientId: string): Readable {
    const outgoing = this.#of(clientId);
    for (const [id, entry] of outgoing.byId) if (entry === null) outgoing.byId.delete(id);
    return Readable.from([...outgoing.entries.values()]);
  }

  // A message above the limit is delivered, but not retained.
  #bounded(store: (packet: Queued) => Promise<void>) {
    return async (packet: Queued): Promise<void> => {
      const before = this.#retained.get(packet.topic) ?? 0;
      const after = packet.payload.length === 0 ? 0 : size(packet);
      if (after > 0 && this.#retainedBytes - before + after > this.#bounds.retainedBytes) return;
      this.#retainedBytes += after - before;
      if (after === 0) this.#retained.delete(packet.topic);
      else this.#retained.set(packet.topic, after);
      await store(packet);
    };
  }

  // Stores QoS 2 messages between PUBLISH and PUBREL. A message that is refused here is not acknowledged.
  #incoming(base: Persistence): Partial<Persistence> {
    const store = base.incomingStorePacket.bind(base);
    const remove = base.incomingDelPacket.bind(base);
    const clean = base.cleanIncoming.bind(base);
    const forget = (client: Session, id: number): void => {
      this.#heldBytes -= this.#held.get(client.id)?.get(id) ?? 0;
      this.#held.get(client.id)?.delete(id);
    };
    return {
      incomingStorePacket: async (client: Session, packet: Queued) => {
        if (this.#heldBytes + size(packet) > this.#bounds.heldBytes) {
          throw new Error('too many QoS 2 messages wait for their PUBREL');
        }
        const held = this.#held.get(client.id) ?? new Map<number, number>();
        this.#held.set(client.id, held.set(packet.messageId!, size(packet)));
        this.#heldBytes += size(packet);
        await store(client, packet);
      },
      incomingDelPacket: async (client: Session, packet: Queued) => {
        forget(client, packet.messageId!);
        await remove(client, packet);
      },
      cleanIncoming: async (client: Session) => {
        for (const id of [...(this.#held.get(client.id)?.keys() ?? [])]) forget(client, id);
        this.#held.delete(client.id);
        await clean(client);
      },
    };
  }
}

function size({ topic, payload }: Queued): number {
  return 2 * topic.length + payload.length + OVERHEAD;
}
