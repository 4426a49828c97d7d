import { isSafe, Problem, type Rule } from '@tidegauge/service';
import { type OpenApiDocument, readOpenApi, resolveReferences } from './openapi.ts';
import { Operation } from './operation.ts';

const DEVICES = '/v1/devices/';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

interface Path {
  /** Parts between slashes; a parameter is its name without braces. */
  readonly parts: readonly { readonly name: string; readonly isParameter: boolean }[];
  readonly operations: ReadonlyMap<string, Operation>;
}

/** The operation that a request is for, with the path parameters and the query of the request. */
export interface Match {
  readonly operation: Operation;
  readonly params: Record<string, string>;
  /** The query without `?`. */
  readonly search: string;
}

/** Finds the operation of the OpenAPI document that a request is for. */
export class OperationTable {
  /** Paths without parameters. */
  readonly #exact = new Map<string, Path>();
  /** Paths by the number of their parts; those with fewer parameters first. */
  readonly #paths = new Map<number, Path[]>();
  readonly #operations = new Map<string, Operation>();

  /** Compiles the schemas of all operations. @throws {Error} when a schema is not valid */
  constructor(document: OpenApiDocument) {
    for (const [route, item] of Object.entries(resolveReferences(document).paths)) {
      const operations = new Map<string, Operation>();
      for (const method of METHODS) {
        const object = item[method];
        if (object === undefined) continue;
        const operation = new Operation(route, object, document.security, item.parameters);
        operations.set(method.toUpperCase(), operation);
        this.#operations.set(operation.id, operation);
      }
      const parts = partsOf(route).map((part) => {
        const name = /^\{(.+)\}$/.exec(part)?.[1];
        return { name: name ?? part, isParameter: name !== undefined };
      });
      const count = (path: Path) => path.parts.filter(({ isParameter }) => isParameter).length;
      const path = { parts, operations };
      if (count(path) === 0) this.#exact.set(route, path);
      const same = [...(this.#paths.get(parts.length) ?? []), path];
      this.#paths.set(
        parts.length,
        same.sort((a, b) => count(a) - count(b)),
      );
    }
  }

  /** The operation with this `operationId`. */
  get(id: string): Operation | undefined {
    return this.#operations.get(id);
  }

  /**
   * What the sender of a request needs. A request for no operation needs the scope of its method, so that the answer
   * to a sender without a login is the same for all paths.
   */
  ruleOf(method: string, url: string): Rule {
    const found = this.#findOrNull(method, url);
    if (found !== null) return found.operation.rule;
    return { scope: isSafe(method) ? 'read' : 'write', limitsDevices: false };
  }

  /**
   * The operation for a request, or null when the document has no such path. HEAD is GET without the body (Node leaves
   * it out), except for the live stream, which does not end.
   *
   * @param refuse receives the methods of the path before a 405 is thrown
   * @throws {Problem} 405 for another method, 400 when the URL cannot be decoded
   */
  find(method: string, url: string, refuse: (allowed: readonly string[]) => void): Match | null {
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const exact = this.#exact.get(path);
    const given = exact === undefined ? partsOf(path) : [];
    const found = exact ?? this.#paths.get(given.length)?.find(({ parts }) => matches(parts, given));
    if (found === undefined) return null;
    // Databases treat U+0000 as the end of a text or as an error.
    if (url.includes('%00')) throw badUrl('The URL contains %00 (U+0000), which no name or value can have.');
    const operation = found.operations.get(method === 'HEAD' && path !== '/v1/live' ? 'GET' : method);
    if (operation === undefined) {
      const allowed = [...found.operations.keys()];
      refuse(allowed);
      const detail = `${method} is not a method of ${operationPath(found)}: use ${allowed.join(' or ')}.`;
      throw new Problem(405, 'Method not allowed', detail);
    }
    const params: Record<string, string> = {};
    for (let index = 0; index < given.length; index += 1) {
      const { name, isParameter } = found.parts[index]!;
      if (isParameter) params[name] = decode(given[index]!);
    }
    return { operation, params, search: mark < 0 ? '' : url.slice(mark + 1) };
  }

  #findOrNull(method: string, url: string): Match | null {
    try {
      return this.find(method, url, () => {});
    } catch {
      return null;
    }
  }
}

let compiled: { readonly document: OpenApiDocument; readonly operations: OperationTable } | undefined;

/** The OpenAPI document of the API with its operations. Parsed and compiled once per process, which takes about 0.1 s. */
export function apiOperations(): NonNullable<typeof compiled> {
  if (compiled === undefined) {
    const document = readOpenApi();
    compiled = { document, operations: new OperationTable(document) };
  }
  return compiled;
}

/**
 * The parts of a path. A device's name has slashes, and OpenAPI has no parameter of several parts: everything after
 * `/v1/devices/` is one part. A slash at the end is ignored.
 */
function partsOf(path: string): readonly string[] {
  const trimmed = path.endsWith('/') ? path.slice(1, -1) : path.slice(1);
  if (path.startsWith(DEVICES) && trimmed.length >= DEVICES.length) {
    return ['v1', 'devices', path.slice(DEVICES.length)];
  }
  return trimmed.split('/');
}

function matches(parts: Path['parts'], given: readonly string[]): boolean {
  return parts.every(({ name, isParameter }, index) =>
    isParameter ? given[index] !== '' : given[index] === name,
  );
}

function operationPath({ operations }: Path): string {
  return operations.values().next().value!.route;
}

function decode(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw badUrl('The path has a % that does not begin an escape of UTF-8: write % as %25.');
  }
}

function badUrl(detail: string): Problem {
  return new Problem(400, 'Invalid request', detail);
}
