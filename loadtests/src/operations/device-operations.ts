import { seeded } from '../../../packages/workload/src/index.ts';
import { deviceName, yearAt } from './fleet.ts';
import type { DeviceOperationType, DevicesPart } from './plan.ts';

export const DEVICE_OPERATIONS: readonly DeviceOperationType[] = ['selectOne', 'selectSome', 'updateSome'];

export interface DeviceOperation {
  readonly type: DeviceOperationType;
  readonly method: 'GET' | 'PATCH';
  readonly path: string;
  readonly body: string | null;
}

const PAGE = 1000;

/** The operations of one thread on the device register: read one by name, read or update all devices of one year. */
export class DeviceOperations {
  readonly #random: { below(bound: number): number; double(): number };
  readonly #part: DevicesPart;
  #changes = 0;

  constructor(part: DevicesPart, seed: number, thread: number) {
    this.#random = seeded(seed, thread);
    this.#part = part;
  }

  next(): DeviceOperation {
    const type = this.#type();
    if (type === 'selectOne') {
      const name = deviceName(this.#random.below(this.#part.devices));
      return { type, method: 'GET', path: `/v1/devices/${name}`, body: null };
    }
    const year = yearAt(this.#random.double());
    if (type === 'selectSome') {
      return { type, method: 'GET', path: `/v1/devices?year=${year}&limit=${PAGE}`, body: null };
    }
    this.#changes += 1;
    const body = JSON.stringify({ attributes: { revision: this.#changes } });
    return { type, method: 'PATCH', path: `/v1/devices?year=${year}`, body };
  }

  #type(): DeviceOperationType {
    let draw = this.#random.double();
    for (const type of DEVICE_OPERATIONS) {
      draw -= this.#part.mix[type];
      if (draw < 0) return type;
    }
    return 'selectOne';
  }
}
