import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, type Logger } from '@tidegauge/service';
import {
  type Capabilities,
  createStore,
  DAMAGED,
  type DeviceStore,
  isDamaged,
  isRetryable,
  type Observe,
  type ReadingStore,
  type RecordStore,
  type RollupStore,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreGuard,
  type StoreSpace,
} from '@tidegauge/storage';
import { maskUrl } from '@tidegauge/text';
import { Backoff } from './backoff.ts';
import { replaceFile } from './replace-file.ts';

/** How long the start waits for the first attempt. It then continues without the store. */
const START_MS = 2000;
/** After a call that succeeded, the store is the same one for this time. No server is replaced so fast. */
const SURE_MS = 1000;
/** Errors after which a server can have been replaced. */
const OF_SERVERS: ReadonlySet<StoreErrorCode> = new Set([
  'UNAVAILABLE',
  'TIMEOUT',
  'UNEXPECTED',
  'MISCONFIGURED',
]);

export interface IngestStoreOptions {
  readonly url: string;
  /** The file with the identity of the store that this process writes to. Without it, any store is taken. */
  readonly journal: string;
  readonly logger: Logger;
  readonly observe?: Observe;
  /** Default: `createStore`. */
  readonly create?: typeof createStore;
  /** Called once when only an operator can help: wrong settings, or a newer schema. */
  readonly onBroken: (error: unknown) => void;
}

/**
 * The store of ingest, which need not answer when ingest starts, and which can be replaced by another one while ingest
 * runs. Calls are refused with UNAVAILABLE, so that readings go to the spool,
 *
 * - until the store answers: it is opened again and again;
 * - while it is another store than the one in the journal: a new server in place of one that died. Its readings would be in
 *   the way of those of a backup. It is used when it has the identity of the journal, which a restored backup brings, or
 *   when an operator deletes the journal.
 *
 * The identity is compared when the store is opened, after a failure, and when no call succeeded for a second. So a busy
 * store costs nothing, and a call never reaches a server that was replaced since.
 */
export class IngestStore implements Store, StoreGuard {
  readonly #options: IngestStoreOptions;
  readonly #end = new AbortController();
  readonly #opened = Promise.withResolvers<void>();
  #store!: Store;
  /** Of the store in use. Null if the engine keeps none. */
  #identity: string | null = null;
  /** Why calls are refused. Null: they are not. */
  #refusal: StoreError | null;
  /** Whether the settings are right: a server that refuses them now is not set up yet. */
  #wasInUse = false;
  /** Whether the log has a refusal. */
  #isReported = false;
  /** `performance.now()` of the last success. */
  #answered = Number.NEGATIVE_INFINITY;
  /** Whether readings were written since the store was compared after a failure. */
  #isProven = false;
  #comparing: Promise<void> | null = null;

  private constructor(options: IngestStoreOptions) {
    this.#options = options;
    this.#refusal = new StoreError('UNAVAILABLE', `${maskUrl(options.url)} has not answered yet`);
    this.#opened.promise.catch(() => {});
  }

  /** @throws {StoreError} MISCONFIGURED when the URL is wrong */
  static async create(options: IngestStoreOptions): Promise<IngestStore> {
    const store = new IngestStore(options);
    store.#store = await store.#create();
    return store;
  }

  /** Why readings cannot be stored; null while the store is in use. */
  get trouble(): StoreError | null {
    return this.#refusal;
  }

