import type { Reading } from '@tidegauge/readings';
import { type Store, StoreError } from '@tidegauge/storage';

/** Texts of one batch, UTF-16 code units. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024;
const MAX_REASONS = 5;

/** Writes readings of all devices in full batches, as many at the same time as the store can use. */
export class BatchWriter {
  readonly #store: Store;
  readonly #running = new Set<Promise<void>>();
  #batch: Reading[] = [];
  #length = 0;
  #failure: { readonly error: unknown } | null = null;
  /** Readings that the store has. */
  written = 0;
  /** Readings that the store refused. */
  refused = 0;
  /** The first reasons of refusals. */
  readonly reasons: string[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** Null, or a promise to wait for before the next reading. */
  add(reading: Reading): Promise<void> | null {
    this.#batch.push(reading);
    if (typeof reading.value === 'string') this.#length += reading.value.length;
    const isFull =
      this.#batch.length >= this.#store.capabilities.maxBatch || this.#length >= MAX_BATCH_LENGTH;
    return isFull ? this.#send() : null;
  }

  /** Resolves when all readings are durable. */
  async flush(): Promise<void> {
    if (this.#batch.length > 0) await this.#send();
    await Promise.all(this.#running);
    this.#throwFailure();
  }

  /** Drops the readings that are not written yet, after a failure. */
  async reset(): Promise<void> {
    this.#batch = [];
    this.#length = 0;
    await Promise.all(this.#running);
    this.#failure = null;
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#length = 0;
    while (this.#running.size >= this.#store.capabilities.writers) await Promise.race(this.#running);
    this.#throwFailure();
    const running: Promise<void> = this.#write(batch)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Writes a batch without the readings that the store refuses. */
  async #write(batch: readonly Reading[]): Promise<void> {
    try {
      await this.#store.readings.write(batch);
      this.written += batch.length;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'REJECTED') throw error;
      const rows = new Set(batch.length === 1 ? [0] : (error.rows ?? []));
      if (rows.size === 0) {
        const half = batch.length >> 1;
        await this.#write(batch.slice(0, half));
        await this.#write(batch.slice(half));
        return;
      }
      this.refused += rows.size;
      if (this.reasons.length < MAX_REASONS) this.reasons.push(error.message);
      const others = batch.filter((_, row) => !rows.has(row));
      if (others.length > 0) await this.#write(others);
    }
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}
