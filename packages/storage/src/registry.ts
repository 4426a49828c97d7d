import { didYouMean, redactor, secretsIn } from '@tidegauge/text';
import { type BackendLogger, type BackendModule, silentLogger } from './context.ts';
import type { Store } from './contract.ts';
import { StoreError } from './errors.ts';
import { parseUrl } from './url.ts';
import { type Observe, wrapStore } from './wrapper.ts';

// The only place that knows every engine. Imports are lazy: a board that runs one loads one driver.
const BACKENDS: Readonly<Record<string, () => Promise<BackendModule>>> = {
  sqlite: () => import('./sqlite/index.ts'),
  json: () => import('./json/index.ts'),
  mariadb: () => import('./mariadb/index.ts'),
  cassandra: () => import('./cassandra/index.ts'),
  hbase: () => import('./hbase/index.ts'),
  mongodb: () => import('./mongodb/index.ts'),
  null: () => import('./null/index.ts'),
  postgres: () => import('./postgres/index.ts'),
  citus: () => import('./postgres/index.ts'),
};

/** The schemes `STORE` can have. */
export const STORE_SCHEMES: readonly string[] = Object.keys(BACKENDS);

export interface OpenOptions {
  readonly logger?: BackendLogger;
  /** Called once per finished call, for metrics. */
  readonly observe?: Observe;
}

/**
 * A store for the URL, not open yet.
 * @throws {StoreError} MISCONFIGURED when the URL is wrong.
 */
export async function createStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const parsed = parseUrl(url);
  const load = Object.hasOwn(BACKENDS, parsed.scheme) ? BACKENDS[parsed.scheme] : undefined;
  if (load === undefined) {
    throw new StoreError(
      'MISCONFIGURED',
      `there is no store ${JSON.stringify(parsed.scheme)}${didYouMean(parsed.scheme, STORE_SCHEMES)}`,
      {
        hint: `the scheme is one of ${STORE_SCHEMES.join(', ')}`,
      },
    );
  }
  const logger = options.logger ?? silentLogger;
  const backend = (await load()).create(parsed, { logger });
  const redact = redactor(secretsIn(url));
  return wrapStore(backend, { logger, observe: options.observe ?? (() => {}), redact });
}

/** A store for the URL, open and its schema up to date; nothing is left open when that fails. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const store = await createStore(url, options);
  try {
    await store.open();
    await store.migrate();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}
