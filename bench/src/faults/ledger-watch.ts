import type { LedgerDocument } from '@tidegauge/readings';
import type { Owed } from './judge.ts';
import type { Flow } from './traffic.ts';

/** What the ledger of ingest lists of the readings that sensors lost. */
export interface Named {
  /** Readings that sensors lost between others that are stored. */
  readonly lost: number;
  /** Those of them that the ledger lists as missing. */
  readonly listed: number;
  /** Readings that it lists, although they are stored. */
  readonly wrong: number;
  /** Samples in which it listed fewer lost readings than before. */
  readonly wentBack: number;
  /** Whether its list is not complete. After a full disk, it can have numbers that it could not judge. */
  readonly truncated: boolean;
}

/** A device: its stream, and its place there. */
export interface Owner {
  readonly flow: Flow;
  readonly place: number;
}

/** The owners of all devices, by name. */
export function ownersOf(flows: readonly Flow[]): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const flow of flows)
    for (let place = 0; place < flow.stream.devices; place++)
      for (const device of flow.stream.devicesOf(place)) owners.set(device, { flow, place });
  return owners;
}

/**
 * Compares the missing numbers that ingest lists with the readings that sensors lost before they were sent. Each must be
 * listed, and stay listed when ingest is killed or loses power. With several replicas, none of them receives all numbers
 * of a device, so their ledgers cannot be compared.
 */
export class LedgerWatch {
  readonly #flows: readonly Flow[];
  readonly #owners: ReadonlyMap<string, Owner>;
  #last: LedgerDocument | null = null;
  #most = 0;
  #wentBack = 0;

  constructor(flows: readonly Flow[]) {
    this.#flows = flows;
    this.#owners = ownersOf(flows);
  }

  /** Takes a sample of the ledger. */
  look(ledger: LedgerDocument): void {
    this.#last = ledger;
    // A list that is cut can have others next time.
    if (ledger.gaps.truncated) return;
    let listed = 0;
    for (const [flow, number] of this.#listed(ledger)) if (flow.stream.isLost(number)) listed++;
    if (listed < this.#most) this.#wentBack++;
    this.#most = listed;
  }

  /** Compares the last sample, which must be of the end. Null: there was none. */
  judge(owed: Owed): Named | null {
    const ledger = this.#last;
    if (ledger === null) return null;
    const { truncated } = ledger.gaps;
    let [listed, lost] = [0, 0];
    for (const [flow, number] of this.#listed(ledger)) if (flow.stream.isLost(number)) listed++;
    for (const flow of this.#flows) {
      const ends = endsOf(flow, owed);
      for (let number = 0; number < flow.sent; number++) {
        const [first, last] = ends[flow.stream.placeOf(number)]!;
        if (number > first && number < last && flow.stream.isLost(number)) lost++;
      }
    }
    return { lost, listed, wrong: this.wrong(owed), wentBack: this.#wentBack, truncated };
  }

  /** Readings that the last sample lists as missing, although sensors did not lose them and ingest must have them. */
  wrong(owed: Owed): number {
    if (this.#last === null) return 0;
    let count = 0;
    for (const [flow, number] of this.#listed(this.#last))
      if (!flow.stream.isLost(number) && owed(flow, number)) count++;
    return count;
  }

  /** The messages of the missing numbers. */
  *#listed(ledger: LedgerDocument): Generator<readonly [Flow, number]> {
    for (const { device, ranges } of ledger.gaps.list) {
      const owner = this.#owners.get(device);
      if (owner === undefined) continue;
      const { flow, place } = owner;
      for (const [first, last] of ranges)
        for (let seq = first; seq <= last; seq++) yield [flow, place + seq * flow.stream.devices];
    }
  }
}

/** The first and the last message of each place that ingest must have. */
function endsOf(flow: Flow, owed: Owed): readonly (readonly [first: number, last: number])[] {
  const none = (): [number, number] => [Number.POSITIVE_INFINITY, -1];
  const ends = Array.from({ length: flow.stream.devices }, none);
  for (let number = 0; number < flow.sent; number++) {
    if (!owed(flow, number)) continue;
    const end = ends[flow.stream.placeOf(number)]!;
    end[0] = Math.min(end[0], number);
    end[1] = number;
  }
  return ends;
}
