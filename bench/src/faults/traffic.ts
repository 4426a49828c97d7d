import type { SeededRandom } from '@tidegauge/workload';
import { AcknowledgementTimes } from './acknowledgement-times.ts';
import { NumberSet } from './number-set.ts';
import { Sensor } from './sensor.ts';
import type { Stream, StreamKind } from './streams.ts';

const TICK_MS = 10;
const CHECK_MS = 500;
/** Unacknowledged messages of a stream at most, over its connections. */
const WINDOW = 16_384;
const LEAST_WINDOW = 8;
/** Messages of a connection that are sent in one tick at most, so that timers of this process stay in time. */
const BURST = 2000;

/** The messages of a stream that were sent and acknowledged, and its connections. */
export interface Flow {
  readonly stream: Stream;
  readonly acknowledged: NumberSet;
  /** The number of messages; their numbers are below it. Those that the sensor lost are included. */
  readonly sent: number;
}

/** The streams whose time to the acknowledgement is measured: those of live readings. */
const MEASURED: readonly StreamKind[] = ['readings', 'gateway'];

interface Running extends Flow {
  sent: number;
  lost: number;
  readonly sensors: readonly Sensor[];
}

export interface TrafficOptions {
  readonly host: string;
  readonly port: number;
  readonly streams: readonly Stream[];
  readonly stallMs: number;
  readonly random: SeededRandom;
}

/**
 * Sensors that publish at a steady rate. What they could not send in time, they send as soon as they can, like sensors
 * that keep their readings.
 */
export class Traffic {
  readonly #flows: readonly Running[];
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #started = performance.now();
  /** Times to the acknowledgement of live readings, by the second in which they were due. */
  readonly times = new AcknowledgementTimes();
  #ended: number | null = null;

  constructor({ host, port, streams, stallMs, random }: TrafficOptions) {
    this.#flows = streams.map((stream) => {
      const acknowledged = new NumberSet();
      const { connections, kind, topic, payload } = stream;
      const isMeasured = MEASURED.includes(kind);
      const sensors = Array.from(
        { length: connections },
        (_, index) =>
          new Sensor({
            host,
            port,
            clientId: `faults-${kind}-${index}`,
            window: Math.max(LEAST_WINDOW, Math.floor(WINDOW / connections)),
            stallMs,
            topic,
            payload,
            onAcknowledged: (number) => {
              if (isMeasured && !acknowledged.has(number)) this.#measure(stream, number);
              acknowledged.add(number);
            },
            random: () => random.double(),
          }),
      );
      return { stream, acknowledged, sensors, sent: 0, lost: 0 };
    });
    this.#timers = [
      setInterval(() => {
        for (const flow of this.#flows) this.#send(flow);
      }, TICK_MS),
      setInterval(() => this.#everySensor((sensor) => sensor.check()), CHECK_MS),
    ];
  }

  get flows(): readonly Flow[] {
    return this.#flows;
  }

  /** Messages that sensors have sent. */
  get sent(): number {
    return this.#flows.reduce((sum, { sent, lost }) => sum + sent - lost, 0);
  }

  get acknowledged(): number {
    return this.#flows.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0);
  }

  /** How often sensors connected. */
  get connects(): number {
    return this.#flows.reduce(
      (sum, { sensors }) => sum + sensors.reduce((all, each) => all + each.connects, 0),
      0,
    );
  }

  /** Ends the connections of all sensors at once. They connect again. */
  dropAll(): void {
    this.#everySensor((sensor) => sensor.drop());
  }

  /** Makes no new messages. Those that are due are still sent, until they are acknowledged. */
  end(): void {
    this.#ended ??= performance.now();
  }

  /** Whether all messages that are due were sent and acknowledged. */
  get isAcknowledged(): boolean {
    return this.#flows.every(
      (flow) => flow.sent >= this.#due(flow) && flow.acknowledged.size === flow.sent - flow.lost,
    );
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#everySensor((sensor) => sensor.stop());
  }

  #send(flow: Running): void {
    const { stream, sensors } = flow;
    const due = this.#due(flow);
    const batches = new Map<Sensor, number[]>();
    // The connections take turns, so the next message waits when its own connection is busy.
    while (flow.sent < due) {
      if (stream.isLost(flow.sent)) {
        flow.sent++;
        flow.lost++;
        continue;
      }
      const sensor = sensors[stream.placeOf(flow.sent) % sensors.length]!;
      const batch = batches.get(sensor) ?? [];
      if (batch.length >= Math.min(BURST, sensor.room)) break;
      batch.push(flow.sent++);
      batches.set(sensor, batch);
    }
    for (const [sensor, numbers] of batches) sensor.send(numbers);
  }

  #due({ stream }: Flow): number {
    return Math.floor((((this.#ended ?? performance.now()) - this.#started) / 1000) * stream.rate);
  }

  /** From the time when a message was due, so that the wait for a busy connection is included. */
  #measure({ rate }: Stream, number: number): void {
    const due = (number + 1) / rate;
    this.times.add(due, (performance.now() - this.#started) / 1000 - due);
  }

  #everySensor(call: (sensor: Sensor) => void): void {
    for (const { sensors } of this.#flows) sensors.forEach(call);
  }
}
