import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, Problem, problemHandler, securityHeaders } from '@tidegauge/service';
import { isRetryable, type Store, type StoreError } from '@tidegauge/storage';
import express from 'express';
import { STORE_ANSWERS } from './problems.ts';

/** How often the store is opened again until it answers. */
const REOPEN_MS = 1000;

/** The store of an API that starts. It need not answer yet, as when a whole machine starts. */
export class Starting {
  /** Resolves to the open store. Rejects when only an operator can help, or when `signal` ends it. */
  readonly opened: Promise<Store>;
  /** Resolves when the store has not answered once. */
  readonly late: Promise<void>;
  readonly #logger: Logger;
  readonly #isLate = Promise.withResolvers<void>();
  #failure: StoreError | null = null;

  /** @param open opens the store and upgrades its schema. If that fails, nothing is left open */
  constructor(open: () => Promise<Store>, logger: Logger, signal: AbortSignal) {
    this.#logger = logger;
    this.late = this.#isLate.promise;
    this.opened = this.#open(open, signal);
  }

  /** Answers requests until the store is open: the process is alive, and cannot do anything yet. Who asks is not known. */
  handler(): RequestListener {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.use(securityHeaders);
    app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
    const { status, title, detail, retryAfter = 5 } = STORE_ANSWERS.UNAVAILABLE;
    app.use(() => {
      throw new Problem(status, title, detail, { retryAfter });
    }, problemHandler(this.#logger));
    return app;
  }

  async #open(open: () => Promise<Store>, signal: AbortSignal): Promise<Store> {
    for (;;) {
      try {
        const store = await open();
        if (this.#failure !== null) this.#logger.info('the store answers');
        return store;
      } catch (error) {
        if (!isRetryable(error)) throw error;
        if (this.#failure?.message !== error.message)
          this.#logger.warn({ err: error }, 'the store does not answer yet, trying again');
        this.#failure = error;
        this.#isLate.resolve();
      }
      await sleep(REOPEN_MS, undefined, { signal });
    }
  }
}
