import type { Metrics } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { Router } from 'express';

export function operationRoutes(store: Store, metrics: Metrics): Router {
  const router = Router();

  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });

  // Without ingest the API still answers what is stored, so only the store decides.
  router.get('/readyz', async (_request, response) => {
    await store.health();
    response.json({ status: 'ok' });
  });

  router.get('/metrics', async (_request, response) => {
    response.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics.text());
  });

  return router;
}
