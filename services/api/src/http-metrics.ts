import type { HistogramMetric } from '@tidegauge/service';
import type { RequestHandler } from 'express';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Observes `tidegauge_http_request_seconds`. The route is `locals.route`, such as `/v1/devices/{name}`, and never the
 * path, which would make a series for each device. A live stream is not observed, because it lasts as long as its
 * client stays.
 */
export function httpMetrics(seconds: HistogramMetric): RequestHandler {
  return (request, response, next) => {
    const started = performance.now();
    const method = METHODS.has(request.method) ? request.method : 'OTHER';
    response.once('close', () => {
      const route = (response.locals.route as string | undefined) ?? 'unmatched';
      if (route === '/v1/live' && response.statusCode === 200) return;
      const status = String(response.statusCode);
      seconds.with({ method, route, status }).observe((performance.now() - started) / 1000);
    });
    next();
  };
}
