import type { ServerResponse } from 'node:http';
import { clientOf } from '@tidegauge/service';
import type { LiveFilter } from './live-event.ts';
import type { LiveEntry, LivePosition, LiveRing } from './live-ring.ts';

/**
 * One server-sent event stream: a cursor into the ring, moved on only as fast as the connection takes it.
 * While the connection is full nothing is kept for it but its position; when the ring has gone on past
 * that, the client gets a `gap` and continues with the oldest entry there is.
 */
export class LiveClient {
  /** Whom its connection belongs to. */
  readonly owner: string;
  readonly #response: ServerResponse;
  readonly #ring: LiveRing;
  readonly #filter: LiveFilter;
  readonly #onReady: () => void;
  #position: LivePosition;
  /** When the connection stopped taking data, milliseconds; null while it takes. */
  #fullSince: number | null = null;

  /** @param onReady called when a connection that was full takes data again */
  constructor(
    response: ServerResponse,
    ring: LiveRing,
    filter: LiveFilter,
    position: LivePosition,
    onReady: (client: LiveClient) => void,
  ) {
    this.owner = clientOf(response.req.socket.remoteAddress);
    this.#response = response;
    this.#ring = ring;
    this.#filter = filter;
    this.#position = position;
    this.#onReady = () => onReady(this);
  }

  /** Whether its connection takes no data now; `onReady` says when it does again. */
  get isFull(): boolean {
    return this.#fullSince !== null;
  }

  /**
   * Sends what there is, until the end of the ring or until the connection is full, but at most `most` events; returns
   * whether there may be more to send.
   */
  pump(most = Number.POSITIVE_INFINITY): boolean {
    for (let sent = 0; this.#fullSince === null && !this.#response.writableEnded; ) {
      if (sent === most) return true;
      const { oldest } = this.#ring;
      if (this.#position.index < oldest.index) {
        this.sendGap(oldest.total - this.#position.total, oldest);
        continue;
      }
      const entry = this.#ring.at(this.#position.index);
      if (entry === undefined) return false;
      this.#position = { index: entry.index + 1, total: entry.total };
      const event = this.#eventOf(entry);
      sent += 1;
      if (event !== null) this.#write(event);
    }
    return false;
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

  /** Ends it at once, whether its connection takes data or not. */
  cut(): void {
    this.#response.destroy();
  }

  #write(event: string | Buffer): void {
    if (this.#response.write(event)) return;
    this.#fullSince = performance.now();
    this.#response.once('drain', () => {
      this.#fullSince = null;
      this.#onReady();
    });
  }

  #eventOf(entry: LiveEntry): string | Buffer | null {
    const position = { index: entry.index + 1, total: entry.total };
    if ('missed' in entry.content) return gapEvent(this.#ring, position, entry.content.missed);
    return entry.content.select(this.#filter);
  }
}

function gapEvent(ring: LiveRing, position: LivePosition, missed: number | null): string {
  return `id: ${ring.id(position)}\nevent: gap\ndata: ${JSON.stringify({ missed })}\n\n`;
}