  /** Resolves when the store is in use for the first time. Rejects when only an operator can help. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get name(): string {
    return this.#store.name;
  }

  get capabilities(): Capabilities {
    return this.#store.capabilities;
  }

  get readings(): ReadingStore {
    return this.#store.readings;
  }

  get devices(): DeviceStore {
    return this.#store.devices;
  }

  get records(): RecordStore {
    return this.#store.records;
  }

  get rollups(): RollupStore {
    return this.#store.rollups;
  }

  /**
   * Opens the store and upgrades its schema. Resolves when it is in use, or else after the first attempt, and after two
   * seconds in any case. Further attempts are made in the background.
   *
   * @throws {StoreError | ConfigError} when only an operator can help
   */
  async open(): Promise<void> {
    const failedOnce = new Promise<void>((resolve) => void this.#openUntilItAnswers(resolve));
    await Promise.race([this.#opened.promise, failedOnce, sleep(START_MS, undefined, { ref: false })]);
  }

  migrate(): Promise<void> {
    return this.#store.migrate();
  }

  health(): Promise<void> {
    return this.#store.health();
  }

  lease(name: string, holder: string, ms: number): Promise<boolean> {
    return this.#store.lease(name, holder, ms);
  }

  identity(): Promise<string | null> {
    return this.#store.identity();
  }

  identify(identity: string): Promise<string | null> {
    return this.#store.identify(identity);
  }

  compact(): Promise<boolean> {
    return this.#store.compact();
  }

  space(): Promise<StoreSpace | null> {
    return this.#store.space();
  }

  close(): Promise<void> {
    this.#end.abort();
    return this.#store.close();
  }

  admit(): Promise<void> | null {
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    if (performance.now() - this.#answered < SURE_MS) return null;
    this.#comparing ??= this.#compareAgain().finally(() => {
      this.#comparing = null;
    });
    return this.#comparing;
  }

  /**
   * A new server has no tables, which is MISCONFIGURED. Only if the store proves to be the same one, and fails again before
   * it takes a write, an operator must help. A damaged store must not end ingest: readings go to the spool.
   */
  failed(error: StoreError): StoreError {
    if (isDamaged(error))
      return new StoreError('UNAVAILABLE', error.message, { cause: error, hint: DAMAGED });
    if (this.#refusal !== null || !OF_SERVERS.has(error.code)) return error;
    this.#answered = Number.NEGATIVE_INFINITY;
    if (error.code !== 'MISCONFIGURED' || !this.#isProven) return error;
    this.#isProven = false;
    return new StoreError('UNAVAILABLE', error.message, { cause: error });
  }

  #create(): Promise<Store> {
    const { url, logger, observe, create = createStore } = this.#options;
    return create(url, {
      logger,
      guard: this,
      observe: (operation, seconds, code) => {
        if (code === null) this.#answered = performance.now();
        if (code === null && operation === 'readings.write') this.#isProven = true;
        observe?.(operation, seconds, code);
      },
    });
  }

  async #openUntilItAnswers(onFailure = () => {}): Promise<void> {
    const { logger, onBroken } = this.#options;
    const { signal } = this.#end;
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        await this.#tryToOpen();
        if (this.#isReported) logger.info('the store is in use');
        this.#isReported = false;
        this.#refusal = null;
        this.#wasInUse = true;
        this.#opened.resolve();
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isPassing(error) && !(this.#wasInUse && error instanceof StoreError)) {
          this.#opened.reject(error);
          onBroken(error);
          return;
        }
        this.#refuse(error);
        onFailure();
      }
      await backoff.wait(signal).catch(() => {});
    }
  }

  async #tryToOpen(): Promise<void> {
    try {
      await this.#store.open();
      await this.#store.migrate();
      await this.#compare();
    } catch (error) {
      await this.#replace();
      throw error;
    }
  }

  /** A store can be opened only once. */
  async #replace(): Promise<void> {
    await this.#store.close().catch(() => {});
    this.#store = await this.#create();
  }

  /** Compares the store with the journal. Without a journal, it begins one. */
  async #compare(): Promise<void> {
    const { journal, logger } = this.#options;
    const known = readJournal(journal, logger);
    if (known === null) {
      this.#identity = await this.#store.identify(randomUUID());
      if (this.#identity !== null) keepJournal(journal, this.#identity, logger);
      return;
    }
    const found = await this.#store.identity();
    if (found !== known) throw this.#another(found);
    this.#identity = known;
  }

  async #compareAgain(): Promise<void> {
    let found: string | null;
    try {
      found = await this.#store.identity();
    } catch (error) {
      if ((error as StoreError).code === 'MISCONFIGURED') this.#openAgain(error as StoreError);
      throw this.#refusal ?? error;
    }
    if (found === this.#identity) return;
    this.#openAgain(this.#another(found));
    throw this.#refusal;
  }

  #openAgain(error: StoreError): void {
    this.#refuse(error);
    void this.#replace().then(() => this.#openUntilItAnswers());
  }

  #refuse(error: StoreError): void {
    const { message, hint, cause } = error;
    if (this.#refusal?.message !== message) {
      this.#options.logger.warn({ err: error }, 'the store is not in use, trying again');
      this.#isReported = true;
    }
    // Callers try again, whatever the reason is.
    this.#refusal = new StoreError('UNAVAILABLE', message, { cause, ...(hint === null ? {} : { hint }) });
  }

  #another(found: string | null): StoreError {
    const { url, journal } = this.#options;
    const which = found === null ? 'is a new store' : 'is another store';
    const todo = `restore a backup to it, or delete ${journal} to use it as it is`;
    const problem = `${which}, not the one that ingest wrote to: ${todo}`;
    return new StoreError('UNAVAILABLE', `${maskUrl(url)} ${problem}`, { hint: `it ${problem}` });
  }
}

const IDENTITY = /^[\x21-\x7e]+$/;

/** Whether the store can answer later without a change of settings: also when its damaged file is replaced. */
function isPassing(error: unknown): error is StoreError {
  const isUnexpected = error instanceof StoreError && error.code === 'UNEXPECTED';
  return isRetryable(error) || isDamaged(error) || isUnexpected;
}

/**
 * The identity in the file; null without a file, and when it is damaged: ingest must go on storing.
 *
 * @throws {ConfigError} when the file exists and cannot be read
 */
function readJournal(path: string, logger: Logger): string | null {
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (IDENTITY.test(text)) return text;
    logger.error({ file: path }, 'the identity of the store is damaged: the store is used as it is');
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new ConfigError([`${path} cannot be read: ${(error as Error).message}: check DATA_DIR`]);
  }
}

function keepJournal(path: string, identity: string, logger: Logger): void {
  try {
    replaceFile(path, `${identity}\n`);
  } catch (error) {
    // Readings are not lost for it, for example on a full disk.
    logger.error(
      { err: error, file: path },
      'the identity of the store cannot be kept: a replaced store would be used',
    );
  }
}
