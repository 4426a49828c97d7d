/** Functions that stop servers and remove files at the end of a run. They are called in reverse order. */
export class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  /** Calls all functions, also after one has failed. Rejects with the first error. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      await close().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }
}
