import type { ServerResponse } from 'node:http';
import { senderOf } from '@tidegauge/service';
import type { LiveFilter } from './live-event.ts';
import type { LiveEntry, LivePosition, LiveRing } from './live-ring.ts';

/** Who follows a stream. */
export interface LiveViewer {
  /** Whether the viewer may use some devices only. Its events have no ids and no counts, which are of all devices. */
  readonly isLimited: boolean;
  /** Whether the viewer may still follow it. */
  isCurrent(): boolean;
}

export const ANY_VIEWER: LiveViewer = { isLimited: false, isCurrent: () => true };

/**
 * One stream of server-sent events: a position in the ring that advances only as fast as the connection accepts data.
 * While the connection is full, only its position is kept. When the ring has dropped the entry at that position, the
 * client receives a `gap` and continues with the oldest entry.
 */
export class LiveClient {
  /** The client that the connection belongs to, from `clientOf`. */
  readonly owner: string;
  readonly #response: ServerResponse;
  readonly #ring: LiveRing;
  readonly #filter: LiveFilter;
  readonly #viewer: LiveViewer;
  readonly #onReady: () => void;
  #position: LivePosition;
  /** Since when the connection accepts no data, from `performance.now()`; null while it accepts data. */
  #fullSince: number | null = null;

  /** @param onReady called when a connection that was full accepts data again */
  constructor(
    response: ServerResponse,
    ring: LiveRing,
    { filter, viewer }: { readonly filter: LiveFilter; readonly viewer: LiveViewer },
    position: LivePosition,
    onReady: (client: LiveClient) => void,
  ) {
    this.owner = senderOf(response);
    this.#response = response;
    this.#ring = ring;
    this.#filter = filter;
    this.#viewer = viewer;
    this.#position = position;
    this.#onReady = () => onReady(this);
  }

  /** Whether the connection accepts no data now. `onReady` is called when it does again. */
  get isFull(): boolean {
    return this.#fullSince !== null;
  }

  /**
   * Sends entries until the end of the ring, until the connection is full, or until `most` entries are done. Returns
   * true in the last case: there may be more to send.
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

  /** Sends the number of missed readings, null if it is unknown, and continues at `position`. */
  sendGap(missed: number | null, position: LivePosition): void {
    this.#position = position;
    this.#write(this.#gapEvent(position, missed));
  }

  /**
   * Sends a comment, which keeps the connection open, and the position. The position keeps `Last-Event-ID` current for
   * a client whose filter matches few readings. A connection that accepts no data for `patienceMs` is closed, and so is
   * the stream of a viewer whose key has expired or was revoked.
   */
  beat(patienceMs: number): void {
    if (!this.#viewer.isCurrent()) {
      this.#response.destroy();
    } else if (this.#fullSince === null) {
      const id = this.#viewer.isLimited ? '' : `id: ${this.#ring.id(this.#position)}\n`;
      this.#write(`: heart-beat\n${id}\n`);
    } else if (performance.now() - this.#fullSince > patienceMs) {
      this.#response.destroy();
    }
  }

  end(): void {
    this.#response.end();
  }

  /** Closes the connection at once, even when it accepts no data. */
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
    if ('missed' in entry.content) return this.#gapEvent(position, entry.content.missed);
    return entry.content.select(this.#filter, !this.#viewer.isLimited);
  }

  #gapEvent(position: LivePosition, missed: number | null): string {
    if (this.#viewer.isLimited) return 'event: gap\ndata: {"missed":null}\n\n';
    return `id: ${this.#ring.id(position)}\nevent: gap\ndata: ${JSON.stringify({ missed })}\n\n`;
  }
}
