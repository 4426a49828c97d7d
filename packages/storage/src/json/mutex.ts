/** Runs calls one after the other, in the order of arrival. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** True while a call runs or waits. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  run<T>(call: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const result = this.#tail.then(call).finally(() => {
      this.#waiting -= 1;
    });
    this.#tail = result.catch(() => {});
    return result;
  }
}
