import { setTimeout as sleep } from 'node:timers/promises';
import { DecodeError, type Reading } from '@tidegauge/readings';
import type { Accounts } from './accounts.ts';
import { StoreAway } from './commit.ts';
import { type Delivery, type Origin, slimmed } from './delivery.ts';
import { Lane } from './lane.ts';
import { decodeParcel } from './parcels.ts';
import type { Router } from './routes.ts';
import type { Spool } from './spool.ts';
import type { SpoolEntry } from './spool-entry.ts';

/** How long the store may be away before messages go to the spool, so that its restart is not worth a write. */
const PATIENCE_MS = 1000;
/** Bytes of devices whose spooled times are remembered one by one; beyond it, all of them wait for the spool. */
const MOST_DEVICE_BYTES = 8 * 1024 * 1024;
/** What a device takes there besides its name. */
const DEVICE_BYTES = 100;

/** Its message was acknowledged when it was spooled. */
const ACKNOWLEDGED: Origin = { settled() {} };
const NONE: readonly Reading[] = [];

export interface SpoolerOptions {
  readonly spool: Spool;
  readonly router: Router;
  readonly accounts: Accounts;
  /** Readings, at most, in one write. */
  readonly maxBatch: number;
  readonly paceMs: number;
  /** Ends waiting; what was not spooled stays unacknowledged. */
  readonly signal: AbortSignal;
  /** True while the store takes less than comes. */
  readonly isSlow: () => boolean;
  /** Brings a batch into the store; rejects with StoreAway when that takes more patience than given. */
  readonly store: (batch: readonly Delivery[], patienceMs?: number) => Promise<void>;
  /** Sends what cannot be decoded to quarantine. */
  readonly condemn: (delivery: Delivery, error: DecodeError, received: number) => void;
  /** Resolves when all that was sent to quarantine is there. */
  readonly quarantined: () => Promise<void>;
  /** Told what the spool holds: once of each reading, when it is fsynced or was found at the start. */
  readonly onKept: (readings: readonly Reading[]) => void;
  /** Told of each delivery that may be acknowledged, since it is in the spool. */
  readonly onSpooled: (delivery: Delivery) => void;
  readonly onBroken: (error: unknown) => void;
}

/** A delivery that waits apart, and the last segment of the spool that must be stored before it. */
interface Waiting {
  readonly delivery: Delivery;
  /** -1 when it waits for nothing but the store. */
  readonly after: number;
}

/** Readings of one device that wait apart. */
interface Apart {
  count: number;
  /** Time of the newest. */
  newest: number;
}

/**
 * Writes batches into the store, or into the spool while the store is away or too slow, and brings the spool
 * into the store, oldest first, beside live traffic. What must not be acknowledged from the spool (HTTP, `ack:
 * stored`) waits apart instead.
 *
 * Readings of one identity must reach the store in the order in which they came. Identity includes time, so only
 * a reading that is not newer than one of its device that waits already can break that order. Such a reading
 * waits behind the other one: apart when the other waits apart, else in the spool, or apart until that segment
 * of the spool is stored. All other readings go straight on.
 */
export class Spooler {
  readonly #options: SpoolerOptions;
  /** What waits apart. */
  readonly #patient: Lane<Waiting>;
  /** What waits in `#patient`, by device; bounded by what may be in flight. */
  readonly #apart = new Map<string, Apart>();
  /** Time of the newest spooled reading by device. */
  readonly #newest = new Map<string, number>();
  #newestBytes = 0;
  #crowded = false;
  #away = false;
  #replaying = false;
  /** Number of the newest segment that was stored. */
  #replayed = -1;
  #waiting: (() => void)[] = [];

