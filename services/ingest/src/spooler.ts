import { setTimeout as sleep } from 'node:timers/promises';
import { DecodeError, type Reading } from '@tidegauge/readings';
import type { Accounts } from './accounts.ts';
import { StoreUnavailable } from './committer.ts';
import { bytesInMemory, compacted, type Delivery, type Origin } from './delivery.ts';
import { Lane } from './lane.ts';
import { type Decoded, decodeMessage } from './raw-message.ts';
import type { Router } from './routes.ts';
import type { SensorClocks } from './sensor-clocks.ts';
import { NO_UNITS } from './series-units.ts';
import type { Spool } from './spool.ts';
import type { SpoolEntry } from './spool-entry.ts';
import { SpoolShares } from './spool-shares.ts';
import { isBehind, SpooledDevices } from './spooled-devices.ts';

/**
 * How long the store may be unavailable before messages go to the spool, so that a short restart of the store causes
 * no write.
 */
const PATIENCE_MS = 1000;
/** Messages of one batch of a replay. They are in memory in addition to those in flight. */
const REPLAY_BYTES = 4 * 1024 * 1024;

/** The origin of a message from the spool, which was acknowledged when it was spooled. */
const ACKNOWLEDGED: Origin = { settled() {} };
const NONE: readonly Reading[] = [];

export interface SpoolerOptions {
  readonly spool: Spool;
  readonly router: Router;
  readonly clocks: SensorClocks;
  readonly accounts: Accounts;
  /** Readings in one write at most. */
  readonly maxBatch: number;
  readonly paceMs: number;
  /** Ends waiting. Messages that were not spooled stay unacknowledged. */
  readonly signal: AbortSignal;
  /** Whether the store accepts less than arrives. */
  readonly isSlow: () => boolean;
  /** Writes a batch to the store. Rejects with StoreUnavailable when that takes longer than `patienceMs`. */
  readonly store: (batch: readonly Delivery[], patienceMs?: number) => Promise<void>;
  /** Sends a message that cannot be decoded to quarantine. */
  readonly quarantine: (delivery: Delivery, error: DecodeError, received: number) => void;
  /** Resolves when all messages sent to quarantine are written. */
  readonly quarantined: () => Promise<void>;
  /** Called once for each delivery that was written to the spool, before `onSpooled`. */
  readonly onKept: (delivery: Delivery) => void;
  /** Called once for each reading that an earlier process left in the spool. */
  readonly onRecovered: (readings: readonly Reading[]) => void;
  /** Called for each delivery that may be acknowledged because it is in the spool. */
  readonly onSpooled: (delivery: Delivery) => void;
  readonly onBroken: (error: unknown) => void;
}

/** A delivery that waits in memory, and the last segment of the spool that must be stored before it. */
interface Waiting {
  readonly delivery: Delivery;
  /** -1 when it waits for the store only. */
  readonly after: number;
}

/** Readings of one device that wait in memory. */
interface InMemory {
  count: number;
  /** Time of the newest of them. */
  newest: number;
}

/** Deliveries of a batch that go the same way. */
class Group {
  readonly #deliveries: Delivery[] = [];
  /** Time of the newest reading of each device. */
  readonly #newest = new Map<string, number>();

  push(delivery: Delivery): void {
    this.#deliveries.push(delivery);
    for (const { device, time } of delivery.readings)
      this.#newest.set(device, Math.max(time, this.#newest.get(device) ?? time));
  }

  /** Whether a delivery must not overtake one of these. */
  isBefore({ readings }: Delivery): boolean {
    return isBehind(readings, this.#newest);
  }

  take(): readonly Delivery[] {
    this.#newest.clear();
    return this.#deliveries.splice(0);
  }
}

/**
 * Writes batches to the store, or to the spool while the store is unavailable or too slow, and replays the spool to
 * the store, oldest first, beside live traffic. Messages that must not be acknowledged from the spool (HTTP, `ack:
 * stored`), and those of a client that has its share of the spool, wait in memory instead.
 *
 * Readings of one identity must reach the store in the order of their arrival. Identity includes time, so only a
 * reading that is not newer than a waiting reading of its device can break that order. Such a reading waits behind
 * the other one: in memory when the other waits in memory, else in the spool, or in memory until that segment of the
 * spool is stored. All other readings go to the store directly.
 */
export class Spooler {
  readonly #options: SpoolerOptions;
  /** Deliveries that wait in memory. */
  readonly #patient: Lane<Waiting>;
  /** The readings in `#patient` by device; bounded by the limit on readings in flight. */
  readonly #inMemory = new Map<string, InMemory>();
  readonly #spooled = new SpooledDevices();
  readonly #shares = new SpoolShares();
  #unavailable = false;
  #replaying = false;
  /** The number of the newest stored segment. */
  #replayed = -1;
  #waiting: (() => void)[] = [];

