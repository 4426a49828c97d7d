import { type LiveLine, type Reading, toReadingDocument } from '@tidegauge/readings';

const WINDOW_MS = 100;
/** Readings a window can carry; what goes beyond is counted as missed, newest kept. */
const CAPACITY = 500;
/** Memory of the readings in a window, about. */
const CAPACITY_BYTES = 256 * 1024;
const MAX_LISTENERS = 16;

export interface LiveListener {
  line(line: LiveLine): void;
  /** Told once, when nothing more will come. */
  end(): void;
}

/**
 * Readings just committed, for whoever is watching. With nobody watching a commit costs one comparison; with
 * somebody, a window of 100 ms holds the newest 500 readings, or 256 KiB of them, and the number of those left
 * out, so neither a flood of readings, large texts nor a slow watcher grows memory or slows a commit.
 */
export class LiveFeed {
  readonly #listeners = new Set<LiveListener>();
  readonly #epoch = Date.now().toString(36);
  #window: Reading[] = [];
  #bytes = 0;
  #missed = 0;
  #next = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  push(readings: readonly Reading[]): void {
    if (this.#listeners.size === 0) return;
    const from = Math.max(readings.length - CAPACITY, 0);
    this.#missed += from;
    for (let index = from; index < readings.length; index++) {
      const reading = readings[index]!;
      this.#window.push(reading);
      this.#bytes += sizeOf(reading);
    }
    if (this.#window.length > CAPACITY || this.#bytes > CAPACITY_BYTES) this.#trim();
    this.#timer ??= setTimeout(() => this.#flush(), WINDOW_MS);
  }

  /** @returns how to stop listening, or null when there are too many listeners already, or the feed is closed. */
  listen(listener: LiveListener): (() => void) | null {
    if (this.#closed || this.#listeners.size >= MAX_LISTENERS) return null;
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#clear();
    };
  }

  /** Ends all listeners; there are none afterwards. */
  close(): void {
    this.#closed = true;
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
    this.#clear();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#window = [];
    this.#bytes = 0;
    this.#missed = 0;
  }

  /** Leaves out the oldest, down to the bounds. */
  #trim(): void {
    let gone = 0;
    while (this.#window.length - gone > CAPACITY || this.#bytes > CAPACITY_BYTES) {
      this.#bytes -= sizeOf(this.#window[gone]!);
      gone += 1;
    }
    this.#missed += gone;
    this.#window = this.#window.slice(gone);
  }

  #flush(): void {
    this.#timer = null;
    const id = `${this.#epoch}-${this.#next++}`;
    const lines: LiveLine[] = [];
    if (this.#missed > 0) lines.push({ id: `${id}m`, missed: this.#missed });
    lines.push({ id, readings: this.#window.map(toReadingDocument) });
    this.#window = [];
    this.#bytes = 0;
    this.#missed = 0;
    for (const listener of this.#listeners) for (const line of lines) listener.line(line);
  }
}

function sizeOf({ value, device, metric, boot }: Reading): number {
  const text = typeof value === 'string' ? value.length : 0;
  return 200 + 2 * (device.length + metric.length + text + (boot?.length ?? 0));
}
