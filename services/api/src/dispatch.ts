import type { ServerResponse } from 'node:http';
import { type Principal, principalOf } from '@tidegauge/service';
import type { Request, RequestHandler, Response } from 'express';
import type { Parameters } from './operation.ts';
import type { OperationTable } from './operation-table.ts';

/** A request for an operation, checked against the OpenAPI document. */
export interface Call extends Parameters {
  readonly request: Request;
  /** Who sent the request. */
  readonly principal: Principal;
  /** The `request.body` that the body readers set; undefined when the operation has no body. */
  readonly body: unknown;
}

export type Handler = (call: Call, response: Response) => Promise<void> | void;

/** A handler that uses nothing of Express, so that the fast lane can call it. */
export type PlainHandler = (
  call: Parameters & Pick<Call, 'principal'>,
  response: ServerResponse,
) => Promise<void>;

/** The handlers of the operations, by `operationId`. */
export type Handlers = Readonly<Record<string, Handler>>;

/** Middleware that reads the body into `request.body`, by the tag of the operation. */
export type BodyReaders = Readonly<Record<string, readonly RequestHandler[]>>;

/**
 * Answers the operations of the OpenAPI document: finds the operation, reads the body, checks the parameters and the
 * body, and calls the handler. A body that a reader leaves as bytes is not checked. Other requests go to the next
 * middleware, and so do operations without a handler.
 *
 * @throws {TypeError} when a handler's operation is not in the document, or there is no reader for its body
 */
export function dispatch(table: OperationTable, handlers: Handlers, readers: BodyReaders): RequestHandler {
  for (const id of Object.keys(handlers)) {
    const operation = table.get(id);
    if (operation === undefined) throw new TypeError(`the OpenAPI document has no operation ${id}`);
    if (operation.hasBody && readers[operation.tag] === undefined)
      throw new TypeError(`no reader for the body of ${id}`);
  }
  return (request, response, next) => {
    const { method, url, headers } = request;
    const found = table.find(method, url, (allowed) => response.setHeader('Allow', allowed.join(', ')));
    if (found === null) return next();
    const { operation, params, search } = found;
    response.locals.route = operation.route;
    const principal = principalOf(response);
    const handler = handlers[operation.id];
    if (!operation.hasBody || handler === undefined) {
      const parameters = operation.parameters(params, search, headers);
      return handler === undefined
        ? next()
        : handler({ ...parameters, request, principal, body: undefined }, response);
    }
    const mediaType = operation.mediaType(headers['content-type']);
    return readBody(readers[operation.tag]!, request, response).then(() => {
      const parameters = operation.parameters(params, search, headers);
      const body: unknown = request.body;
      if (!Buffer.isBuffer(body)) operation.checkBody(mediaType, body);
      return handler({ ...parameters, request, principal, body }, response);
    });
  };
}

/** Calls each reader as soon as the previous one is done, because the first one starts the flow of the body. */
function readBody(readers: readonly RequestHandler[], request: Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    const run = (index: number): void => {
      const reader = readers[index];
      if (reader === undefined) {
        resolve();
        return;
      }
      void reader(request, response, (error?: unknown) =>
        error === undefined ? run(index + 1) : reject(error as Error),
      );
    };
    run(0);
  });
}
