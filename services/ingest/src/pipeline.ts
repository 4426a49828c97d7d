import {
  type Declared,
  DecodeError,
  type DeliveryDocument,
  now,
  type Reading,
  type Stage,
  type StatefulResult,
} from '@tidegauge/readings';
import { COUNTS, Histogram, type Logger } from '@tidegauge/service';
import { isDiskFull, type SeriesUnit, type Store, type StoreError } from '@tidegauge/storage';
import { Accounts } from './accounts.ts';
import { BufferCollector } from './buffer-collector.ts';
import { type CommitResult, Committer, isOfRows, type Rejections } from './committer.ts';
import { bytesInMemory, type Delivery, type DeliveryKind, MqttDelivery, type Origin } from './delivery.ts';
import { DeviceLanes } from './device-lanes.ts';
import { countOf, InFlight, type InFlightBounds } from './in-flight.ts';
import type { Hold } from './lane.ts';
import type { LedgerFile } from './ledger/ledger-file.ts';
import { SequenceLedger } from './ledger/sequence-ledger.ts';
import { SequenceRecorder } from './ledger/sequence-recorder.ts';
import { LiveFeed } from './live-feed.ts';
import { NewHours } from './new-hours.ts';
import type { Quarantine } from './quarantine.ts';
import type { QuarantineEntry } from './quarantine-rows.ts';
import { QuarantineWriter, refusal } from './quarantine-writer.ts';
import { type Decoded, decodeMessage, type RawMessage } from './raw-message.ts';
import { ReceiveTimes } from './receive-times.ts';
import { RecentHistograms } from './recent-histograms.ts';
import type { Router } from './routes.ts';
import { SensorClocks } from './sensor-clocks.ts';
import { SeriesFilter } from './series-filter.ts';
import { NO_UNITS, nameOf } from './series-units.ts';
import type { Spool } from './spool.ts';
import { Spooler } from './spooler.ts';

export interface PipelineOptions extends InFlightBounds {
  readonly store: Store;
  /** Why the store is not in use; null while it is. Default: it is in use. */
  readonly storeTrouble?: () => StoreError | null;
  readonly router: Router;
  /** The name of this process among those that share messages. Default: it shares none. */
  readonly replica?: string | null;
  readonly quarantine: Quarantine;
  /** Stores messages while the store is unavailable. With null the messages wait at the broker. */
  readonly spool: Spool | null;
  readonly logger: Logger;
  /** The ledger of sequence numbers. Default: an empty one. */
  readonly sequences?: SequenceLedger;
  /** The clocks of sensors that were never set. Default: none is known. */
  readonly clocks?: SensorClocks;
  /**
   * Called when numbers were recorded, before their messages are acknowledged, and when a sensor declared numbers gone.
   */
  readonly onSequences?: LedgerFile['flush'];
  /** Registers devices, which can be known. It can be repeated. Default: with their names. */
  readonly register?: (names: readonly string[]) => Promise<void>;
  /** Readings in one write at most. */
  readonly maxBatch: number;
  /** Least time between two writes of one writer under load, milliseconds. */
  readonly paceMs: number;
  /** How long messages wait for others while no sender waits for them. Default: they do not. */
  readonly hold?: Hold | undefined;
  /** Publishes a message that a decoder with state sends, such as a request for births. Default: none is sent. */
  readonly onReply?: (reply: NonNullable<StatefulResult['reply']>) => void;
  /**
   * Called with the readings of each batch after their commit, duplicates included, and with those of their units that the
   * store may not have had. They are acknowledged when it resolves. It does not reject. Default: nothing is called.
   */
  readonly onCommitted?: (readings: readonly Reading[], units: readonly SeriesUnit[]) => Promise<void>;
  /**
   * Called with the readings of each batch after they were stored and acknowledged, and with those that a filter left
   * out. It must return soon.
   */
  readonly onStored?: (readings: readonly Reading[]) => void;
  /** Called once when readings can no longer be stored without an operator. */
  readonly onBroken: (error: unknown) => void;
}

/** A message from the broker. */
export interface Inbound {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Whether it may have been sent before. */
  readonly dup?: boolean;
  /** Bytes of the whole packet. */
  readonly size: number;
}

/** A message from the broker that could not be decoded as a PUBLISH packet. */
export interface Undecodable {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly reason: 'malformed' | 'too_large' | 'topic_too_long';
  readonly problem: string;
  /** Bytes of the whole packet. */
  readonly size: number;
}

