import type { SeededRandom } from '@tidegauge/workload';
import { NumberSet } from './number-set.ts';
import { Sensor } from './sensor.ts';
import type { Stream } from './streams.ts';

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
  /** The number of messages; their numbers are below it. */
  readonly sent: number;
}

interface Running extends Flow {
  sent: number;
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
  #ended: number | null = null;

  constructor({ host, port, streams, stallMs, random }: TrafficOptions) {
    this.#flows = streams.map((stream) => {
      const acknowledged = new NumberSet();
      const { connections, kind, topic, payload } = stream;
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
            onAcknowledged: (number) => acknowledged.add(number),
            random: () => random.double(),
          }),
      );
      return { stream, acknowledged, sensors, sent: 0 };
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

  get sent(): number {
    return this.#flows.reduce((sum, { sent }) => sum + sent, 0);
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
    return this.#flows.every((flow) => flow.sent >= this.#due(flow) && flow.acknowledged.size === flow.sent);
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

  #everySensor(call: (sensor: Sensor) => void): void {
    for (const { sensors } of this.#flows) sensors.forEach(call);
  }
}
