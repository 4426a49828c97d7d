import type { HistogramMetric } from '@tidegauge/service';
import type { RequestHandler } from 'express';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Observes `tidegauge_http_request_seconds`. The route is the template of the OpenAPI document (or what a
 * handler put in `locals.route`), never the path: a path would make a series per device. A live stream is
 * left out, for its duration says nothing.
 */
export function httpMetrics(seconds: HistogramMetric): RequestHandler {
  return (request, response, next) => {
    const started = performance.now();
    const method = METHODS.has(request.method) ? request.method : 'OTHER';
    response.once('close', () => {
      const route = templateOf(request) ?? (response.locals.route as string | undefined) ?? 'unmatched';
      if (route === '/v1/live' && response.statusCode === 200) return;
      const status = String(response.statusCode);
      seconds.with({ method, route, status }).observe((performance.now() - started) / 1000);
    });
    next();
  };
}

/** The validator leaves the matched operation on the request. */
function templateOf(request: object): string | undefined {
  return (request as { openapi?: { openApiRoute?: string } }).openapi?.openApiRoute;
}