const NONE: readonly Reading[] = [];
const NO_ROWS: ReadonlySet<number> = new Set();
const NOTHING: DeliveryDocument = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };
/** How long a bound must have been reached before the store counts as too slow. */
const OVERLOAD_MS = 5000;
/** The kinds of messages of no route, and of those that were not decoded. */
const NO_ROUTE_KIND: DeliveryKind = { format: 'auto', ack: 'durable' };
const REFUSED_KIND: DeliveryKind = { format: 'auto', ack: 'stored' };

/**
 * Stores messages. Each message is resolved to a route, decoded and added to a lane. Lanes write batches. Messages
 * that cannot be decoded or stored go to quarantine through a separate lane, so they are batched too. The origin is
 * notified after the commit, never before, except with `ack: received` and for messages that the spool keeps.
 * Messages of one device keep their order, because corrections depend on it.
 */
export class Pipeline {
  readonly accounts = new Accounts();
  readonly sequences: SequenceLedger;
  readonly feed: LiveFeed;
  readonly stages: Readonly<Record<Stage, Histogram>> = {
    travel: new Histogram(),
    queue: new Histogram(),
    store: new Histogram(),
    ack: new Histogram(),
    end_to_end: new Histogram(),
  };
  /** The durations of the stages in the last minute. */
  readonly recent = new RecentHistograms(this.stages);
  readonly batchReadings = new Histogram(COUNTS);
  /** The largest time by which a sensor's clock was ahead of this process's clock since the last reset, seconds. */
  clockLead = 0;

