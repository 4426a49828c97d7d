import {
  guardBrowsers,
  type Logger,
  Logins,
  type Metrics,
  notFound,
  Problem,
  problemHandler,
} from '@tidegauge/service';
import express, { type Express } from 'express';
import type { Membership } from './membership.ts';

export interface AppOptions {
  readonly membership: Membership;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Address that it is to listen on. */
  readonly listen: string;
  readonly token: string | null;
  /** After so long without a round that went well it is not ready. */
  readonly staleSeconds: number;
}

/** The HTTP side, not listening yet. */
export function createApp({ membership, metrics, logger, listen, token, staleSeconds }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  const logins = new Logins({ token, variable: 'HTTP_TOKEN', logger, metrics });
  app.use(guardBrowsers(listen), logins.guard);
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', (_request, response) => {
    const { lastRound, lastResolve } = membership;
    const why = isStale(lastRound, staleSeconds)
      ? 'The coordinator is not reached.'
      : isStale(lastResolve, staleSeconds)
        ? 'DNS gives no addresses of workers.'
        : null;
    if (why !== null) throw new Problem(503, 'Not ready', why, { retryAfter: 5 });
    response.json({ status: 'ready' });
  });
  app.get('/metrics', async (_request, response) => {
    response.type('text/plain; version=0.0.4').send(await metrics.text());
  });
  app.get('/workers', (_request, response) => {
    const { members, waiting } = membership.view;
    response.json({ workers: members, waiting: [...waiting].map(([address, why]) => ({ address, why })) });
  });
  app.get('/rebalance', (_request, response) => void response.json(progress(membership)));
  app.post('/rebalance', (_request, response) => {
    const why = membership.startRebalance();
    if (why !== null) throw new Problem(409, 'Cannot rebalance now', `It cannot begin: ${why}.`);
    response.status(202).json(progress(membership));
  });
  app.use(notFound, problemHandler(logger));
  return app;
}

function progress({ rebalance, view }: Membership): object {
  return { ...rebalance.progress, lacking: view.lacking, job: view.job };
}

function isStale(at: number | null, staleSeconds: number): boolean {
  return at === null || Date.now() - at > staleSeconds * 1000;
}
