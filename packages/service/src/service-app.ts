import type { IncomingMessage } from 'node:http';
import express, { type Express, type Router } from 'express';
import type { Access } from './access/access.ts';
import { Hosts } from './access/hosts.ts';
import type { Rule } from './access/principal.ts';
import { openAccess } from './access/settings.ts';
import { guardBrowsers } from './guards.ts';
import { isLoopback } from './http.ts';
import type { Logger } from './logger.ts';
import { isSafe } from './methods.ts';
import { type OperationOptions, operationRoutes } from './operation-routes.ts';
import { notFound, problemHandler } from './problem.ts';

export interface ServiceAppOptions extends OperationOptions {
  readonly logger: Logger;
  /** The address that the server will listen on; it decides which Host headers are served. */
  readonly listen: string;
  /**
   * Token for requests that change something (`HTTP_TOKEN`); with null, no login is needed. Leave it out when the
   * service has no such request, or when `access` is given. Reads need no login then.
   */
  readonly token?: string | null;
  /** Decides who may do what. Everything except health needs a login, as it is configured. */
  readonly access?: Access;
  /** Further names in the `Host` header that are answered. Default: beyond loopback every name. */
  readonly allowedHosts?: readonly string[];
  /** The service's own routes. */
  readonly routes?: Router;
}

/**
 * The HTTP application of a service with an operator's port: protection against foreign web pages, logins, health,
 * readiness, metrics, the given routes, and problem documents for everything else. It does not listen.
 */
export function createServiceApp(options: ServiceAppOptions): Express {
  const { listen, routes, logger } = options;
  const { allowedHosts = isLoopback(listen) ? [] : ['*'] } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  const access = accessOf(options);
  if (access !== null) app.use((request, response, next) => void (access.begin(request, response) && next()));
  app.use(guardBrowsers(new Hosts(listen, allowedHosts)));
  if (access !== null) app.use(access.guard(ruleOf));
  app.use(operationRoutes(options));
  if (routes !== undefined) app.use(routes);
  app.use(notFound, problemHandler(logger));
  return app;
}

function accessOf({ access, token, listen, logger, metrics }: ServiceAppOptions): Access | null {
  if (access !== undefined || token === undefined) return access ?? null;
  const config = { httpListen: listen, token, variable: 'HTTP_TOKEN', openReads: true };
  return openAccess(config, logger, metrics);
}

/** Paths to which readings are sent, to be stored or explained. */
const DATA: ReadonlySet<string> = new Set(['/readings', '/lines', '/explain']);

/** Health needs no login, because probes have none, and its answers have no data. */
function ruleOf({ method, url }: IncomingMessage): Rule {
  const path = url!.split('?', 1)[0]!;
  if (!isSafe(method!)) return { scope: 'write', limitsDevices: false, isData: DATA.has(path) };
  if (path === '/healthz' || path === '/readyz') return { scope: 'public', limitsDevices: true };
  return { scope: path === '/metrics' ? 'metrics' : 'read', limitsDevices: false };
}
