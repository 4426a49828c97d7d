import { DecodeError, type DeliveryDocument, now, type Reading, type Stage } from '@tidegauge/readings';
import { COUNTS, Histogram, type Logger } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { Accounts } from './accounts.ts';
import { Backoff } from './backoff.ts';
import { Collector } from './collector.ts';
import { Committer, type Rejections } from './commit.ts';
import { bytesInMemory, type Delivery, Joint, type Origin, slimmed } from './delivery.ts';
import { Lane } from './lane.ts';
import { LiveFeed } from './live-feed.ts';
import { decodeParcel, type Parcel } from './parcels.ts';
import type { Selected } from './part.ts';
import type { Poison, Quarantine } from './quarantine.ts';
import { Recent } from './recent.ts';
import type { Router } from './routes.ts';
import { SequenceLedger } from './sequence-ledger.ts';
import type { Spool } from './spool.ts';
import { Spooler } from './spooler.ts';

export interface PipelineOptions {
  readonly store: Store;
  readonly router: Router;
  readonly quarantine: Quarantine;
  /** Where messages wait while the store is away; null lets the broker wait. */
  readonly spool: Spool | null;
  readonly logger: Logger;
  /** Readings, at most, in one write. */
  readonly maxBatch: number;
  /** Least time between two writes of one writer under load, milliseconds. */
  readonly paceMs: number;
  /** Readings in flight above which `onFull` asks the source to stop. */
  readonly maxInFlight: number;
  /** Bytes in flight, likewise: of whole packets and of what is made of them. */
  readonly maxInFlightBytes: number;
  /** Told true when a bound is reached, and false when half of both is free again, unless it stops. */
  readonly onFull: (full: boolean) => void;
  /** Told once when storing cannot go on without a person. */
  readonly onBroken: (error: unknown) => void;
}

/** One message as the broker hands it over. */
export interface Inbound {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Bytes of the whole packet. */
  readonly size: number;
}

/** A message of the broker that is no PUBLISH one can decode. */
export interface Undecodable {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly reason: 'malformed' | 'too_large' | 'topic_too_long';
  readonly problem: string;
  /** Bytes of the whole packet. */
  readonly size: number;
}

interface Condemned {
  readonly poison: Poison;
  readonly delivery: Delivery;
  readonly outcome: DeliveryDocument;
}

/** Written into the quarantine at once: some 1,000 small messages. While SQLite writes, nothing else is done. */
const QUARANTINE_BATCH_BYTES = 768 * 1024;
const NONE: readonly Reading[] = [];
const NO_ROWS: ReadonlySet<number> = new Set();
const NOTHING: DeliveryDocument = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };
const UNREADABLE: DeliveryDocument = { received: 1, stored: 0, duplicate: 0, quarantined: 1 };
/** For how long a bound must have been reached before the store is taken to be too slow. */
const OVERLOAD_MS = 5000;
/** The origin of what was acknowledged on arrival. */
const NOBODY: Origin = { settled() {} };

/**
 * From a message to a commit. A message is resolved to a route, decoded and put into a lane; lanes write
 * natural batches; what cannot be decoded or stored goes to quarantine through a lane of its own, so that
 * poison is batched like anything else. The origin is told after the commit, never before (but for
 * `ack: received`, and for what the spool keeps meanwhile). Messages of one device keep their order, because
 * corrections rely on it.
 */
export class Pipeline {
  readonly accounts = new Accounts();
  readonly sequences = new SequenceLedger();
  readonly feed = new LiveFeed();
  readonly stages: Readonly<Record<Stage, Histogram>> = {
    travel: new Histogram(),
    queue: new Histogram(),
    store: new Histogram(),
    ack: new Histogram(),
    end_to_end: new Histogram(),
  };
  /** The stages' last minute. */
  readonly recent = new Recent(this.stages);
  readonly batchReadings = new Histogram(COUNTS);
  /** By how much a sensor's clock was ahead of ours at most since this was last reset, seconds. */
  clockLead = 0;

