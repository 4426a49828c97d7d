import type { BackendLogger } from './context.ts';
import { StoreError, type StoreErrorCode } from './errors.ts';

/** All operations that a store reports. Metrics create their labels from this list at the start. */
export const STORE_OPERATIONS = [
  'open',
  'migrate',
  'health',
  'lease',
  'identity',
  'identify',
  'compact',
  'space',
  'readings.write',
  'readings.range',
  'readings.latest',
  'readings.metrics',
  'readings.devices',
  'readings.setUnits',
  'readings.units',
  'readings.aggregate',
  'readings.groups',
  'readings.rangeOfDevices',
  'readings.rollUp',
  'readings.expire',
  'readings.delete',
  'devices.get',
  'devices.put',
  'devices.register',
  'devices.patch',
  'devices.patchWhere',
  'devices.delete',
  'devices.list',
  'records.createTable',
  'records.dropTable',
  'records.read',
  'records.insert',
  'records.insertMany',
  'records.update',
  'records.delete',
  'records.scan',
  'rollups.work',
  'rollups.read',
  'rollups.status',
  'rollups.limitRaw',
  'rollups.expire',
] as const;

export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/**
 * Called at the end of every call that reached the backend. A range ends with its iteration, and its time excludes
 * the time of the consumer.
 */
export type Observe = (operation: StoreOperation, seconds: number, error: StoreErrorCode | null) => void;

/** Decides for a process which calls its store receives, except those that open, migrate and identify it. */
export interface StoreGuard {
  /** Null: the call begins. Otherwise the call begins when the promise resolves, and fails when it rejects. */
  admit(): Promise<void> | null;
  /** Called for each call that failed. Returns the error that the caller receives. */
  failed(error: StoreError): StoreError;
}

export interface WrapOptions {
  readonly logger: BackendLogger;
  readonly observe: Observe;
  readonly guard?: StoreGuard;
  /** Removes the secrets of the URL from a message of a driver. Default: the message stays as it is. */
  readonly redact?: (text: string) => string;
  /** The time in microseconds. Default: the clock of the computer. */
  readonly clock?: () => number;
}

const LOG_EVERY_MS = 5000;
/** Codes of errors whose text comes from the driver or the network, not from the caller's data. */
const FROM_THE_DRIVER: ReadonlySet<StoreErrorCode> = new Set([
  'UNAVAILABLE',
  'UNEXPECTED',
  'MISCONFIGURED',
  'TIMEOUT',
]);

/** Counts and times calls. Rejects them with CLOSED unless the store is open. */
export class Gate {
  isOpen = false;
  readonly #name: string;
  readonly #options: WrapOptions;
  #underWay = 0;
  /** When an UNEXPECTED error was last logged. */
  #logged = Number.NEGATIVE_INFINITY;
  #wake: (() => void) | null = null;

  constructor(name: string, options: WrapOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** One function for the whole way of a call, because each further one costs a promise. */
  async pass<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const started = performance.now();
    let code: StoreErrorCode | null = null;
    try {
      const waits = this.#options.guard?.admit() ?? null;
      if (waits !== null) await waits;
      this.demandOpen();
      this.#underWay += 1;
      try {
        return await call();
      } finally {
        this.#leave();
      }
    } catch (error) {
      const known = this.#guarded(this.#known(operation, error));
      code = known.code;
      throw known;
    } finally {
      this.#options.observe(operation, (performance.now() - started) / 1000, code);
    }
  }

  /** A call that the guard makes itself. */
  unguarded<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    return this.observed(operation, async () => {
      this.demandOpen();
      return await this.counted(call);
    });
  }

  async observed<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const started = performance.now();
    let code: StoreErrorCode | null = null;
    try {
      return await call();
    } catch (error) {
      const known = this.#known(operation, error);
      code = known.code;
      throw known;
    } finally {
      this.#options.observe(operation, (performance.now() - started) / 1000, code);
    }
  }

  /** Observes an iteration as one operation of many calls. Between these calls, nothing is running. */
  async *stream<T>(operation: StoreOperation, items: () => AsyncIterable<T>): AsyncGenerator<T> {
    let seconds = 0;
    let code: StoreErrorCode | null = null;
    let iterator: AsyncIterator<T> | null = null;
    let done = false;
    const step = async () => {
      const started = performance.now();
      try {
        iterator ??= items()[Symbol.asyncIterator]();
        return await iterator.next();
      } finally {
        seconds += (performance.now() - started) / 1000;
      }
    };
    try {
      const waits = this.#options.guard?.admit() ?? null;
      if (waits !== null) await waits;
      for (;;) {
        this.demandOpen();
        const result = await this.counted(step);
        done = result.done === true;
        if (result.done) return;
        yield result.value;
      }
    } catch (error) {
      done = true;
      const known = this.#guarded(this.#known(operation, error));
      code = known.code;
      throw known;
    } finally {
      if (!done) await (iterator as AsyncIterator<T> | null)?.return?.();
      this.#options.observe(operation, seconds, code);
    }
  }

  async counted<T>(call: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await call();
    } finally {
      this.#leave();
    }
  }

  /** @throws {StoreError} CLOSED */
  demandOpen(): void {
    if (!this.isOpen) throw new StoreError('CLOSED', `the ${this.#name} store is not open`);
  }

  #leave(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#wake?.();
  }

  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #masked(error: StoreError): StoreError {
    if (FROM_THE_DRIVER.has(error.code))
      error.message = this.#options.redact?.(error.message) ?? error.message;
    return error;
  }

  #guarded(error: StoreError): StoreError {
    return this.#options.guard?.failed(error) ?? error;
  }

  /** Callers retry after an UNEXPECTED error, so only some of these errors are logged. */
  #known(operation: StoreOperation, error: unknown): StoreError {
    const known = error instanceof StoreError ? this.#masked(error) : this.#unforeseen(operation, error);
    if (known.code === 'UNEXPECTED' && performance.now() - this.#logged >= LOG_EVERY_MS) {
      this.#logged = performance.now();
      this.#options.logger.error(
        { err: known, backend: this.#name, operation },
        'unexpected error of the store',
      );
    }
    return known;
  }

  /** An error that the backend did not map: a bug in Tidegauge or in a driver. */
  #unforeseen(operation: StoreOperation, error: unknown): StoreError {
    const text = this.#options.redact?.(String(error)) ?? String(error);
    return new StoreError('UNEXPECTED', `${this.#name} ${operation}: ${text}`, {
      cause: error,
      hint: 'report it to the authors of Tidegauge, with the log',
    });
  }
}
