import { firstLevelOf } from '@tidegauge/readings';
import { copyString } from '@tidegauge/text';

/**
 * A bound that the clients of devices share, by the first levels of their names. A client has as much as is free: alone half
 * of it, and each of n clients a part of n + 1. So there is always room for another one.
 */
export class DeviceShares {
  readonly #most: number;
  readonly #clientCost: (client: string) => number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** @param clientCost what a client takes in addition. Default: nothing */
  constructor(most: number, clientCost: (client: string) => number = () => 0) {
    this.#most = most;
    this.#clientCost = clientCost;
  }

  /** What all clients have taken. */
  get all(): number {
    return this.#all;
  }

  /** Whether the client of a device may take so much more. */
  hasRoom(device: string, amount: number): boolean {
    const client = firstLevelOf(device);
    const taken = this.#taken.get(client) ?? this.#clientCost(client);
    return taken + amount <= this.#most - this.#all - amount;
  }

  /** Takes so much for a device if its client has room. Returns whether it has. */
  take(device: string, amount: number): boolean {
    const hasRoom = this.hasRoom(device, amount);
    if (hasRoom) this.add(device, amount);
    return hasRoom;
  }

  /** Takes so much for a device, or gives it back (negative). */
  add(device: string, amount: number): void {
    const client = firstLevelOf(device);
    const taken = this.#taken.get(client);
    const isNew = taken === undefined;
    const cost = this.#clientCost(client);
    const sum = (taken ?? cost) + amount;
    this.#all += isNew ? sum : amount;
    if (sum > cost) this.#taken.set(isNew ? copyString(client) : client, sum);
    else {
      this.#taken.delete(client);
      this.#all -= sum;
    }
  }
}
