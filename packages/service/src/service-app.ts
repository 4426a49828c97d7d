import type { IncomingMessage } from 'node:http';
import express, { type Express, type RequestHandler, type Router } from 'express';
import type { Access } from './access/access.ts';
import { Hosts } from './access/hosts.ts';
import type { Rule, Scope } from './access/principal.ts';
import { openAccess } from './access/settings.ts';
import { AnswerMemory } from './answer-memory.ts';
import { guardBrowsers, securityHeaders } from './guards.ts';
import { isLoopback } from './http.ts';
import type { Logger } from './logger.ts';
import { isSafe } from './methods.ts';
import { type OperationOptions, operationRoutes } from './operation-routes.ts';
import { notFound, problemHandler } from './problem.ts';

/** A request that a service answers, and what its sender needs. */
export interface ServiceOperation {
  /** Its name in the audit, such as `addRoute`. */
  readonly id: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** As Express reads it. The first operation that matches a request answers it. */
  readonly path: string;
  readonly scope: Scope;
  /** Whether the handlers limit their answer and their effect to the devices of the principal. Default: no. */
  readonly limitsDevices?: boolean;
  /** Whether it changes readings, of which there can be thousands per second: the audit counts them. Default: no. */
  readonly isData?: boolean;
  readonly handlers: readonly RequestHandler[];
}

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
  /** Sites whose pages may use the service with a key. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** Bounds the memory of answers. Default: of this application alone. */
  readonly answers?: AnswerMemory;
  /** The service's own requests. */
  readonly operations?: readonly ServiceOperation[];
}

/**
 * The HTTP application of a service with an operator's port: protection against foreign web pages, logins, health,
 * readiness, metrics, the given operations, and problem documents for everything else. It does not listen.
 */
export function createServiceApp(options: ServiceAppOptions): Express {
  const { listen, operations = [], logger, corsOrigins = [] } = options;
  const { allowedHosts = isLoopback(listen) ? [] : ['*'] } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  (options.answers ?? serviceAnswers()).bound(app);
  const access = accessOf(options);
  if (access !== null) app.use((request, response, next) => access.begin(request, response, next));
  app.use(securityHeaders, guardBrowsers(new Hosts(listen, allowedHosts), corsOrigins));
  const guard = (ruleOf: (request: IncomingMessage) => Rule): RequestHandler =>
    access === null ? (_request, _response, next) => next() : access.guard(ruleOf);
  // Health needs no login, because probes have none, and its answers have no data.
  app.use(
    '/metrics',
    guard(() => METRICS),
  );
  app.use(operationRoutes(options));
  app.use(routesOf(operations, guard));
  app.use(guard(unknown), notFound, problemHandler(logger));
  return app;
}

/** The memory of answers of an operator's port, whose largest are pages of half a MiB. */
export function serviceAnswers(): AnswerMemory {
  return new AnswerMemory(4 * 2 ** 20);
}

const METRICS: Rule = { scope: 'metrics', limitsDevices: false };

/** A request for no operation needs a login too, so that the answer to a sender without one is the same for all paths. */
function unknown({ method }: IncomingMessage): Rule {
  return { scope: isSafe(method!) ? 'read' : 'write', limitsDevices: false };
}

/** Each operation with its own guard, so that no spelling of a path has another rule. */
function routesOf(
  operations: readonly ServiceOperation[],
  guard: (ruleOf: () => Rule) => RequestHandler,
): Router {
  const router = express.Router();
  for (const { id, method, path, scope, limitsDevices = false, isData = false, handlers } of operations) {
    const rule: Rule = { scope, limitsDevices, action: id, isData };
    router[method](
      path,
      guard(() => rule),
      ...handlers,
    );
  }
  return router;
}

function accessOf({ access, token, listen, logger, metrics }: ServiceAppOptions): Access | null {
  if (access !== undefined || token === undefined) return access ?? null;
  const config = { httpListen: listen, token, variable: 'HTTP_TOKEN', openReads: true };
  return openAccess(config, logger, metrics);
}