  /** Takes up what an earlier process left in the spool. */
  constructor(options: SpoolerOptions) {
    this.#options = options;
    const { spool, router, accounts, maxBatch, paceMs, signal, onKept, onBroken } = options;
    this.#patient = new Lane({
      weigh: ({ delivery }) => delivery.readings.length,
      maxBatch,
      paceMs,
      alone: ({ delivery }) => delivery.alone,
      write: (batch) => this.#storePatiently(batch),
      onBroken,
    });
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    for (const entry of spool.recover()) {
      const decoded = decodeParcel(router, entry, entry.received);
      const readings = decoded instanceof DecodeError ? NONE : decoded.readings;
      accounts.recover(decoded instanceof DecodeError ? 1 : readings.length);
      this.#remember(readings);
      onKept(readings);
    }
    this.#replay();
  }

  /** What waits for the store without being spooled. */
  get oldest(): Delivery | undefined {
    return this.#patient.oldest?.delivery;
  }

  /** Resolves when nothing waits for the store but what is spooled. */
  idle(): Promise<void> {
    return this.#patient.idle();
  }

  /** Resolves when each delivery of a lane's batch is stored, spooled, or waits apart. */
  async write(batch: readonly Delivery[]): Promise<void> {
    const slow = this.#options.isSlow();
    const free = this.#isEmpty && this.#apart.size === 0 && !this.#away && !slow;
    const direct = free ? batch : await this.#divert(batch, slow);
    if (direct.length === 0) return;
    try {
      await this.#store(direct, PATIENCE_MS);
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error;
      this.#away = true;
      await this.#divert(direct, slow);
    }
  }

  get #isEmpty(): boolean {
    return !this.#replaying && this.#options.spool.empty;
  }

  async #store(batch: readonly Delivery[], patienceMs?: number): Promise<void> {
    await this.#options.store(batch, patienceMs);
    this.#away = false;
  }

  /** @returns what may go to the store now. */
  async #divert(batch: readonly Delivery[], slow: boolean): Promise<readonly Delivery[]> {
    const direct: Delivery[] = [];
    const kept: Delivery[] = [];
    for (const delivery of batch) {
      const isBehind = this.#isBehind(delivery);
      const mustWait = this.#away || isBehind;
      if (this.#isBehindApart(delivery)) this.#waitApart(delivery, isBehind);
      else if (delivery.spoolable && (mustWait || slow)) kept.push(delivery);
      else if (mustWait) this.#waitApart(delivery, isBehind);
      else direct.push(delivery);
    }
    if (kept.length > 0) await this.#keep(kept);
    return direct;
  }

  /** While the spool is full it waits until replay has made room; an empty one that takes nothing leaves the store. */
  async #keep(batch: readonly Delivery[]): Promise<void> {
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
      if (this.#isEmpty) return this.#store(batch);
      await this.#progress();
    }
    for (const delivery of batch) {
      this.#remember(delivery.readings);
      accounts.spool(delivery.readings.length);
      onKept(delivery.readings);
      onSpooled(delivery);
    }
    this.#replay();
  }

  #waitApart(delivery: Delivery, isBehind: boolean): void {
    for (const { device, time } of delivery.readings) {
      const known = this.#apart.get(device);
      if (known === undefined) this.#apart.set(device, { count: 1, newest: time });
      else {
        known.count++;
        known.newest = Math.max(known.newest, time);
      }
    }
    this.#patient.push({ delivery: slimmed(delivery), after: isBehind ? this.#options.spool.newest : -1 });
  }

  async #storePatiently(batch: readonly Waiting[]): Promise<void> {
    const after = batch.reduce((last, waiting) => Math.max(last, waiting.after), -1);
    while (this.#replayed < after && !this.#isEmpty) await this.#progress();
    const deliveries = batch.map(({ delivery }) => delivery);
    await this.#store(deliveries);
    for (const { readings } of deliveries) {
      for (const { device } of readings) {
        const known = this.#apart.get(device)!;
        if (--known.count === 0) this.#apart.delete(device);
      }
    }
  }

  /** Whether a delivery has to wait for what waits apart. */
  #isBehindApart({ readings }: Delivery): boolean {
    if (this.#apart.size === 0) return false;
    return readings.some(
      ({ device, time }) => time <= (this.#apart.get(device)?.newest ?? Number.NEGATIVE_INFINITY),
    );
  }

  /** Whether a delivery has to wait for what is spooled. */
  #isBehind({ readings }: Delivery): boolean {
    if (this.#crowded) return true;
    return readings.some(
      ({ device, time }) => time <= (this.#newest.get(device) ?? Number.NEGATIVE_INFINITY),
    );
  }

  #remember(readings: readonly Reading[]): void {
    if (this.#crowded) return;
    for (const { device, time } of readings) {
      const known = this.#newest.get(device);
      if (known === undefined) this.#newestBytes += DEVICE_BYTES + 2 * device.length;
      if (known === undefined || time > known) this.#newest.set(device, time);
    }
    if (this.#newestBytes > MOST_DEVICE_BYTES) this.#crowded = true;
  }

  /** Begins to replay, unless that is under way or there is nothing. */
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
      this.#replayed = segment.number;
      this.#wake();
    }
    this.#replaying = false;
    // Something may have been kept since the spool was found empty; it has then not found a replay to start.
    if (!spool.empty) return this.#replay();
    this.#newest.clear();
    this.#newestBytes = 0;
    this.#crowded = false;
    this.#wake();
  }

  async #replaySegment(entries: readonly SpoolEntry[]): Promise<void> {
    const { maxBatch, accounts, quarantined, signal } = this.#options;
    let next = 0;
    while (next < entries.length) {
      const batch: Delivery[] = [];
      for (let weight = 0; next < entries.length && weight < maxBatch; next++) {
        const delivery = this.#revive(entries[next]!);
        if (delivery === null) continue;
        batch.push(delivery);
        weight += delivery.readings.length;
      }
      const begun = performance.now();
      if (batch.length > 0) await this.#store(batch);
      // What the store refused has to be in quarantine before it may leave the spool.
      await quarantined();
      signal.throwIfAborted();
      // Live readings are waiting: the store is theirs for as long as it was ours.
      if (accounts.inFlight > 0)
        await sleep(Math.min(performance.now() - begun, 1000), undefined, { signal });
    }
  }

  /** A delivery again; null when there is nothing to store: routes may have changed since it was spooled. */
  #revive(entry: SpoolEntry): Delivery | null {
    const { router, accounts, condemn } = this.#options;
    const { received } = entry;
    const decoded = decodeParcel(router, entry, received);
    const failed = decoded instanceof DecodeError;
    const { source, topic, payload, format } = entry;
    const delivery: Delivery = {
      source,
      topic,
      payload,
      format,
      part: failed ? entry.part : decoded.part,
      readings: failed ? NONE : decoded.readings,
      // Replay holds one batch at a time, beside what is in flight.
      bytes: 0,
      arrived: performance.now(),
      origin: ACKNOWLEDGED,
      token: null,
      alone: false,
      spoolable: false,
      revived: true,
      replayed: false,
    };
    if (!failed) return delivery.readings.length === 0 ? null : delivery;
    accounts.unspool(1);
    condemn(delivery, decoded, received);
    return null;
  }

  /** Resolves when a part of the spool has been stored, or all of it. Rejects when waiting is ended. */
  async #progress(): Promise<void> {
    const { signal } = this.#options;
    if (!signal.aborted) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    signal.throwIfAborted();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
