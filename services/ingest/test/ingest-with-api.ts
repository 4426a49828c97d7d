import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type EmbeddedBroker, startEmbeddedBroker } from '@tidegauge/lab';
import { freePort } from '@tidegauge/process';
import { changeKeys, newKey } from '@tidegauge/service';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';

export const TOKEN = 'a-token-of-some-length';

/** Ingest and the API with one SQLite file, and the embedded broker. */
export interface IngestWithApi {
  readonly broker: EmbeddedBroker;
  readonly ingest: IngestProcess;
  /** URL of the SQLite file. */
  readonly store: string;
  /** URL of the API. It stays the same after `startApi`. */
  readonly api: string;
  readonly directory: string;
  /** A key of the API that can only write. */
  readonly writeKey: string;
  /** A key that can only write, and only below the device `site-3`. */
  readonly limitedKey: string;
  /** Kills the API. */
  stopApi(): Promise<void>;
  startApi(): Promise<void>;
}

/** Starts both with the given environment of ingest, and removes everything after the test. The API needs TOKEN or a key. */
export async function startIngestWithApi(
  context: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<IngestWithApi> {
  const closers: (() => Promise<unknown>)[] = [];
  context.after(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-with-api-'));
  closers.push(() => rm(directory, { recursive: true }));
  const broker = await startEmbeddedBroker({ port: 0 });
  closers.push(() => broker.close());
  const store = `sqlite:${join(directory, 'store.db')}`;
  const ingest = await startIngestProcess({ STORE: store, BROKER: broker.url, DATA_DIR: directory, ...env });
  closers.push(() => ingest.kill());
  const keys = join(directory, 'keys.json');
  const now = Date.now();
  const [writer, limited] = [null, 'site-3'].map((devices) =>
    newKey({ name: `writer ${devices}`, scopes: ['write'], devices, expires: null }, now),
  );
  changeKeys(keys, () => [writer!.key, limited!.key]);
  const settings = {
    STORE: store,
    INGEST: ingest.url,
    API_TOKEN: TOKEN,
    API_KEYS: keys,
    HTTP_PORT: `${await freePort()}`,
  };
  let api = await startApiProcess(settings);
  closers.push(() => api.kill());
  return {
    broker,
    ingest,
    store,
    api: api.url,
    directory,
    writeKey: writer!.text,
    limitedKey: limited!.text,
    stopApi: () => api.kill(),
    async startApi() {
      api = await startApiProcess(settings);
    },
  };
}
