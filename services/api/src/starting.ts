import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, securityHeaders, sendProblem } from '@tidegauge/service';
import { isRetryable, type Store } from '@tidegauge/storage';
import express from 'express';
import { STORE_ANSWERS } from './problems.ts';

/** How often the store is opened again until it answers. */
const REOPEN_MS = 1000;

/**
 * Opens the store of an API that starts. It need not answer yet, as when a whole machine starts.
 *
 * @param open opens it and upgrades its schema. If that fails, nothing is left open
 * @param onLate called each time it has not answered
 * @throws {StoreError} when only an operator can help
 */
export async function openWhenItAnswers(
  open: () => Promise<Store>,
  logger: Logger,
  onLate: () => void,
  signal: AbortSignal,
): Promise<Store> {
  for (let reported: string | null = null; ; ) {
    try {
      const store = await open();
      if (reported !== null) logger.info('the store answers');
      return store;
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (reported !== error.message)
        logger.warn({ err: error }, 'the store does not answer yet, trying again');
      reported = error.message;
      onLate();
    }
    await sleep(REOPEN_MS, undefined, { signal });
  }
}

/** Answers requests until the store is open: the process is alive, and cannot do anything yet. Who asks is not known. */
export function answersBeforeStore(): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(securityHeaders);
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.use((request, response) => sendProblem(response, request.originalUrl, STORE_ANSWERS.UNAVAILABLE));
  return app;
}
