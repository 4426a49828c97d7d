import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { createLogger, listen, Metrics } from '@tidegauge/service';
import { openStore, type Store } from '@tidegauge/storage';
import { type AppDependencies, createApp } from '../src/app.ts';
import { IngestClient } from '../src/ingest-client.ts';
import type { LiveHub } from '../src/live-hub.ts';
import { checkAnswer } from './answer-check.ts';
import { FakeIngest } from './fake-ingest.ts';
import { Outage } from './outage.ts';

export interface Api {
  readonly url: string;
  /** The store's SQLite file. */
  readonly file: string;
  readonly store: Store;
  /** Makes the store unavailable for the API, but not for ingest. */
  readonly outage: Outage;
  readonly ingest: FakeIngest;
  readonly live: LiveHub;
  /** Sends a request. Fails when the answer does not match the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape
  readonly body: any;
}

export interface ApiOptions {
  readonly config?: Partial<AppDependencies['config']>;
  readonly live?: AppDependencies['live'];
  /** Base URLs of ingest. Default: the fake ingest. */
  readonly ingest?: readonly string[];
  readonly timeoutMs?: number;
  /** The store. Default: a new SQLite file. */
  readonly storeUrl?: string | null;
}

/** Starts the app over a real store, SQLite unless a URL is given, on a free port. It stops when the test ends. */
export async function startApi(t: TestContext, options: ApiOptions = {}): Promise<Api> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-api-'));
  const file = join(directory, 'test.db');
  const store = await openStore(options.storeUrl ?? `sqlite:${file}`);
  const ingest = await FakeIngest.start(store);
  const client = new IngestClient({
    urls: options.ingest ?? [ingest.url],
    timeoutMs: options.timeoutMs ?? 5000,
    // No limit, so that tests of large feeds are fast.
    liveBytesPerSecond: Number.POSITIVE_INFINITY,
  });
  const outage = new Outage(store);
  const app = createApp({
    store: outage.store,
    ingest: client,
    logger: createLogger('api', 'silent'),
    metrics: new Metrics(),
    config: {
      httpListen: '127.0.0.1',
      apiToken: null,
      bodyLimit: 64 * 1024,
      liveClients: 4,
      listReads: 4,
      ...options.config,
    },
    live: { ringReadings: 1000, ...options.live },
  });
  const server = await listen(app.handler, '127.0.0.1', 0, 'the test');
  t.after(async () => {
    app.close();
    await server.close(0);
    client.close();
    await ingest.stop();
    await store.close();
    await rm(directory, { recursive: true });
  });
  return {
    url: server.url,
    file,
    store,
    outage,
    ingest,
    live: app.live,
    call: (method, path, given) => call(server.url + path, method, given),
  };
}

async function call(url: string, method: string, { body, headers = {} }: CallOptions = {}): Promise<Answer> {
  const raw = typeof body === 'string' || body === undefined;
  const response = await fetch(url, {
    method,
    headers: { ...(raw ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = text !== '' && /[/+]json/.test(response.headers.get('Content-Type') ?? '');
  const answer = {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text,
  };
  checkAnswer(method, new URL(url), answer);
  return answer;
}

/** A reading of probe-7; times in seconds of 2026-11-21. */
export function reading(second: number, more: Partial<Reading> = {}): Reading {
  const time = Date.UTC(2026, 10, 21) * 1000 + second * 1e6;
  return {
    device: 'site-3/boiler/probe-7',
    metric: 'temperature',
    time,
    value: second,
    received: time + 1000,
    boot: null,
    seq: null,
    quality: 'ok',
    ...more,
  };
}

/** Resolves when the condition is true. Fails after ten seconds, with `what` in the message. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  // Long, because a browser beside other suites can stop for seconds. Only a test that fails waits so long.
  const deadline = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited a minute for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
