import express, { type Express, type Router } from 'express';
import { guardBrowsers } from './guards.ts';
import type { Logger } from './logger.ts';
import { Logins } from './logins.ts';
import { type OperationOptions, operationRoutes } from './operation-routes.ts';
import { notFound, problemHandler } from './problem.ts';

export interface ServiceAppOptions extends OperationOptions {
  readonly logger: Logger;
  /** The address that the server will listen on; it decides which Host headers are served. */
  readonly listen: string;
  /**
   * Token for requests that change something (`HTTP_TOKEN`); with null, no login is needed. Leave it out when the
   * service has no such request.
   */
  readonly token?: string | null;
  /** The service's own routes. */
  readonly routes?: Router;
}

/**
 * The HTTP application of a service with an operator's port: protection against foreign web pages, logins, health,
 * readiness, metrics, the given routes, and problem documents for everything else. It does not listen.
 */
export function createServiceApp(options: ServiceAppOptions): Express {
  const { logger, metrics, listen, token, routes } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.use(guardBrowsers(listen));
  if (token !== undefined) app.use(new Logins({ token, variable: 'HTTP_TOKEN', logger, metrics }).guard);
  app.use(operationRoutes(options));
  if (routes !== undefined) app.use(routes);
  app.use(notFound, problemHandler(logger));
  return app;
}
