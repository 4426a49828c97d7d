import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A JSON schema (2020-12), as far as this code reads it itself. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [keyword: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly explode?: boolean;
  readonly allowEmptyValue?: boolean;
  readonly schema: Schema;
}

/** Security requirements: by scheme, the scopes that it needs. `{}` needs none. */
export type Security = readonly Readonly<Record<string, readonly string[]>>[];

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  /** The alternatives of the login; the first one has the scope. Default: those of the document. */
  readonly security?: Security;
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type PathItem = { readonly [method in Method]?: OperationObject } & {
  readonly parameters?: readonly Parameter[];
};

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly security: Security;
  readonly paths: Readonly<Record<string, PathItem>>;
}

/** The document that requests are checked against and that `/openapi.json` serves. It can have `$ref` anywhere. */
export function readOpenApi(): OpenApiDocument {
  return parse(readFileSync(new URL('./openapi.yaml', import.meta.url), 'utf8')) as OpenApiDocument;
}

/**
 * The document with every `$ref` replaced by what it refers to. References must be local and must not be recursive.
 *
 * @throws {TypeError} when a reference has no target
 */
export function resolveReferences(document: OpenApiDocument): OpenApiDocument {
  const resolved = new Map<unknown, unknown>();
  const resolve = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null) return node;
    if (resolved.has(node)) return resolved.get(node);
    const { $ref } = node as { readonly $ref?: string };
    let result: unknown;
    if ($ref !== undefined) result = resolve(lookUp(document, $ref));
    else if (Array.isArray(node)) result = node.map(resolve);
    else result = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value)]));
    resolved.set(node, result);
    return result;
  };
  return resolve(document) as OpenApiDocument;
}

function lookUp(document: OpenApiDocument, reference: string): unknown {
  const found = reference
    .split('/')
    .slice(1)
    .reduce<unknown>((node, key) => (node as Readonly<Record<string, unknown>> | undefined)?.[key], document);
  if (found === undefined) throw new TypeError(`the OpenAPI document has no ${reference}`);
  return found;
}