  readonly #options: PipelineOptions;
  readonly #abort = new AbortController();
  readonly #collector: Collector;
  readonly #committer: Committer;
  readonly #lanes: readonly Lane<Delivery>[];
  readonly #condemned: Lane<Condemned>;
  readonly #spooler: Spooler | null;
  readonly #broken = Promise.withResolvers<void>();
  #lastReceived = 0;
  #bytes = 0;
  #full = false;
  #stopping = false;
  #fullSince = 0;
  #quarantineTrouble: string | null = null;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#collector = new Collector(options.maxInFlightBytes);
    const { store, logger } = options;
    const onBroken = (error: unknown) => {
      this.#broken.resolve();
      options.onBroken(error);
    };
    this.#committer = new Committer(store, logger, this.#abort.signal);
    const maxBatch = Math.min(options.maxBatch, store.capabilities.maxBatch);
    this.#lanes = Array.from(
      { length: store.capabilities.writers },
      () =>
        new Lane<Delivery>({
          weigh: (delivery) => delivery.readings.length,
          maxBatch,
          paceMs: options.paceMs,
          alone: (delivery) => delivery.alone,
          write: (batch) => this.#spooler?.write(batch) ?? this.#store(batch),
          onBroken,
        }),
    );
    this.#condemned = new Lane<Condemned>({
      weigh: ({ poison }) => bytesInMemory(poison.payload.length, poison.topic, 1),
      maxBatch: QUARANTINE_BATCH_BYTES,
      paceMs: options.paceMs,
      write: (batch) => this.#keep(batch),
      onBroken,
    });
    this.#spooler = options.spool === null ? null : this.#openSpool(options.spool, maxBatch, onBroken);
  }

  get spool(): Spool | null {
    return this.#options.spool;
  }

  /** Why readings cannot be settled at present; null while they can. */
  get trouble(): string | null {
    return this.#committer.failing ?? this.#quarantineTrouble;
  }

  /** True while a bound on what is in flight is reached. */
  get full(): boolean {
    return this.#full;
  }

  /** True once nothing more should be taken. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** Age of the oldest message that is neither stored nor quarantined yet, seconds. */
  get oldestUnstoredSeconds(): number {
    let oldest = this.#condemned.oldest?.delivery.arrived ?? Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes)
      oldest = Math.min(oldest, lane.oldest?.arrived ?? Number.POSITIVE_INFINITY);
    oldest = Math.min(oldest, this.#spooler?.oldest?.arrived ?? Number.POSITIVE_INFINITY);
    const waiting = oldest === Number.POSITIVE_INFINITY ? 0 : (performance.now() - oldest) / 1000;
    return Math.max(waiting, this.spooledSeconds);
  }

  /** Age of the oldest message in the spool, seconds. */
  get spooledSeconds(): number {
    const since = this.#options.spool?.since ?? null;
    return since === null ? 0 : Math.max(0, (now() - since) / 1e6);
  }

  /** Takes a message of the broker; never throws. */
  accept(message: Inbound, origin: Origin): void {
    const { topic, payload } = message;
    this.accounts.messages++;
    this.#collector.received(message.size);
    const { route, device, metric, error } = this.#options.router.resolve(topic);
    if (route !== null) route.messages[message.qos]++;
    const format = route?.format ?? 'auto';
    const skipped = message.retain && route?.retained === 'skip';
    if (skipped) this.accounts.retainedSkipped++;
    const received = this.#receiveTime();
    const decoded = skipped ? NONE : (error ?? route!.decode(payload, { device, metric, received }));
    const readings = decoded instanceof DecodeError ? NONE : decoded;
    const early = route?.ack === 'received';
    const delivery: Delivery = {
      source: 'mqtt',
      topic,
      payload,
      format,
      part: null,
      readings,
      bytes: bytesInMemory(message.size, topic, readings.length),
      arrived: performance.now(),
      origin: early ? NOBODY : origin,
      token: message,
      alone: false,
      spoolable: route?.ack !== 'stored',
      revived: false,
      replayed: false,
    };
    if (early) origin.settled(delivery, null);
    this.#enter(delivery, decoded, received);
  }

  /** Takes a message that the MQTT session could not decode, into quarantine; never throws. */
  refuse(message: Undecodable, origin: Origin): void {
    const { topic, payload, reason, problem, size } = message;
    this.accounts.messages++;
    this.#collector.received(size);
    const delivery: Delivery = {
      source: 'mqtt',
      topic,
      payload,
      format: 'auto',
      part: null,
      readings: NONE,
      // Of a packet that is too large, nothing but the topic was kept.
      bytes: bytesInMemory(payload.length === 0 ? 0 : size, topic, 0),
      arrived: performance.now(),
      origin,
      token: message,
      alone: false,
      spoolable: false,
      revived: false,
      replayed: false,
    };
    const error =
      reason === 'topic_too_long'
        ? new DecodeError('invalid_name', `${problem}: publish to a shorter one, or raise MAX_TOPIC`)
        : new DecodeError(reason, problem);
    this.#enter(delivery, error, this.#receiveTime());
  }

  /** Takes a payload that came by HTTP; resolves when it is settled, with what became of it. */
  deliver(parcel: Parcel): Promise<DeliveryDocument> {
    const received = this.#receiveTime();
    const decoded = decodeParcel(this.#options.router, parcel, received);
    return this.#deliver(parcel, decoded, received, false);
  }

  /**
   * Takes what was in quarantine; resolves when it is settled. A reading of the same identity that was received
   * later stays: the replayed one then counts as a duplicate.
   */
  replay(
    { received, source, topic, payload, format }: Poison,
    selected: Selected,
  ): Promise<DeliveryDocument> {
    const parcel = { source, topic, payload, format, part: selected.part };
    return this.#deliver(parcel, selected, received, true);
  }

  #deliver(
    parcel: Parcel,
    selected: Selected | DecodeError,
    received: number,
    replayed: boolean,
  ): Promise<DeliveryDocument> {
    const decoded = selected instanceof DecodeError ? selected : selected.readings;
    const readings = decoded instanceof DecodeError ? NONE : decoded;
    return new Promise((resolve) => {
      const delivery: Delivery = {
        ...parcel,
        readings,
        bytes: bytesInMemory(parcel.payload.length, parcel.topic, readings.length),
        arrived: performance.now(),
        origin: { settled: (_delivery, outcome) => resolve(outcome ?? NOTHING) },
        token: null,
        alone: true,
        spoolable: false,
        revived: false,
        replayed,
      };
      this.#enter(delivery, decoded, received);
    });
  }

  /** Settles what is in flight and takes no more: from now on the source is not asked to go on. */
  stop(): void {
    this.#stopping = true;
    this.#options.onFull(true);
  }

  /** Resolves when nothing is in flight, or nothing can be done about it. */
  idle(): Promise<void> {
    const stored = Promise.all(this.#lanes.map((lane) => lane.idle()));
    const apart = stored.then(() => this.#spooler?.idle());
    return Promise.race([apart.then(() => this.#condemned.idle()), this.#broken.promise]);
  }

  /** Stops waiting for a store that is away; what is in flight stays unacknowledged. */
  abort(): void {
    this.#abort.abort();
    this.feed.close();
  }

  #openSpool(spool: Spool, maxBatch: number, onBroken: (error: unknown) => void): Spooler {
    return new Spooler({
      spool,
      router: this.#options.router,
      accounts: this.accounts,
      maxBatch,
      paceMs: this.#options.paceMs,
      signal: this.#abort.signal,
      isSlow: () => this.#full && performance.now() - this.#fullSince > OVERLOAD_MS,
      store: (batch, patienceMs) => this.#store(batch, patienceMs),
      condemn: (delivery, error, received) => this.#condemn(delivery, error, received),
      quarantined: () => this.#condemned.idle(),
      onKept: (readings) => this.#recordSequences(readings),
      onSpooled: (delivery) => this.#settle(delivery, null),
      onBroken,
    });
  }

  /**
   * The time of a message that brings none must differ from its neighbours', for it becomes part of an
   * identity: two plain values of one metric in one microsecond would be one reading.
   */
  #receiveTime(): number {
    this.#lastReceived = Math.max(now(), this.#lastReceived + 1);
    return this.#lastReceived;
  }

  #enter(delivery: Delivery, decoded: readonly Reading[] | DecodeError, received: number): void {
    if (!(decoded instanceof DecodeError)) {
      if (decoded.length === 0) {
        delivery.origin.settled(delivery, NOTHING);
        return;
      }
      this.accounts.receive(decoded.length);
      this.recent.pass(delivery.arrived);
      this.#observeClock(decoded[0]!);
      this.#distribute(delivery);
    } else {
      this.accounts.receive(1);
      this.#condemn(delivery, decoded, received);
    }
    this.#bytes += delivery.bytes;
    const { maxInFlight, maxInFlightBytes, onFull } = this.#options;
    if (!this.#full && (this.accounts.inFlight >= maxInFlight || this.#bytes >= maxInFlightBytes)) {
      this.#full = true;
      this.#fullSince = performance.now();
      onFull(true);
    }
  }

  #condemn(delivery: Delivery, { reason, message, position }: DecodeError, received: number): void {
    const slim = slimmed(delivery);
    const { source, topic, payload, format, part } = slim;
    const parcel = { source, topic, payload, format, part };
    const poison = { ...parcel, received, reason, detail: message, position, readings: 1 };
    this.#condemned.push({ poison, delivery: slim, outcome: UNREADABLE });
  }

  #observeClock({ time, received, quality }: Reading): void {
    if (time > received) this.clockLead = Math.max(this.clockLead, (time - received) / 1e6);
    if (quality === 'ok' && time !== received) this.stages.travel.observe((received - time) / 1e6);
  }

  /** Gives each lane the readings of its devices: a message of several devices is cut into parts. */
  #distribute(delivery: Delivery): void {
    const lane = this.#commonLane(delivery.readings);
    if (lane === null) this.#divide(delivery);
    else lane.push(delivery);
  }

  /** The lane of all these readings; null when they have several. */
  #commonLane(readings: readonly Reading[]): Lane<Delivery> | null {
    const lanes = this.#lanes;
    if (lanes.length === 1) return lanes[0]!;
    let { device } = readings[0]!;
    const first = laneOf(device, lanes.length);
    for (let index = 1; index < readings.length; index++) {
      if (readings[index]!.device === device) continue;
      device = readings[index]!.device;
      if (laneOf(device, lanes.length) !== first) return null;
    }
    return lanes[first]!;
  }

  #divide(delivery: Delivery): void {
    // It stays in memory until the last of its parts is settled.
    const whole = slimmed(delivery);
    const byLane = new Map<number, number[]>();
    for (const [index, { device }] of whole.readings.entries()) {
      const lane = laneOf(device, this.#lanes.length);
      const known = byLane.get(lane);
      if (known === undefined) byLane.set(lane, [index]);
      else known.push(index);
    }
    const origin = new Joint(byLane.size, (outcome) => this.#settle(whole, outcome));
    // Out of quarantine it can be a part already.
    const of = whole.part?.of ?? whole.readings.length;
    for (const [lane, indexes] of byLane) {
      const readings = indexes.map((index) => whole.readings[index]!);
      const places = indexes.map((index) => placeOf(whole, index));
      this.#lanes[lane]!.push({ ...whole, readings, part: { of, places }, bytes: 0, origin });
    }
  }

  async #store(batch: readonly Delivery[], patienceMs?: number): Promise<void> {
    const begun = performance.now();
    this.recent.pass(begun);
    const readings: Reading[] = [];
    for (const delivery of batch) {
      for (const reading of delivery.readings) readings.push(reading);
      this.stages.queue.observe((begun - delivery.arrived) / 1000, delivery.readings.length);
    }
    this.batchReadings.observe(readings.length);
    const { stored, duplicate, rejected, skipped } = batch[0]!.replayed
      ? await this.#committer.commitOlder(readings)
      : { ...(await this.#committer.commit(readings, patienceMs)), skipped: NO_ROWS };
    // What comes from the spool counts as spooled until the store has it.
    if (batch[0]!.revived) this.accounts.unspool(readings.length);
    const committed = performance.now();
    this.recent.pass(committed);
    this.stages.store.observe((committed - begun) / 1000, readings.length);
    this.accounts.store(stored, duplicate);
    const all = rejected.size + skipped.size === 0;
    this.feed.push(
      all ? readings : readings.filter((_, index) => !rejected.has(index) && !skipped.has(index)),
    );
    let outcome: DeliveryDocument | null = null;
    if (batch[0]!.alone)
      outcome = { received: readings.length, stored, duplicate, quarantined: rejected.size };
    let first = 0;
    const finished = now();
    for (const delivery of batch) {
      this.#account(delivery, first, rejected, finished);
      const refused = rejected.size === 0 ? null : refusal(delivery, first, rejected);
      if (refused === null) this.#settle(delivery, outcome);
      else {
        const slim = slimmed(delivery);
        const poison = { ...refused, payload: slim.payload };
        this.#condemned.push({ poison, delivery: slim, outcome: outcome ?? NOTHING });
      }
      first += delivery.readings.length;
    }
    this.stages.ack.observe((performance.now() - committed) / 1000, readings.length);
  }

  /** Sequence numbers and latency of what was stored. */
  #account({ readings, revived }: Delivery, first: number, rejected: Rejections, finished: number): void {
    if (!revived) {
      const isStored = (_: Reading, index: number) => !rejected.has(first + index);
      this.#recordSequences(rejected.size === 0 ? readings : readings.filter(isStored));
    }
    const { time, quality } = readings[0]!;
    if (quality === 'ok') this.stages.end_to_end.observe((finished - time) / 1e6, readings.length);
  }

  /** A message's readings of one device share a number at times. */
  #recordSequences(readings: readonly Reading[]): void {
    for (let index = 0; index < readings.length; index++) {
      const { device, boot, seq } = readings[index]!;
      if (boot === null || seq === null) continue;
      const before = readings[index - 1];
      if (before !== undefined && before.seq === seq && before.boot === boot && before.device === device)
        continue;
      this.sequences.record(device, boot, seq);
    }
  }

  async #keep(batch: readonly Condemned[]): Promise<void> {
    const { quarantine, logger } = this.#options;
    const backoff = new Backoff();
    for (;;) {
      try {
        const dropped = quarantine.add(batch.map(({ poison }) => poison));
        if (dropped > 0) logger.warn({ dropped }, 'quarantine is full: the oldest items were dropped');
        this.#quarantineTrouble = null;
        break;
      } catch (error) {
        if (this.#quarantineTrouble === null)
          logger.error({ err: error }, 'quarantine cannot be written, retrying');
        this.#quarantineTrouble = `the quarantine cannot be written: ${(error as Error).message}`;
        await backoff.wait(this.#abort.signal);
      }
    }
    for (const { poison, delivery, outcome } of batch) {
      this.accounts.quarantine(poison.reason, poison.readings);
      this.#settle(delivery, outcome);
    }
  }

  #settle(delivery: Delivery, outcome: DeliveryDocument | null): void {
    this.#bytes -= delivery.bytes;
    delivery.origin.settled(delivery, outcome);
    const { maxInFlight, maxInFlightBytes, onFull } = this.#options;
    if (this.#full && this.accounts.inFlight <= maxInFlight / 2 && this.#bytes <= maxInFlightBytes / 2) {
      this.#full = false;
      if (!this.#stopping) onFull(false);
    }
  }
}