  readonly #options: PipelineOptions;
  readonly #abort = new AbortController();
  readonly #collector: BufferCollector;
  readonly #committer: Committer;
  readonly #lanes: DeviceLanes;
  readonly #quarantine: QuarantineWriter;
  readonly #inFlight: InFlight;
  readonly #recorder: SequenceRecorder;
  readonly #spooler: Spooler | null;
  readonly #clocks: SensorClocks;
  readonly #broken = Promise.withResolvers<void>();
  readonly #filter = new SeriesFilter();
  readonly #newHours: NewHours;
  readonly #declared: Declared = (device, boot, kept) => this.#recorder.declare(device, boot, kept);
  readonly #receiveTimes: ReceiveTimes;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.sequences = options.sequences ?? new SequenceLedger();
    this.#recorder = new SequenceRecorder(this.sequences, (oldest, late) =>
      options.onSequences?.(oldest, late),
    );
    this.#inFlight = new InFlight(options, this.accounts);
    this.#clocks = options.clocks ?? new SensorClocks();
    this.#receiveTimes = new ReceiveTimes(options.replica ?? null);
    this.feed = new LiveFeed(options.router.units.unitOf);
    this.#collector = new BufferCollector(options.maxInFlightBytes);
    const { store, logger } = options;
    this.#newHours = new NewHours(logger);
    const onBroken = (error: unknown) => {
      this.#broken.resolve();
      options.onBroken(error);
    };
    this.#committer = new Committer(store, logger, this.#abort.signal, options.register);
    const maxBatch = Math.min(options.maxBatch, store.capabilities.maxBatch);
    const settle = (delivery: Delivery, outcome: DeliveryDocument | null) =>
      this.#inFlight.settle(delivery, outcome);
    this.#lanes = new DeviceLanes(
      store.capabilities.writers,
      {
        weigh: (delivery) => delivery.readings.length,
        maxBatch,
        paceMs: options.paceMs,
        hold: options.hold,
        ownBatch: (delivery) => delivery.ownBatch,
        write: (batch) => this.#spooler?.write(batch) ?? this.#store(batch),
        onBroken,
      },
      settle,
    );
    const { quarantine, paceMs } = options;
    const { accounts } = this;
    const { signal } = this.#abort;
    this.#quarantine = new QuarantineWriter({
      ...{ quarantine, logger, accounts, paceMs, signal, settle, onBroken },
    });
    this.#spooler = options.spool === null ? null : this.#openSpool(options.spool, maxBatch, onBroken);
    // The next process must find the devices of the spool in the ledger.
    this.#recorder.keep();
  }

  /** Messages whose acknowledgement came later, because of the new hours of their client. */
  get delayed(): number {
    return this.#newHours.delayed;
  }

  get spool(): Spool | null {
    return this.#options.spool;
  }

  /** Why readings cannot be settled now; null when they can. */
  get trouble(): string | null {
    return this.#storeFailure?.message ?? this.#quarantine.trouble;
  }

  /** `trouble` for clients: without the text of a driver, which can contain hosts and users. */
  get shownTrouble(): string | null {
    const failure = this.#storeFailure;
    if (failure === null) return this.#quarantine.trouble;
    const what = isDiskFull(failure) ? 'the disk is full' : 'the store is unavailable';
    return failure.hint === null ? what : `${what}: ${failure.hint}`;
  }

  /** Whether readings can be stored now. */
  get isStoring(): boolean {
    return this.#storeFailure === null;
  }

  get #storeFailure(): StoreError | null {
    return this.#options.storeTrouble?.() ?? this.#committer.failure;
  }

  /** Whether a bound on readings or bytes in flight is reached. */
  get full(): boolean {
    return this.#inFlight.full;
  }

  /** Whether the pipeline is stopping and accepts no more messages. */
  get stopping(): boolean {
    return this.#inFlight.stopping;
  }

  /** Age of the oldest message that is neither stored nor quarantined yet, seconds. */
  get oldestUnstoredSeconds(): number {
    const oldest = Math.min(
      this.#quarantine.oldest,
      this.#lanes.oldest,
      this.#spooler?.oldest?.arrived ?? Number.POSITIVE_INFINITY,
    );
    const waiting = oldest === Number.POSITIVE_INFINITY ? 0 : (performance.now() - oldest) / 1000;
    return Math.max(waiting, this.spooledSeconds);
  }

  /** Age of the oldest message in the spool, seconds. */
  get spooledSeconds(): number {
    const since = this.#options.spool?.since ?? null;
    return since === null ? 0 : Math.max(0, (now() - since) / 1e6);
  }

  /** Before the first message of a connection: others may have been missed since the last one. */
  beginConnection(): void {
    this.#options.router.forget();
  }

  /** Accepts a message from the broker. Does not throw. */
  accept(message: Inbound, origin: Origin): void {
    const { topic, payload } = message;
    this.accounts.messages++;
    this.#collector.received(message.size);
    const { route, device, metric, full, captured, error } = this.#options.router.resolve(topic);
    if (route !== null) route.messages[message.qos]++;
    const skipped = message.retain && route?.retained === 'skip';
    if (skipped) this.accounts.retainedSkipped++;
    const received = this.#receiveTimes.next();
    const { units } = this.#options.router;
    const context = {
      device,
      metric,
      full,
      received,
      captured,
      topic,
      notes: route?.notes,
      declared: this.#declared,
    };
    const stateful = skipped || error !== null ? null : route!.stateful;
    const result = stateful === null ? null : stateful.decode(payload, context);
    if (result !== null && result.reply !== null) this.#reply(result.reply);
    const found = skipped ? NONE : (error ?? result?.decoded ?? route!.decode(payload, context));
    // A retained message is sent again for each subscription.
    const isAgain = message.dup === true || message.retain;
    const decoded = found instanceof DecodeError ? found : this.#clocks.timed(found, payload, isAgain);
    const readings = decoded instanceof DecodeError ? NONE : decoded;
    const fresh = units.take();
    const places = route === null || route.filter === null ? null : this.#filter.keep(route.filter, readings);
    const kept = places === null ? readings : places.map((place) => readings[place]!);
    if (!skipped && route !== null && decoded === readings && readings.length === 0)
      route.notes.ignoredMessages++;
    const early = route?.ack === 'received';
    const completed = result === null || result.payload === payload ? 0 : result.payload.length;
    const bytes =
      bytesInMemory(message.size + completed, topic, kept, fresh.length) +
      (kept.length === 0 ? 0 : this.#inFlight.surroundings(payload, message.size));
    const delivery = new MqttDelivery(
      message,
      route ?? NO_ROUTE_KIND,
      early ? withoutAnswer(origin) : origin,
      bytes,
      kept,
      fresh,
      places === null ? null : { of: readings.length, places },
      result?.payload ?? null,
    );
    const isAwaited = isAwaitedBy(origin, delivery) && !early;
    if (early) origin.settled(delivery, null);
    this.#enter(delivery, decoded, received);
    // In all lanes: a sender can wait for another message than its last one, and acknowledgements keep the order.
    if (isAwaited) this.#lanes.release();
  }

  #reply(reply: NonNullable<StatefulResult['reply']>): void {
    this.accounts.replies++;
    this.#options.onReply?.(reply);
  }

  /** Puts a message that the MQTT session could not decode into quarantine. Does not throw. */
  refuse(message: Undecodable, origin: Origin): void {
    const { topic, payload, reason, problem, size } = message;
    this.accounts.messages++;
    this.#collector.received(size);
    // Of a packet that is too large, only the topic is kept.
    const bytes = bytesInMemory(payload.length === 0 ? 0 : size, topic, NONE);
    const delivery = new MqttDelivery(message, REFUSED_KIND, origin, bytes, NONE, NO_UNITS, null, null);
    const error =
      reason === 'topic_too_long'
        ? new DecodeError('invalid_name', `${problem}: publish to a shorter topic`)
        : new DecodeError(reason, problem);
    const isAwaited = isAwaitedBy(origin, delivery);
    this.#enter(delivery, error, this.#receiveTimes.next());
    if (isAwaited) this.#lanes.release();
  }

  /**
   * Stores the payload of an HTTP request. Resolves with the counts when it is settled.
   *
   * @param client the login or address of the sender
   */
  deliver(message: RawMessage, client?: string): Promise<DeliveryDocument> {
    const received = this.#receiveTimes.next();
    const timed = (readings: readonly Reading[]) => this.#clocks.timed(readings, message.payload, false);
    const decoded = decodeMessage(this.#options.router, message, received, true, timed, this.#declared);
    return this.#deliver(message, decoded, received, false, client);
  }

  /**
   * Replays an entry of the quarantine. Resolves with the counts when it is settled. A reading of the same identity
   * that was received later is kept; the replayed reading then counts as a duplicate.
   */
  replay(
    { received, source, topic, payload, format, client }: QuarantineEntry,
    selected: Decoded,
  ): Promise<DeliveryDocument> {
    const message = { source, topic, payload, format, part: selected.part };
    return this.#deliver(message, selected, received, true, client);
  }

  /** Stores relayed readings, which keep their times. Resolves with the counts when they are settled. */
  take(message: RawMessage, decoded: Decoded | DecodeError, client: string): Promise<DeliveryDocument> {
    return this.#deliver(message, decoded, this.#receiveTimes.next(), false, client);
  }

  #deliver(
    message: RawMessage,
    selected: Decoded | DecodeError,
    received: number,
    replayed: boolean,
    client?: string,
  ): Promise<DeliveryDocument> {
    const decoded = selected instanceof DecodeError ? selected : selected.readings;
    const readings = decoded instanceof DecodeError ? NONE : decoded;
    const count = countOf(readings);
    const bytes = bytesInMemory(message.payload.length, message.topic, readings);
    this.#inFlight.request(count, bytes);
    return new Promise((resolve) => {
      const settled: Origin['settled'] = (_delivery, outcome) => {
        this.#inFlight.request(-count, -bytes);
        resolve(outcome ?? NOTHING);
      };
      const delivery: Delivery = {
        ...message,
        readings,
        units: selected instanceof DecodeError ? NO_UNITS : selected.units,
        bytes,
        arrived: performance.now(),
        origin: { client, settled },
        token: null,
        counted: true,
        // Otherwise it is not known whose readings the duplicates of a batch are.
        ownBatch: replayed || !this.#options.store.capabilities.namesDuplicates,
        spoolable: false,
        fromSpool: false,
        isAgain: replayed,
        replayed,
      };
      this.#enter(delivery, decoded, received);
      this.#lanes.release();
    });
  }

  /** Stops accepting messages and settles those in flight. The source stays paused. */
  stop(): void {
    this.#inFlight.stop();
    this.#lanes.release();
  }

  /** Resolves when nothing is in flight, or when storing is no longer possible. */
  idle(): Promise<void> {
    const apart = this.#lanes.idle().then(() => this.#spooler?.idle());
    return Promise.race([apart.then(() => this.#quarantine.idle()), this.#broken.promise]);
  }

  /** Stops waiting for an unavailable store. Messages in flight stay unacknowledged. */
  abort(): void {
    this.#abort.abort();
    this.feed.close();
  }

  #openSpool(spool: Spool, maxBatch: number, onBroken: (error: unknown) => void): Spooler {
    return new Spooler({
      spool,
      router: this.#options.router,
      clocks: this.#clocks,
      accounts: this.accounts,
      maxBatch,
      paceMs: this.#options.paceMs,
      signal: this.#abort.signal,
      isSlow: () => this.#inFlight.isFullFor(OVERLOAD_MS),
      store: (batch, patienceMs) => this.#store(batch, patienceMs),
      quarantine: (delivery, error, received) => this.#quarantine.undecoded(delivery, error, received),
      quarantined: () => this.#quarantine.idle(),
      onKept: ({ readings, isAgain }) => this.#recorder.record(readings, isAgain),
      onRecovered: (readings) => this.#recorder.record(readings, true, true),
      onSpooled: (delivery) => {
        this.#recorder.keep();
        this.#inFlight.settle(delivery, null);
      },
      onBroken,
    });
  }

  #enter(delivery: Delivery, decoded: readonly Reading[] | DecodeError, received: number): void {
    if (!(decoded instanceof DecodeError)) {
      if (decoded.length === 0) {
        delivery.origin.settled(delivery, NOTHING);
        return;
      }
      this.accounts.receive(decoded.length);
      if (delivery.readings.length < decoded.length) {
        this.accounts.filter(decoded.length - delivery.readings.length);
        this.#recordFiltered(decoded, delivery);
        if (delivery.readings.length === 0) {
          this.#recorder.keep();
          delivery.origin.settled(delivery, NOTHING);
          return;
        }
      }
      this.recent.pass(delivery.arrived);
      this.#observeClock(decoded[0]!);
      this.#lanes.push(delivery);
    } else {
      this.accounts.receive(1);
      this.#quarantine.undecoded(delivery, decoded, received);
    }
    this.#inFlight.add(delivery);
  }

  #observeClock({ time, received, quality }: Reading): void {
    if (time > received) this.clockLead = Math.max(this.clockLead, (time - received) / 1e6);
    if (quality === 'ok' && time !== received) this.stages.travel.observe((received - time) / 1e6);
  }

  async #store(batch: readonly Delivery[], patienceMs?: number): Promise<void> {
    const begun = performance.now();
    this.recent.pass(begun);
    const readings = this.#readingsOf(batch, begun);
    this.batchReadings.observe(readings.length);
    const effort = { newHours: 0 };
    const result = batch[0]!.replayed
      ? await this.#committer.commitOlder(readings)
      : { ...(await this.#committer.commit(readings, patienceMs, effort)), skipped: NO_ROWS };
    const { stored, duplicate, rejected, skipped } = result;
    const all = rejected.size + skipped.size === 0;
    const kept = all ? readings : readings.filter((_, index) => !rejected.has(index) && !skipped.has(index));
    let units = NO_UNITS;
    if (batch.some((delivery) => delivery.units.length > 0)) {
      units = unitsOf(batch, new Set(kept));
      await this.#storeUnits(units, !batch[0]!.replayed, patienceMs);
    }
    if (this.#options.onCommitted !== undefined) await this.#options.onCommitted(kept, units);
    // A reading from the spool counts as spooled until the store has it.
    if (batch[0]!.fromSpool) this.accounts.unspool(readings.length);
    const committed = performance.now();
    this.recent.pass(committed);
    this.stages.store.observe((committed - begun) / 1000, readings.length);
    this.accounts.store(stored, duplicate);
    this.feed.push(kept);
    this.#account(batch, rejected);
    this.#recorder.keep();
    let first = 0;
    for (const delivery of batch) {
      const refused = rejected.size === 0 ? null : refusal(delivery, first, rejected);
      const outcome = delivery.counted ? outcomeOf(delivery, first, result, batch.length === 1) : null;
      const newHours = (effort.newHours * delivery.readings.length) / readings.length;
      if (refused === null) this.#inFlight.settle(delivery, outcome, this.#waitOf(delivery, newHours));
      else {
        for (const [index, reading] of delivery.readings.entries())
          if (rejected.has(first + index)) this.#filter.forget(reading);
        this.#quarantine.refused(delivery, refused, outcome ?? NOTHING);
      }
      first += delivery.readings.length;
    }
    this.stages.ack.observe((performance.now() - committed) / 1000, readings.length);
    this.#options.onStored?.(kept);
  }

  /**
   * How long a message of a sensor waits for its acknowledgement after its commit, milliseconds. Its client is not read then,
   * when it has as much in flight as it may. Deliveries over HTTP take turns instead.
   *
   * @param newHours its part of those of its batch
   */
  #waitOf({ origin: { client }, counted, fromSpool }: Delivery, newHours: number): number {
    if (newHours === 0 || client === undefined || counted || fromSpool) return 0;
    return this.#newHours.add(client, newHours);
  }

  /** The readings of a batch, whose wait ends now. Loops by index leave no garbage before they are compiled. */
  #readingsOf(batch: readonly Delivery[], begun: number): Reading[] {
    const all: Reading[] = [];
    for (let index = 0; index < batch.length; index++) {
      const { readings, arrived } = batch[index]!;
      for (let place = 0; place < readings.length; place++) all.push(readings[place]!);
      this.stages.queue.observe((begun - arrived) / 1000, readings.length);
    }
    return all;
  }

  /** Stores units of stored readings. Units that the store refuses are left out: they must not hold up readings. */
  async #storeUnits(units: readonly SeriesUnit[], replaces: boolean, patienceMs?: number): Promise<void> {
    const { store, router, logger } = this.#options;
    try {
      await this.#committer.call(() => router.units.store(store, units, replaces, logger), patienceMs);
    } catch (error) {
      if (!isOfRows(error)) throw error;
      logger.error({ err: error, units: units.length }, 'units of series cannot be stored and are left out');
      router.units.giveUp(units);
    }
  }

  /** Records the sequence numbers and the latency of the stored readings of a batch. */
  #account(batch: readonly Delivery[], rejected: Rejections): void {
    const finished = now();
    let first = 0;
    for (let index = 0; index < batch.length; index++) {
      const { readings, fromSpool, isAgain } = batch[index]!;
      if (!fromSpool)
        this.#recorder.record(rejected.size === 0 ? readings : without(readings, rejected, first), isAgain);
      const { time, quality } = readings[0]!;
      if (quality === 'ok') this.stages.end_to_end.observe((finished - time) / 1e6, readings.length);
      first += readings.length;
    }
  }

  /** Takes readings that the filter left out. */
  #recordFiltered(all: readonly Reading[], { readings: kept, isAgain }: Delivery): void {
    const stored = new Set(kept);
    const leftOut = all.filter((reading) => !stored.has(reading));
    this.#options.onStored?.(leftOut);
    this.#recorder.recordLeftOut(leftOut, kept, isAgain);
  }
}

