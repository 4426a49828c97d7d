import type { DecodeError, DeliveryDocument } from '@tidegauge/readings';
import { type Logger, Seldom } from '@tidegauge/service';
import type { Accounts } from './accounts.ts';
import { Backoff } from './backoff.ts';
import type { Rejections } from './committer.ts';
import { bytesInMemory, compacted, type Delivery, placeOf } from './delivery.ts';
import { Lane } from './lane.ts';
import type { Quarantine } from './quarantine.ts';
import type { QuarantineEntry } from './quarantine-rows.ts';

/** Bytes of one write to quarantine: about 1,000 small messages. SQLite blocks the event loop while it writes. */
const BATCH_BYTES = 768 * 1024;
/** Dropped items are logged once in this time: a sender can fill the quarantine without end. */
const LOG_EVERY_MS = 10_000;
const UNREADABLE: DeliveryDocument = { received: 1, stored: 0, duplicate: 0, quarantined: 1 };

export interface QuarantineWriterOptions {
  readonly quarantine: Quarantine;
  readonly logger: Logger;
  readonly accounts: Accounts;
  /** Least time between two writes under load, milliseconds. */
  readonly paceMs: number;
  /** Ends the wait for a quarantine that cannot be written. */
  readonly signal: AbortSignal;
  /** Called for each message when it is in quarantine. */
  readonly settle: (delivery: Delivery, outcome: DeliveryDocument) => void;
  /** Called once when nothing can be written any more. */
  readonly onBroken: (error: unknown) => void;
}

interface Task {
  readonly entry: QuarantineEntry;
  readonly delivery: Delivery;
  readonly outcome: DeliveryDocument;
}

/** Writes messages that cannot be decoded or stored to quarantine, in batches. It retries until it can. */
export class QuarantineWriter {
  readonly #options: QuarantineWriterOptions;
  readonly #lane: Lane<Task>;
  #trouble: string | null = null;
  /** Items that were dropped and not logged. */
  #dropped = 0;
  readonly #log = new Seldom(LOG_EVERY_MS);

  constructor(options: QuarantineWriterOptions) {
    this.#options = options;
    this.#lane = new Lane<Task>({
      weigh: ({ entry }) => bytesInMemory(entry.payload.length, entry.topic, []),
      maxBatch: BATCH_BYTES,
      paceMs: options.paceMs,
      write: (batch) => this.#keep(batch),
      onBroken: options.onBroken,
    });
  }

  /** Why messages cannot be kept now; null when they can. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** When the oldest waiting message arrived, a time of `performance.now()`; infinite without one. */
  get oldest(): number {
    return this.#lane.oldest?.delivery.arrived ?? Number.POSITIVE_INFINITY;
  }

  /** Keeps a message that cannot be decoded. */
  undecoded(delivery: Delivery, { reason, message: detail, position }: DecodeError, received: number): void {
    const compact = compacted(delivery);
    const { source, topic, payload, format, part } = compact;
    const message = { source, topic, payload, format, part };
    const { client } = delivery.origin;
    const entry = { ...message, received, reason, detail, position, readings: 1, client };
    this.#lane.push({
      entry,
      delivery: compact,
      outcome: { ...UNREADABLE, errors: [{ reason, detail, position }] },
    });
  }

  /** Keeps a message of which the store rejected readings. */
  refused(delivery: Delivery, refused: QuarantineEntry, outcome: DeliveryDocument): void {
    const compact = compacted(delivery);
    const entry = { ...refused, payload: compact.payload };
    const { reason, position } = entry;
    // The text of a driver can contain hosts and users.
    const errors = [{ reason, detail: 'the store did not accept it', position }];
    this.#lane.push({ entry, delivery: compact, outcome: { ...outcome, errors } });
  }

  /** Resolves when all messages are in quarantine. */
  idle(): Promise<void> {
    return this.#lane.idle();
  }

  #logDropped(items: number): void {
    this.#dropped += items;
    if (this.#dropped === 0 || !this.#log.isDue()) return;
    this.#options.logger.warn(
      { dropped: this.#dropped },
      'quarantine is full: the oldest items of its largest senders were dropped',
    );
    this.#dropped = 0;
  }

  async #keep(batch: readonly Task[]): Promise<void> {
    const { quarantine, logger, accounts, signal, settle } = this.#options;
    const backoff = new Backoff();
    for (;;) {
      try {
        this.#logDropped(quarantine.add(batch.map(({ entry }) => entry)));
        this.#trouble = null;
        break;
      } catch (error) {
        if (this.#trouble === null) logger.error({ err: error }, 'quarantine cannot be written, retrying');
        this.#trouble = `the quarantine cannot be written: ${(error as Error).message}`;
        await backoff.wait(signal);
      }
    }
    for (const { entry, delivery, outcome } of batch) {
      accounts.quarantine(entry.reason, entry.readings);
      settle(delivery, outcome);
    }
  }
}

/** The readings of a delivery that the store rejected, as one quarantine entry; null when it rejected none. */
export function refusal(delivery: Delivery, first: number, rejected: Rejections): QuarantineEntry | null {
  const { source, topic, payload, format, readings, origin } = delivery;
  const indexes = [...readings.keys()].filter((index) => rejected.has(first + index));
  const index = indexes[0];
  if (index === undefined) return null;
  const { device, metric, received } = readings[index]!;
  const error = rejected.get(first + index)!;
  const isRejected = error.code === 'REJECTED';
  const of = delivery.part?.of ?? readings.length;
  const places = indexes.map((each) => placeOf(delivery, each));
  return {
    source,
    topic,
    payload,
    format,
    part: places.length === of ? null : { of, places },
    received,
    reason: isRejected ? 'rejected' : 'unexpected',
    detail: `the store ${isRejected ? 'rejected' : 'failed on'} ${device} ${metric}: ${error.message}`,
    position: of === 1 ? null : `reading ${places[0]! + 1} of ${of}`,
    readings: indexes.length,
    client: origin.client,
  };
}
