import { Router } from 'express';
import type { LiveHub } from '../live-hub.ts';
import { device, metric, queryOf } from '../parameters.ts';

export function liveRoutes(hub: LiveHub): Router {
  const router = Router();
  router.get('/v1/live', (request, response) => {
    const query = queryOf<{ device: string; metric: string }>(request);
    const filter = {
      device: query.device === undefined ? null : device(query.device),
      metric: metric(query.metric) ?? null,
    };
    hub.join(response, filter, request.get('Last-Event-ID') ?? null);
  });
  return router;
}
