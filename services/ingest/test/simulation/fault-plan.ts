import type { Random } from '@tidegauge/workload';
import type { Disk } from './disk.ts';
import type { ModelStore } from './model-store.ts';
import { type Fault, isOfDisk, type Plan } from './plan.ts';
import type { RelayNetwork } from './relay-network.ts';
import type { Traffic } from './traffic.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The shortest time with faults, milliseconds. A replay, a back-off and a full spool need some seconds. */
const LEAST_MS = 5000;
/** Times that each fault begins, connections that are cut, and steps of the clock. */
const WINDOWS = 2;
const MOST_CUTS = 6;
const CLOCK_STEPS = 2;
const CLOCK_STEP_MS = 3_600_000;
/** The longest time without a connection, milliseconds. */
const DOWN_MS = 3000;
/** Bytes that a full disk still takes at most. */
const ROOM_BYTES = 5000;
/** The share of calls and requests without an answer. */
const UNKNOWN = 0.4;

interface Parts {
  readonly time: VirtualTime;
  readonly disks: readonly Disk[];
  readonly stores: readonly ModelStore[];
  readonly network: RelayNetwork;
  readonly traffic: Traffic;
  readonly random: Random;
}

/** The faults of a schedule. All of them are over at `end`. */
export class FaultPlan {
  /** Milliseconds of the monotonic clock. */
  readonly end: number;
  hadDiskFault = false;
  readonly #plan: Plan;
  readonly #parts: Parts;

  constructor(plan: Plan, parts: Parts) {
    this.#plan = plan;
    this.#parts = parts;
    // Half of the pause is its mean. Some messages come after the faults.
    this.end = Math.max(LEAST_MS, 0.45 * plan.messages * plan.pauseMs);
  }

  start(): void {
    const { faults, hasCuts, hasClockSteps } = this.#plan;
    for (const fault of faults) this.#planWindows(fault);
    if (hasCuts) this.#planCuts();
    if (hasClockSteps) this.#planClockSteps();
  }

  #planWindows(fault: Fault): void {
    const { time } = this.#parts;
    const edges = Array.from({ length: 2 * WINDOWS }, () => this.#when()).toSorted((a, b) => a - b);
    for (const [place, edge] of edges.entries()) {
      const isOn = place % 2 === 0;
      time.after(edge, 'world', `${isOn ? 'begin' : 'end'} ${fault}`, () => this.#set(fault, isOn));
    }
  }

  #planCuts(): void {
    const { time, traffic, random } = this.#parts;
    for (let count = random.below(MOST_CUTS); count >= 0; count--)
      time.after(this.#when(), 'world', 'cut', () => traffic.cutOne(DOWN_MS));
  }

  #planClockSteps(): void {
    const { time, random } = this.#parts;
    for (let count = 0; count < CLOCK_STEPS; count++) {
      const stepMs = (2 * random.double() - 1) * CLOCK_STEP_MS;
      time.after(this.#when(), 'world', 'clock step', () => {
        time.wallOffset += stepMs;
      });
    }
  }

  #set(fault: Fault, isOn: boolean): void {
    const { disks, network, random } = this.#parts;
    const stores = this.#some(isOn);
    if (isOfDisk(fault)) this.hadDiskFault = true;
    switch (fault) {
      case 'store unavailable':
        for (const store of stores) store.isUnavailable = isOn;
        break;
      case 'store slow':
        for (const store of stores) store.isSlow = isOn;
        break;
      case 'store without answers':
        for (const store of stores) store.unknown = isOn ? UNKNOWN : 0;
        break;
      case 'disk full':
        for (const disk of disks) disk.free = isOn ? random.below(ROOM_BYTES) : Number.POSITIVE_INFINITY;
        break;
      case 'syncs fail':
        for (const disk of disks) disk.failsSync = isOn;
        break;
      case 'centre unavailable':
        network.isDown = isOn;
        break;
      case 'centre without answers':
        network.unknown = isOn ? UNKNOWN : 0;
        break;
    }
  }

  /** The stores that have a fault: some of several. It ends in all of them. */
  #some(isOn: boolean): readonly ModelStore[] {
    const { stores, random } = this.#parts;
    return isOn && stores.length > 1 ? stores.filter(() => random.below(2) === 0) : stores;
  }

  #when(): number {
    return this.#parts.random.double() * this.end;
  }
}
