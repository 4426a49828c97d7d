import { Router } from 'express';
import type { Metrics } from './metrics.ts';
import { Problem } from './problem.ts';
import { Readiness, type ReadinessChecks } from './readiness.ts';

export interface OperationOptions {
  readonly metrics: Metrics;
  /** What must work for the service to be ready. */
  readonly checks: ReadinessChecks;
  /** What an operator should repair although the service is ready. `/readyz` lists it; default: nothing. */
  readonly warnings?: () => readonly string[];
  /** Bound of `/readyz`, milliseconds. Default: `READINESS_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
  /** `Retry-After` of an answer that the service is not ready, seconds. Default: 5. */
  readonly retryAfter?: number;
}

/**
 * The routes that every service has:
 *
 * - `GET /healthz`: 200 while the process can answer. Restart the process when it does not.
 * - `GET /readyz`: 200 when every check passes, with `warnings` if there are any; otherwise 503 with the reasons. It
 *   answers within the time limit, also when the store or the broker hangs.
 * - `GET /metrics`: the Prometheus text format.
 */
export function operationRoutes({
  metrics,
  checks,
  warnings = () => [],
  timeoutMs,
  retryAfter = 5,
}: OperationOptions): Router {
  const readiness = new Readiness(checks, timeoutMs);
  const router = Router();
  router.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  router.get('/readyz', async (_request, response) => {
    const reasons = await readiness.reasons();
    const warned = warnings();
    if (reasons.length > 0) {
      throw new Problem(503, 'Not ready', [...reasons, ...warned].join('; '), { retryAfter });
    }
    response.json({ status: 'ok', ...(warned.length === 0 ? {} : { warnings: warned }) });
  });
  router.get('/metrics', async (_request, response) => {
    response.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics.text());
  });
  return router;
}
