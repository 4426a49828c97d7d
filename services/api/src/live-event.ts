import type { ReadingDocument } from '@tidegauge/readings';

/** The readings that a client receives: of one device and everything below it, of one metric. Null matches all. */
export interface LiveFilter {
  readonly device: string | null;
  readonly metric: string | null;
}

interface Part {
  readonly device: string;
  readonly metric: string;
  /** Where the reading's JSON ends in the event, bytes. */
  readonly end: number;
}

const TAIL = ']}\n\n';
/** Approximate memory of a reading without its JSON and its names, bytes. */
const PART_BYTES = 128;

/** A reading as JSON, serialised once for all streams. */
export interface SerialisedReading {
  readonly device: string;
  readonly metric: string;
  readonly json: string;
  /** Length of the JSON in UTF-8, bytes. */
  readonly length: number;
}

export function serialise(reading: ReadingDocument): SerialisedReading {
  const { device, metric } = reading;
  const json = JSON.stringify(reading);
  return { device, metric, json, length: Buffer.byteLength(json) };
}

/** Approximate memory of a reading in an event, bytes. */
export function sizeOf({ device, metric, length }: SerialisedReading): number {
  return PART_BYTES + 2 * (device.length + metric.length) + length;
}

/**
 * Readings as one server-sent event. All streams without a filter share its bytes. A filter that matches only some of
 * the readings makes a copy of them.
 */
export class LiveEvent {
  readonly #bytes: Buffer;
  readonly #parts: readonly Part[];
  /** Where the first reading begins, bytes. */
  readonly #start: number;
  /** Where the line after the id begins, bytes. */
  readonly #named: number;

  constructor(id: string, readings: readonly SerialisedReading[]) {
    const head = `id: ${id}\nevent: readings\ndata: {"readings":[`;
    this.#start = Buffer.byteLength(head);
    this.#named = Buffer.byteLength(`id: ${id}\n`);
    let end = this.#start - 1;
    this.#parts = readings.map(({ device, metric, length }) => {
      end += 1 + length;
      return { device, metric, end };
    });
    this.#bytes = Buffer.from(head + readings.map(({ json }) => json).join(',') + TAIL);
  }

  #from(start: number): Buffer {
    return start === 0 ? this.#bytes : this.#bytes.subarray(start);
  }

  /**
   * The event with the readings that match a filter; null when there are none.
   *
   * @param withId whether the event has its id, which is a position among the readings of all devices
   */
  select(filter: LiveFilter, withId = true): Buffer | null {
    const from = withId ? 0 : this.#named;
    if (filter.device === null && filter.metric === null) return this.#from(from);
    const chosen: Buffer[] = [this.#bytes.subarray(from, this.#start)];
    let start = this.#start;
    let count = 0;
    for (const part of this.#parts) {
      if (matches(filter, part)) {
        // With the comma before it, except the first one.
        chosen.push(this.#bytes.subarray(count === 0 ? start : start - 1, part.end));
        count += 1;
      }
      start = part.end + 1;
    }
    if (count === 0) return null;
    if (count === this.#parts.length) return this.#from(from);
    chosen.push(this.#bytes.subarray(this.#parts.at(-1)!.end));
    return Buffer.concat(chosen);
  }
}

/** Whether a reading matches a filter. The filter's device matches itself and everything below it. */
function matches({ device, metric }: LiveFilter, reading: Part): boolean {
  if (metric !== null && reading.metric !== metric) return false;
  return device === null || reading.device === device || reading.device.startsWith(`${device}/`);
}