/** Counts a message that arrived. Whether its sender may be waiting. */
function isAwaitedBy({ demand }: Origin, { arrived }: Delivery): boolean {
  return demand === undefined || demand.arrived(arrived);
}

/** The units of the series of which a delivery has stored readings: others in its batch can belong to another client. */
function unitsOf(batch: readonly Delivery[], stored: ReadonlySet<Reading>): readonly SeriesUnit[] {
  return batch.flatMap(({ readings, units }) => {
    if (units.length === 0) return NO_UNITS;
    const names = new Set(readings.filter((reading) => stored.has(reading)).map(nameOf));
    return units.filter((unit) => names.has(nameOf(unit)));
  });
}

/**
 * The counts of a delivery.
 *
 * @param first the index of its first reading in its batch
 * @param isAlone whether the batch has no other
 */
function outcomeOf(
  { readings }: Delivery,
  first: number,
  { stored, duplicate, duplicates, rejected }: CommitResult,
  isAlone: boolean,
): DeliveryDocument {
  const received = readings.length;
  if (isAlone) return { received, stored, duplicate, quarantined: rejected.size };
  const countIn = (places: readonly number[]) =>
    places.filter((place) => place >= first && place < first + received).length;
  const [again, quarantined] = [countIn(duplicates), countIn([...rejected.keys()])];
  return { received, stored: received - again - quarantined, duplicate: again, quarantined };
}

/** The origin of messages that were acknowledged on arrival. They still count for their client. */
function withoutAnswer({ client, share }: Origin): Origin {
  return share === undefined ? { client, settled() {} } : { client, share, settled() {} };
}

/** The readings that the store did not reject. `first` is the index of the first one in its batch. */
function without(readings: readonly Reading[], rejected: Rejections, first: number): readonly Reading[] {
  return readings.filter((_, index) => !rejected.has(first + index));
}
