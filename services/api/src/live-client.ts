import type { ServerResponse } from 'node:http';
import type { ReadingDocument } from '@tidegauge/readings';
import type { LiveEntry, LivePosition, LiveRing } from './live-ring.ts';

/** What a client wants to see: one device with everything beneath it, one metric; null is all. */
export interface LiveFilter {
  readonly device: string | null;
  readonly metric: string | null;
}

/** Serialised once for all clients without a filter; entries that leave the ring take it with them. */
const wholeEvents = new WeakMap<LiveEntry, string>();

/**
 * One server-sent event stream: a cursor into the ring, moved on only as fast as the connection takes it.
 * While the connection is full nothing is kept for it but its position; when the ring has gone on past
 * that, the client gets a `gap` and continues with the oldest entry there is.
 */
export class LiveClient {
  readonly #response: ServerResponse;
  readonly #ring: LiveRing;
  readonly #filter: LiveFilter;
  #position: LivePosition;
  /** When the connection stopped taking data, milliseconds; null while it takes. */
  #fullSince: number | null = null;

  constructor(response: ServerResponse, ring: LiveRing, filter: LiveFilter, position: LivePosition) {
    this.#response = response;
    this.#ring = ring;
    this.#filter = filter;
    this.#position = position;
  }

  /** Sends what there is, until the end of the ring or until the connection is full. */
  pump(): void {
    while (this.#fullSince === null && !this.#response.writableEnded) {
      const { oldest } = this.#ring;
      if (this.#position.index < oldest.index) {
        this.sendGap(oldest.total - this.#position.total, oldest);
        continue;
      }
      const entry = this.#ring.at(this.#position.index);
      if (entry === undefined) return;
      this.#position = { index: entry.index + 1, total: entry.total };
      const event = this.#eventOf(entry);
      if (event !== null) this.#write(event);
    }
  }

  /** Says how many readings were missed, null if nobody knows, and goes on at `position`. */
  sendGap(missed: number | null, position: LivePosition): void {
    this.#position = position;
    this.#write(gapEvent(this.#ring, position, missed));
  }

  /**
   * A comment to keep the connection open, and the position, so that a client whose filter lets little
   * through does not fall behind in `Last-Event-ID`. A connection that takes nothing for `patienceMs` is cut.
   */
  beat(patienceMs: number): void {
    if (this.#fullSince === null) {
      this.#write(`: heart-beat\nid: ${this.#ring.id(this.#position)}\n\n`);
    } else if (performance.now() - this.#fullSince > patienceMs) {
      this.#response.destroy();
    }
  }

  end(): void {
    this.#response.end();
  }

  #write(text: string): void {
    if (this.#response.write(text)) return;
    this.#fullSince = performance.now();
    this.#response.once('drain', () => {
      this.#fullSince = null;
      this.pump();
    });
  }

  #eventOf(entry: LiveEntry): string | null {
    const position = { index: entry.index + 1, total: entry.total };
    if ('missed' in entry.content) return gapEvent(this.#ring, position, entry.content.missed);
    const { device, metric } = this.#filter;
    if (device === null && metric === null) {
      const known = wholeEvents.get(entry);
      if (known !== undefined) return known;
      const event = readingsEvent(this.#ring, position, entry.content.readings);
      wholeEvents.set(entry, event);
      return event;
    }
    const readings = entry.content.readings.filter((reading) => matches(this.#filter, reading));
    return readings.length === 0 ? null : readingsEvent(this.#ring, position, readings);
  }
}

/** True for the device of the filter itself and for everything beneath it. */
export function matches({ device, metric }: LiveFilter, reading: ReadingDocument): boolean {
  if (metric !== null && reading.metric !== metric) return false;
  return device === null || reading.device === device || reading.device.startsWith(`${device}/`);
}

function readingsEvent(ring: LiveRing, position: LivePosition, readings: readonly ReadingDocument[]): string {
  return `id: ${ring.id(position)}\nevent: readings\ndata: ${JSON.stringify({ readings })}\n\n`;
}

function gapEvent(ring: LiveRing, position: LivePosition, missed: number | null): string {
  return `id: ${ring.id(position)}\nevent: gap\ndata: ${JSON.stringify({ missed })}\n\n`;
}
