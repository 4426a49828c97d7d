import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SECURITY_HEADERS } from '@tidegauge/service';
import express, { type RequestHandler, type Response, Router } from 'express';
import { gzippedFiles } from './gzipped-files.ts';
import type { OpenApiDocument } from './openapi.ts';
import { referencePage } from './reference/page.ts';

const PUBLIC = fileURLToPath(new URL('../public/', import.meta.url));
/** The names of the files are read once, so that requests for data need no search in the file system. */
const FILES = new Set(['/', ...filesOf(PUBLIC).map((name) => `/${name}`)]);
const UPLOT = directoryOf(import.meta.resolve('uplot/dist/uPlot.min.css'));
const SWAGGER_UI = directoryOf(import.meta.resolve('swagger-ui-dist/swagger-ui.css'));
const SWAGGER_UI_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js'];

/** Swagger UI sets styles inline and has its icons in its style sheet. Scripts must be from this server. */
const TRY_POLICY = `${SECURITY_HEADERS['Content-Security-Policy']}; style-src 'self' 'unsafe-inline'; img-src 'self' data:`;
const TRY_PAGE = 'try.html';

/** Whether a path is a file of the live page or of the reference. They have no data, so they need no login. */
export function isPage(path: string): boolean {
  return FILES.has(path) || path === '/openapi.json' || /^\/(docs|vendor)(\/|$)/.test(path);
}

/**
 * The live page at `/`, the API reference at `/docs`, a page that sends requests at `/docs/try`, and the OpenAPI document.
 * The reference needs no script, because Swagger UI takes seconds to load on a phone.
 */
export function pageRoutes(document: OpenApiDocument): Router {
  const router = Router();
  const reference = referencePage(document);
  router.use(files(PUBLIC, filesOf(PUBLIC)));
  router.get('/docs', (request, response, next) => {
    asPage(response);
    // Its links are relative, so that a proxy can serve them under any path.
    if (request.path.endsWith('/')) return response.redirect('../docs');
    return reference(request, response, next);
  });
  router.get('/docs/try', (request, response) => {
    asPage(response);
    if (request.path.endsWith('/')) return response.redirect('../try');
    response.setHeader('Content-Security-Policy', TRY_POLICY);
    response.sendFile(`docs/${TRY_PAGE}`, { root: PUBLIC, cacheControl: false });
  });
  // Its page needs the policy above.
  const docs = filesOf(`${PUBLIC}docs/`).filter((name) => name !== TRY_PAGE);
  router.use('/docs', files(`${PUBLIC}docs/`, docs));
  router.use('/vendor/uplot', files(UPLOT, filesOf(UPLOT)));
  router.use('/vendor/swagger-ui', files(SWAGGER_UI, SWAGGER_UI_FILES));
  router.get('/openapi.json', (_request, response) => {
    asPage(response);
    response.json(document);
  });
  return router;
}

/** The named files of a directory, and its index.html for `/`. */
function files(directory: string, names: readonly string[]): RequestHandler {
  const paths = new Set(names.map((name) => `/${name}`));
  if (paths.has('/index.html')) paths.add('/');
  const gzipped = gzippedFiles(directory, names, asPage);
  const plain = express.static(directory, { index: 'index.html', redirect: false, setHeaders: asPage });
  return (request, response, next) => {
    if (!paths.has(request.path)) return next();
    return gzipped(request, response, () => plain(request, response, next));
  };
}

/** Files of the page count as one route in the metrics, whatever their names. */
function asPage(response: ServerResponse): void {
  const { locals } = response as Response;
  locals.route = 'page';
  response.setHeader('Cache-Control', 'no-cache');
}

function filesOf(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

function directoryOf(url: string): string {
  return `${dirname(fileURLToPath(url))}/`;
}
