import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type HistogramMetric, isHostServed, SECURITY_HEADERS } from '@tidegauge/service';
import { MAX_FIELDS, type RecordFields, type Store, tableProblem } from '@tidegauge/storage';

// Only characters that a URL need not escape; the groups are table, key and fields.
const PLAIN =
  /^\/v1\/records\/(\w{1,48})\/([\w~-][\w.~-]{0,199})(?:\?fields=(field\d{1,3}(?:,field\d{1,3})*))?$/;
const FIELD = /^field(?:0|[1-9]\d{0,2})$/;
const ROUTE = { method: 'GET', route: '/v1/records/{table}/{key}', status: '200' } as const;
const HEADERS = { ...SECURITY_HEADERS, 'Content-Type': 'application/json; charset=utf-8' } as const;
const MAX_HOSTS = 100;

export interface RecordLane {
  /** Answers plain reads itself and hands everything else on. */
  readonly handler: RequestListener;
  /** The read that was made for a request before it was handed on, or null. */
  made(request: IncomingMessage): Promise<RecordFields | null> | null;
}

/**
 * The short way for reading a record. Routing, validation and serialising take Express and the OpenAPI validator
 * several times as long as the read itself, and a benchmark measures both. A request that is plainly right by the
 * OpenAPI document and finds its record is answered here; whatever is not goes to the app, which says why,
 * with the read that was made for it.
 */
export function recordLane(
  store: Store,
  listen: string,
  seconds: HistogramMetric,
  app: RequestListener,
): RecordLane {
  const histogram = seconds.with(ROUTE);
  const hosts = new Set<string>();
  const reads = new WeakMap<IncomingMessage, Promise<RecordFields | null>>();

  const isServed = (host: string): boolean => {
    if (hosts.has(host)) return true;
    if (!isHostServed(listen, host)) return false;
    if (hosts.size < MAX_HOSTS) hosts.add(host);
    return true;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse, read: Read): Promise<void> => {
    const started = performance.now();
    const { table, key, fields } = read;
    const made = store.records.read(table, key, fields);
    const found = await made.catch(() => null);
    if (found === null) {
      reads.set(request, made);
      app(request, response);
      return;
    }
    const body = JSON.stringify({ key, fields: found });
    response.writeHead(200, { ...HEADERS, 'Content-Length': Buffer.byteLength(body) }).end(body);
    histogram.observe((performance.now() - started) / 1000);
  };
  return {
    handler(request, response) {
      const read = request.method === 'GET' ? plainRead(request.url!) : null;
      if (read === null || !isServed(request.headers.host ?? '')) app(request, response);
      else void answer(request, response, read);
    },
    made: (request) => reads.get(request) ?? null,
  };
}

interface Read {
  readonly table: string;
  readonly key: string;
  readonly fields: readonly string[] | null;
}

function plainRead(url: string): Read | null {
  const match = PLAIN.exec(url);
  if (match === null) return null;
  const [, table, key, asked] = match;
  const fields = asked?.split(',') ?? null;
  if (fields !== null && !(fields.length <= MAX_FIELDS && fields.every((field) => FIELD.test(field))))
    return null;
  return tableProblem(table!) === null ? { table: table!, key: key!, fields } : null;
}
