import type { DeliveryDocument, Reading } from '@tidegauge/readings';
import { compacted, type Delivery, deliveryWith, PartsOrigin, placeOf } from './delivery.ts';
import { Lane, type LaneOptions } from './lane.ts';

/** Several lanes, of which each device has one, so that the readings of a device keep their order. */
export class DeviceLanes {
  readonly #lanes: readonly Lane<Delivery>[];
  readonly #settle: (delivery: Delivery, outcome: DeliveryDocument) => void;

  /** @param settle called with a message of several lanes when all its parts are settled */
  constructor(
    count: number,
    options: LaneOptions<Delivery>,
    settle: (delivery: Delivery, outcome: DeliveryDocument) => void,
  ) {
    this.#lanes = Array.from({ length: count }, () => new Lane<Delivery>(options));
    this.#settle = settle;
  }

  /** When the oldest waiting message arrived, a time of `performance.now()`; infinite without one. */
  get oldest(): number {
    return Math.min(...this.#lanes.map((lane) => lane.oldest?.arrived ?? Number.POSITIVE_INFINITY));
  }

  /** Adds a message to the lane of its devices. One with devices of several lanes is split into parts. */
  push(delivery: Delivery): void {
    const lane = this.#commonLane(delivery.readings);
    if (lane === null) this.#divide(delivery);
    else lane.push(delivery);
  }

  /** Ends the hold of all lanes. */
  release(): void {
    for (let index = 0; index < this.#lanes.length; index++) this.#lanes[index]!.release();
  }

  /** Resolves when all lanes are idle. */
  async idle(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.idle()));
  }

  /** The lane of all these readings; null when they belong to several lanes. */
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
    // The message stays in memory until its last part is settled.
    const whole = compacted(delivery);
    const byLane = new Map<number, number[]>();
    for (const [index, { device }] of whole.readings.entries()) {
      const lane = laneOf(device, this.#lanes.length);
      const known = byLane.get(lane);
      if (known === undefined) byLane.set(lane, [index]);
      else known.push(index);
    }
    const { client } = whole.origin;
    const origin = new PartsOrigin(byLane.size, client, (outcome) => this.#settle(whole, outcome));
    // A message from quarantine can be a part already.
    const of = whole.part?.of ?? whole.readings.length;
    for (const [lane, indexes] of byLane) {
      const readings = indexes.map((index) => whole.readings[index]!);
      const places = indexes.map((index) => placeOf(whole, index));
      const units = whole.units.filter(({ device }) => laneOf(device, this.#lanes.length) === lane);
      const part = { of, places };
      this.#lanes[lane]!.push(deliveryWith(whole, { readings, units, part, bytes: 0, origin }));
    }
  }
}

function laneOf(device: string, lanes: number): number {
  let hash = 0;
  for (let index = 0; index < device.length; index++) hash = (hash * 31 + device.charCodeAt(index)) | 0;
  return (hash >>> 0) % lanes;
}