/** All readings of a device take one lane, so that they keep their order. */
function laneOf(device: string, lanes: number): number {
  let hash = 0;
  for (let index = 0; index < device.length; index++) hash = (hash * 31 + device.charCodeAt(index)) | 0;
  return (hash >>> 0) % lanes;
}

/** The place in its message's payload of a delivery's reading. */
function placeOf({ part }: Delivery, index: number): number {
  return part === null ? index : part.places[index]!;
}

/** What of a delivery the store refused, as one quarantine item; null when nothing was. */
function refusal(delivery: Delivery, first: number, rejected: Rejections): Poison | null {
  const { source, topic, payload, format, readings } = delivery;
  const indexes = [...readings.keys()].filter((index) => rejected.has(first + index));
  const index = indexes[0];
  if (index === undefined) return null;
  const { device, metric, received } = readings[index]!;
  const error = rejected.get(first + index)!;
  const isRefused = error.code === 'REJECTED';
  const of = delivery.part?.of ?? readings.length;
  const places = indexes.map((each) => placeOf(delivery, each));
  return {
    source,
    topic,
    payload,
    format,
    part: places.length === of ? null : { of, places },
    received,
    reason: isRefused ? 'rejected' : 'unexpected',
    detail: `the store ${isRefused ? 'refused' : 'failed on'} ${device} ${metric}: ${error.message}`,
    position: of === 1 ? null : `reading ${places[0]! + 1} of ${of}`,
    readings: indexes.length,
  };
}
