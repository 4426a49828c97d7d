import { Readable } from 'node:stream';

/** A packet as aedes hands it on. */
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

/** Messages on their way to one client with a persistent session, in order. */
class Outgoing {
  /** By aedes's number of the message. */
  readonly entries = new Map<number, Queued>();
  /** By packet identifier; null: taken by a retained message, which is in no queue. */
  readonly byId = new Map<number, Queued | null>();
  /** When its client went away, milliseconds; null while it is connected. */
  awaySince: number | null = null;
  #lastId = 0;

  /** A packet identifier that is not in use. */
  take(entry: Queued | null): number {
    do this.#lastId = (this.#lastId % 65_535) + 1;
    while (this.byId.has(this.#lastId) && this.byId.size < 65_535);
    this.byId.set(this.#lastId, entry);
    return this.#lastId;
  }
}

export interface QueueBounds {
  /** Bytes of messages that wait for clients, of QoS 2 messages not released yet, and of retained messages, each. */
  readonly queuedBytes: number;
  readonly heldBytes: number;
  readonly retainedBytes: number;
  /** For how long a disconnected client keeps its queue when the limit is reached, milliseconds. */
  readonly awayMs: number;
}

/** About what a message takes beside its topic and payload. */
const OVERHEAD = 400;

/**
 * aedes's persistence in memory, with other queues. Those of aedes lose acknowledged messages: they deliver what was
 * queued with its retain flag, give identifiers that are still in use to other messages after a reconnection, and
 * end a client's connection ("no such packet") when it answers a retained QoS 2 message.
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
   * True while no further message may be acknowledged. A client that left a persistent session behind must not end
   * that for all others: queues of clients that have been disconnected longest are dropped first.
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

  /** Notes that a client came or went. */
  note(clientId: string, connected: boolean): void {
    if (connected) this.#connected.add(clientId);
    else this.#connected.delete(clientId);
    const outgoing = this.#outgoing.get(clientId);
    if (outgoing === undefined) return;
    outgoing.awaySince = connected ? null : performance.now();
    // Nothing is left behind by clients that come and go with a new id each time.
    if (!connected && outgoing.entries.size === 0) this.#outgoing.delete(clientId);
  }

  /** An identifier for a message of QoS 1 or 2 that is in no queue, a retained one. */
  takeId(clientId: string): number {
    return this.#of(clientId).take(null);
  }

  /** Puts these queues in the place of those of a broker. */
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

  // Called before a packet is written: a message gets its identifier, PUBREL takes the message's place.
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

  // Asked for at each connection: identifiers without a message are those of the connection before.
  #stream(clientId: string): Readable {
    const outgoing = this.#of(clientId);
    for (const [id, entry] of outgoing.byId) if (entry === null) outgoing.byId.delete(id);
    return Readable.from([...outgoing.entries.values()]);
  }

  // Beyond the bound a message is delivered and not retained.
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

  // QoS 2 messages between PUBLISH and PUBREL. One that is refused here is not acknowledged.
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