  /** Recovers the entries that an earlier process left in the spool. */
  constructor(options: SpoolerOptions) {
    this.#options = options;
    const { spool, accounts, maxBatch, paceMs, signal, onRecovered, onBroken } = options;
    this.#patient = new Lane({
      weigh: ({ delivery }) => delivery.readings.length,
      maxBatch,
      paceMs,
      ownBatch: ({ delivery }) => delivery.ownBatch,
      write: (batch) => this.#storePatiently(batch),
      onBroken,
    });
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    for (const entry of spool.recover()) {
      const decoded = this.#decode(entry);
      const readings = decoded instanceof DecodeError ? NONE : decoded.readings;
      accounts.recover(decoded instanceof DecodeError ? 1 : readings.length);
      this.#spooled.remember(readings);
      onRecovered(readings);
    }
    this.#replay();
  }

  /** The oldest delivery that waits for the store without being spooled. */
  get oldest(): Delivery | undefined {
    return this.#patient.oldest?.delivery;
  }

  /** Resolves when only spooled messages wait for the store. */
  idle(): Promise<void> {
    return this.#patient.idle();
  }

  /** Resolves when each delivery of a batch is stored, spooled or waiting in memory. */
  async write(batch: readonly Delivery[]): Promise<void> {
    const slow = this.#options.isSlow();
    const free = this.#isEmpty && this.#inMemory.size === 0 && !this.#unavailable && !slow;
    await (free ? this.#storeDirectly(batch, slow) : this.#divert(batch, slow));
  }

  async #storeDirectly(batch: readonly Delivery[], slow: boolean): Promise<void> {
    if (batch.length === 0) return;
    try {
      await this.#store(batch, PATIENCE_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#unavailable = true;
      await this.#divert(batch, slow);
    }
  }

  get #isEmpty(): boolean {
    return !this.#replaying && this.#options.spool.empty;
  }

  async #store(batch: readonly Delivery[], patienceMs?: number): Promise<void> {
    await this.#options.store(batch, patienceMs);
    this.#unavailable = false;
  }

  /** Stores the deliveries that may go to the store now, and has the others wait. None overtakes another one of the batch. */
  async #divert(batch: readonly Delivery[], slow: boolean): Promise<void> {
    const direct = new Group();
    const kept = new Group();
    const finish = async () => {
      await this.#keep(kept.take());
      await this.#storeDirectly(direct.take(), slow);
    };
    for (const delivery of batch) {
      const way = this.#wayOf(delivery, slow, kept.isBefore(delivery));
      const overtakes = direct.isBefore(delivery) || (way === 'memory' && kept.isBefore(delivery));
      if (way !== 'store' && overtakes) await finish();
      if (way === 'memory') this.#waitInMemory(delivery);
      else (way === 'store' ? direct : kept).push(delivery);
    }
    await finish();
  }

  /** @param isBehindKept whether it must wait for deliveries that will be spooled */
  #wayOf(delivery: Delivery, slow: boolean, isBehindKept: boolean): 'store' | 'spool' | 'memory' {
    if (this.#isBehindInMemory(delivery)) return 'memory';
    const mustWait = this.#unavailable || isBehindKept || this.#spooled.mustWait(delivery.readings);
    if (delivery.spoolable && (mustWait || slow) && this.#hasRoom(delivery)) return 'spool';
    return mustWait ? 'memory' : 'store';
  }

  #hasRoom(delivery: Delivery): boolean {
    const { spool } = this.#options;
    return this.#shares.hasRoom(delivery, spool.maxBytes - spool.bytes);
  }

  /**
   * Spools a batch. While the spool is full it waits until a replay frees space. When an empty spool cannot take the
   * batch, the batch goes to the store.
   */
  async #keep(batch: readonly Delivery[]): Promise<void> {
    if (batch.length === 0) return;
    const { spool, accounts, onKept, onSpooled } = this.#options;
    const entries = batch.map(({ source, topic, format, payload, part, readings }) => ({
      source,
      topic,
      format,
      payload,
      part,
      received: readings[0]!.received,
    }));
    while (!(await spool.append(entries))) {
      if (this.#isEmpty) {
        // Other lanes can wait for messages that the spool did not take either.
        this.#wake();
        return this.#store(batch);
      }
      await this.#progress();
    }
    this.#shares.add(batch, spool.newest);
    for (const delivery of batch) {
      this.#spooled.remember(delivery.readings);
      accounts.spool(delivery.readings.length);
      onKept(delivery);
    }
    for (const delivery of batch) onSpooled(delivery);
    this.#replay();
  }

  #waitInMemory(delivery: Delivery): void {
    for (const { device, time } of delivery.readings) {
      const known = this.#inMemory.get(device);
      if (known === undefined) this.#inMemory.set(device, { count: 1, newest: time });
      else {
        known.count++;
        known.newest = Math.max(known.newest, time);
      }
    }
    const after = this.#spooled.mustWait(delivery.readings) ? this.#options.spool.newest : -1;
    this.#patient.push({ delivery: compacted(delivery), after });
  }

  async #storePatiently(batch: readonly Waiting[]): Promise<void> {
    const after = batch.reduce((last, waiting) => Math.max(last, waiting.after), -1);
    while (this.#replayed < after && !this.#isEmpty) await this.#progress();
    const deliveries = batch.map(({ delivery }) => delivery);
    await this.#store(deliveries);
    for (const { readings } of deliveries) {
      for (const { device } of readings) {
        const known = this.#inMemory.get(device)!;
        if (--known.count === 0) this.#inMemory.delete(device);
      }
    }
  }

  /** Whether a delivery must wait for deliveries in memory. */
  #isBehindInMemory({ readings }: Delivery): boolean {
    if (this.#inMemory.size === 0) return false;
    return readings.some(
      ({ device, time }) => time <= (this.#inMemory.get(device)?.newest ?? Number.NEGATIVE_INFINITY),
    );
  }

  /** Starts a replay, unless one is running or the spool is empty. */
  #replay(): void {
    if (this.#replaying || this.#options.spool.empty) return;
    this.#replaying = true;
    this.#replayAll().catch((error: unknown) => {
      if (!this.#options.signal.aborted) this.#options.onBroken(error);
    });
  }

  async #replayAll(): Promise<void> {
    const { spool, signal } = this.#options;
    for (let segment = await spool.oldest(); segment !== null; segment = await spool.oldest()) {
      await this.#replaySegment(await spool.read(segment));
      signal.throwIfAborted();
      await spool.remove(segment);
      this.#shares.remove(segment.number);
      this.#replayed = segment.number;
      this.#wake();
    }
    this.#replaying = false;
    // A message may have been spooled after the spool was found empty, while this replay was still marked as running.
    if (!spool.empty) return this.#replay();
    this.#spooled.clear();
    this.#shares.clear();
    this.#wake();
  }

  async #replaySegment(entries: Iterable<SpoolEntry>): Promise<void> {
    const { maxBatch } = this.#options;
    let batch: Delivery[] = [];
    let weight = 0;
    let bytes = 0;
    for (const entry of entries) {
      const delivery = this.#toDelivery(entry);
      if (delivery === null) continue;
      batch.push(delivery);
      weight += delivery.readings.length;
      bytes += bytesInMemory(entry.payload.length, entry.topic, delivery.readings);
      if (weight < maxBatch && bytes < REPLAY_BYTES) continue;
      await this.#replayBatch(batch);
      batch = [];
      weight = 0;
      bytes = 0;
    }
    // Also when it is empty: the last entries can be in quarantine.
    await this.#replayBatch(batch);
  }

  async #replayBatch(batch: readonly Delivery[]): Promise<void> {
    const { accounts, quarantined, signal } = this.#options;
    const begun = performance.now();
    if (batch.length > 0) await this.#store(batch);
    // Messages that the store rejected must be in quarantine before they are removed from the spool.
    await quarantined();
    signal.throwIfAborted();
    // Live readings are waiting: they get the store for the same time as the replay had.
    if (accounts.inFlight > 0) await sleep(Math.min(performance.now() - begun, 1000), undefined, { signal });
  }

  /** Decodes an entry. Readings of sensors without a clock have the times that they had when they were received. */
  #decode(entry: SpoolEntry): Decoded | DecodeError {
    const { router, clocks } = this.#options;
    return decodeMessage(router, entry, entry.received, false, (readings) => clocks.again(readings));
  }

  /**
   * Creates a delivery from an entry. Returns null when there is nothing to store, because routes can have changed
   * since it was spooled.
   */
  #toDelivery(entry: SpoolEntry): Delivery | null {
    const { accounts, quarantine } = this.#options;
    const { received } = entry;
    const decoded = this.#decode(entry);
    const failed = decoded instanceof DecodeError;
    const { source, topic, payload, format } = entry;
    const delivery: Delivery = {
      source,
      topic,
      payload,
      format,
      part: failed ? entry.part : decoded.part,
      readings: failed ? NONE : decoded.readings,
      units: failed ? NO_UNITS : decoded.units,
      // A replay holds one batch at a time, in addition to messages in flight.
      bytes: 0,
      arrived: performance.now(),
      origin: ACKNOWLEDGED,
      token: null,
      counted: false,
      ownBatch: false,
      spoolable: false,
      fromSpool: true,
      isAgain: true,
      replayed: false,
    };
    if (!failed) return delivery.readings.length === 0 ? null : delivery;
    accounts.unspool(1);
    quarantine(delivery, decoded, received);
    return null;
  }

  /** Resolves when a segment of the spool has been stored. Rejects when `signal` is aborted. */
  async #progress(): Promise<void> {
    const { signal } = this.#options;
    if (!signal.aborted) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    signal.throwIfAborted();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
