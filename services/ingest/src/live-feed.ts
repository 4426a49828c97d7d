import { type LiveLine, type Reading, toReadingDocument } from '@tidegauge/readings';

const WINDOW_MS = 100;
/** Readings a window can carry; what goes beyond is counted as missed, newest kept. */
const CAPACITY = 500;
const MAX_LISTENERS = 16;

export type LiveListener = (line: LiveLine) => void;

/**
 * Readings just committed, for whoever is watching. With nobody watching a commit costs one comparison; with
 * somebody, a window of 100 ms holds the newest 500 readings and the number of those left out, so neither a
 * flood of readings nor a slow watcher grows memory or slows a commit.
 */
export class LiveFeed {
  readonly #listeners = new Set<LiveListener>();
  readonly #epoch = Date.now().toString(36);
  #window: Reading[] = [];
  #missed = 0;
  #next = 0;
  #timer: NodeJS.Timeout | null = null;

  push(readings: readonly Reading[]): void {
    if (this.#listeners.size === 0) return;
    const room = CAPACITY - this.#window.length;
    if (readings.length <= room) this.#window.push(...readings);
    else {
      const kept = [...this.#window, ...readings.slice(-CAPACITY)].slice(-CAPACITY);
      this.#missed += this.#window.length + readings.length - kept.length;
      this.#window = kept;
    }
    this.#timer ??= setTimeout(() => this.#flush(), WINDOW_MS);
  }

  /** @returns how to stop listening, or null when there are too many listeners already. */
  listen(listener: LiveListener): (() => void) | null {
    if (this.#listeners.size >= MAX_LISTENERS) return null;
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#window = [];
    this.#missed = 0;
  }

  #flush(): void {
    this.#timer = null;
    const id = `${this.#epoch}-${this.#next++}`;
    const lines: LiveLine[] = [];
    if (this.#missed > 0) lines.push({ id: `${id}m`, missed: this.#missed });
    lines.push({ id, readings: this.#window.map(toReadingDocument) });
    this.#window = [];
    this.#missed = 0;
    for (const listener of this.#listeners) for (const line of lines) listener(line);
  }
}
