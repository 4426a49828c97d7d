import type { Cells } from './cells.ts';

interface Claim {
  /** By the clock of the process that made it, milliseconds since the epoch. */
  readonly expires: number;
  /** The holder has read that no other claim is valid. */
  readonly isHeld: boolean;
}

/**
 * Leases without a conditional write. A process stores its claim and then reads all claims. If another one is valid, it
 * withdraws its own. Of two processes, the one that stores its claim later reads the claim of the other, so at most one
 * has the lease. If both withdraw, they try again later. Compares the clocks of the processes.
 */
export class DerivedLeases {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async take(name: string, holder: string, ms: number): Promise<boolean> {
    const device = deviceOf(name);
    const own = nameOf(holder);
    const put = (isHeld: boolean) =>
      this.#cells.put([{ device, name: own, text: JSON.stringify({ expires: Date.now() + ms, isHeld }) }]);
    const known = await this.#claims(device);
    const mine = known.get(own);
    if (mine?.isHeld === true && isValid(mine)) {
      await put(true);
      return true;
    }
    if (hasOther(known, own)) return false;
    await put(false);
    const claims = await this.#claims(device);
    if (hasOther(claims, own)) {
      await this.release(name, holder);
      return false;
    }
    await put(true);
    for (const [other] of claims) if (other !== own) await this.#cells.delete(device, other);
    return true;
  }

  async release(name: string, holder: string): Promise<void> {
    await this.#cells.delete(deviceOf(name), nameOf(holder));
  }

  async #claims(device: string): Promise<ReadonlyMap<string, Claim>> {
    const cells = (await this.#cells.of([device])).get(device) ?? [];
    return new Map([...cells].map(([holder, text]) => [holder, JSON.parse(text) as Claim]));
  }
}

function isValid({ expires }: Claim): boolean {
  return expires > Date.now();
}

function hasOther(claims: ReadonlyMap<string, Claim>, own: string): boolean {
  return [...claims].some(([holder, claim]) => holder !== own && isValid(claim));
}

function deviceOf(name: string): string {
  return `lease ${name}`;
}

/** A holder can have any characters. */
function nameOf(holder: string): string {
  return encodeURIComponent(holder);
}
