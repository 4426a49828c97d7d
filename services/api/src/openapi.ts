import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { middleware } from 'express-openapi-validator';
import { parse } from 'yaml';

/** The OpenAPI 3.1 document, which is the truth about the API. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export function readOpenApi(): OpenApiDocument {
  return parse(readFileSync(new URL('./openapi.yaml', import.meta.url), 'utf8')) as OpenApiDocument;
}

/**
 * Holds requests to the document: unknown paths, methods, media types and query parameters are refused, and
 * parameters arrive as the numbers and arrays they stand for.
 *
 * @param validateResponses for tests: an answer that is not as documented becomes a 500
 */
export function enforce(document: OpenApiDocument, validateResponses: boolean): RequestHandler[] {
  return middleware({
    // The validator rewrites the document it is given.
    apiSpec: structuredClone(document) as unknown as NonNullable<
      Parameters<typeof middleware>[0]['apiSpec']
    > &
      object,
    validateRequests: true,
    validateResponses,
    // Who may do what is decided before a body is read (security.ts).
    validateSecurity: false,
    fileUploader: false,
    // The path as rewritten (paths.ts), not as it came.
    useRequestUrl: true,
    // Times leave as text; the validator's own serialiser expects a Date.
    serDes: [{ format: 'date-time', serialize: (value: unknown) => value as string }],
  }) as RequestHandler[];
}

/** What stands beside each pattern in the document, to say to a person in its place. */
export function describedPatterns(document: unknown): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (node: unknown, above: string | null): void => {
    if (typeof node !== 'object' || node === null) return;
    const { pattern, description } = node as Readonly<Record<string, unknown>>;
    const nearest = typeof description === 'string' ? description : above;
    if (typeof pattern === 'string' && nearest !== null && !found.has(pattern)) {
      found.set(pattern, nearest[0]!.toLowerCase() + nearest.slice(1));
    }
    for (const inner of Object.values(node)) visit(inner, nearest);
  };
  visit(document, null);
  return found;
}
