import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SECURITY_HEADERS } from '@tidegauge/service';
import express, { type Response, Router } from 'express';
import type { OpenApiDocument } from './openapi.ts';

const PUBLIC = fileURLToPath(new URL('../public/', import.meta.url));
/** The names of the files are read once, so that requests for data need no search in the file system. */
const FILES = new Set(['/', ...filesOf(PUBLIC).map((name) => `/${name}`)]);
const UPLOT = directoryOf(import.meta.resolve('uplot/dist/uPlot.min.css'));
const SWAGGER_UI = directoryOf(import.meta.resolve('swagger-ui-dist/swagger-ui.css'));
const SWAGGER_UI_FILES = new Set(['/swagger-ui.css', '/swagger-ui-bundle.js']);

/** Swagger UI sets styles inline and has its icons in its style sheet. Scripts must be from this server. */
const DOCS_POLICY = `${SECURITY_HEADERS['Content-Security-Policy']}; style-src 'self' 'unsafe-inline'; img-src 'self' data:`;

/** Whether a path is a file of the live page or of the reference. They have no data, so they need no login. */
export function isPage(path: string): boolean {
  return FILES.has(path) || path === '/openapi.json' || /^\/(docs|vendor)(\/|$)/.test(path);
}

/** The live page at `/`, the API reference at `/docs`, and the OpenAPI document. */
export function pageRoutes(document: OpenApiDocument): Router {
  const router = Router();
  const page = express.static(PUBLIC, { index: 'index.html', setHeaders: asPage });
  router.use((request, response, next) => (FILES.has(request.path) ? page(request, response, next) : next()));
  router.get('/docs', (_request, response) => {
    asPage(response);
    response.setHeader('Content-Security-Policy', DOCS_POLICY);
    response.sendFile('docs/index.html', { root: PUBLIC, cacheControl: false });
  });
  router.use('/docs', express.static(`${PUBLIC}docs`, { index: false, redirect: false, setHeaders: asPage }));
  router.use('/vendor/uplot', express.static(UPLOT, { index: false, setHeaders: asPage }));
  const viewer = express.static(SWAGGER_UI, { index: false, setHeaders: asPage });
  router.use('/vendor/swagger-ui', (request, response, next) =>
    SWAGGER_UI_FILES.has(request.path) ? viewer(request, response, next) : next(),
  );
  router.get('/openapi.json', (_request, response) => {
    asPage(response);
    response.json(document);
  });
  return router;
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
