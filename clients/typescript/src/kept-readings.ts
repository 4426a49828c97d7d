import type { NewReading } from './new-reading.ts';

/** Missing readings of one device and boot: inclusive ranges of their numbers, ascending. */
interface Missing {
  readonly device: string;
  readonly boot: string;
  readonly ranges: readonly (readonly number[])[];
}

/** What a sensor declares: it has no numbers of a boot below `kept`; null: none at all. */
export interface Declaration {
  readonly device: string;
  readonly boot: string;
  readonly kept: number | null;
}

interface Kept {
  readonly reading: NewReading;
  readonly device: string;
  readonly bytes: number;
}

/** Memory of a reading besides its texts, bytes. */
const READING_BYTES = 200;

/**
 * The last readings that were given to `send`, in memory, to send those again that did not arrive. Only readings with
 * `boot` and `seq` are kept. Give one to `send` as `keep`, and call `sendMissing` with it from time to time.
 */
export class KeptReadings {
  readonly #maxBytes: number;
  #kept: Kept[] = [];
  #bytes = 0;

  /** @param maxBytes memory; beyond it the oldest readings are dropped. Default: 4 MiB */
  constructor(maxBytes = 4 * 1024 * 1024) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Keeps a reading.
   *
   * @param device that of readings without one, and above those with another one
   * @param metric that of readings without one
   */
  add(reading: NewReading, device?: string, metric?: string): void {
    if (reading.boot === undefined || reading.seq === undefined) return;
    const named = below(device, reading.device);
    if (named === undefined) return;
    const kept = { ...(metric !== undefined && { metric }), ...reading, device: named };
    const bytes = READING_BYTES + 2 * JSON.stringify(kept).length;
    this.#kept.push({ reading: kept, device: named, bytes });
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes) return;
    // A tenth at once, because each time costs as much as all that is kept.
    let dropped = 0;
    while (this.#bytes > 0.9 * this.#maxBytes && dropped < this.#kept.length)
      this.#bytes -= this.#kept[dropped++]!.bytes;
    this.#kept.splice(0, dropped);
  }

  /** The kept ones of some missing readings, and what has to be declared; null for a device of which none are kept. */
  answer({
    device,
    boot,
    ranges,
  }: Missing): { readonly readings: readonly NewReading[]; readonly declaration: Declaration | null } | null {
    const ofDevice = this.#kept.filter((each) => each.device === device);
    if (ofDevice.length === 0) return null;
    const own = ofDevice.map(({ reading }) => reading).filter((reading) => reading.boot === boot);
    const isWanted = ({ seq = -1 }: NewReading) =>
      ranges.some(([from = 0, to = -1]) => seq >= from && seq <= to);
    const lowest = own.reduce<number | null>((least, { seq }) => Math.min(least ?? seq!, seq!), null);
    const isGone = lowest === null || (ranges[0]?.[0] ?? lowest) < lowest;
    return {
      readings: own.filter(isWanted),
      declaration: isGone ? { device, boot, kept: lowest } : null,
    };
  }
}

/** The device of a reading, as the API makes it of the device of the request and that of the reading. */
function below(device: string | undefined, named: string | undefined): string | undefined {
  if (device === undefined || named === undefined) return named ?? device;
  return named === device || named.startsWith(`${device}/`) ? named : `${device}/${named}`;
}
