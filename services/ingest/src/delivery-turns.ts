import type { ServerResponse } from 'node:http';
import { Turns } from '@tidegauge/service';
import type { Capabilities } from '@tidegauge/storage';

/** A body of this size, bytes, has a few hundred readings at most, which are stored in some milliseconds. */
const SMALL_BYTES = 4096;
/**
 * Small and other deliveries over HTTP that are decoded and stored at the same time. The others wait as bodies, whose memory
 * is bounded. Small ones share commits where the store names duplicates. Elsewhere each has its own commit, and messages of
 * sensors wait for all of them. Two large ones, so that one is decoded while the other is stored; more of them leave less
 * room to the sensors, and are not faster.
 */
const SMALL = 64;
const SMALL_ALONE = 8;
const LARGE = 2;

/** The order in which deliveries over HTTP are stored: clients take turns. */
export class DeliveryTurns {
  readonly #small: Turns;
  readonly #large = new Turns(LARGE);

  constructor({ namesDuplicates }: Pick<Capabilities, 'namesDuplicates'>) {
    this.#small = new Turns(namesDuplicates ? SMALL : SMALL_ALONE);
  }

  /**
   * Resolves to the outcome of `deliver`, or to null when the client leaves before its turn.
   *
   * @param bytes of the body
   */
  run<T>(response: ServerResponse, bytes: number, deliver: () => Promise<T>): Promise<T | null> {
    return (bytes <= SMALL_BYTES ? this.#small : this.#large).run(response, deliver);
  }
}
