import { didYouMean, redactor, secretsIn } from '@tidegauge/text';
import type { Backend } from './backend.ts';
import { type BackendLogger, type BackendModule, silentLogger } from './context.ts';
import type { Store } from './contract.ts';
import type { CheckPace, Damage } from './damage.ts';
import { complete, type NativeCall, nativeCallsOf } from './derived/complete.ts';
import { loadBackend } from './drivers.ts';
import { StoreError } from './errors.ts';
import type { Observe, StoreGuard } from './gate.ts';
import type { OptionSchema } from './options.ts';
import { parseUrl, type StoreUrl } from './url.ts';
import { wrapStore } from './wrapper.ts';

// The only list of all engines. Imports are lazy, so a process loads only the driver of its store.
const BACKENDS: Readonly<Record<string, () => Promise<BackendModule>>> = {
  sqlite: () => import('./sqlite/index.ts'),
  json: () => import('./json/index.ts'),
  mariadb: () => import('./mariadb/index.ts'),
  cassandra: () => import('./cassandra/index.ts'),
  hbase: () => import('./hbase/index.ts'),
  mongodb: () => import('./mongodb/index.ts'),
  influxdb: () => import('./influxdb/index.ts'),
  null: () => import('./null/index.ts'),
  postgres: () => import('./postgres/index.ts'),
  citus: () => import('./postgres/index.ts'),
};

/** The schemes that a store URL can have. */
export const STORE_SCHEMES: readonly string[] = Object.keys(BACKENDS);

/** The options that URLs of a scheme can have, for documentation. */
export async function optionsOf(scheme: string): Promise<OptionSchema> {
  return (await BACKENDS[scheme]!()).options[scheme]!;
}

export interface OpenOptions {
  readonly logger?: BackendLogger;
  /** Called once per finished call, for metrics. */
  readonly observe?: Observe;
  readonly guard?: StoreGuard;
  /** The time in microseconds, for tests. Default: the clock of the computer. */
  readonly clock?: () => number;
  /** Calls without their native versions. For tests and comparisons: see docs/adr/0002. */
  readonly derived?: readonly NativeCall[];
}

/**
 * A store for the URL that is not open yet.
 * @throws {StoreError} MISCONFIGURED when the URL is wrong.
 */
export async function createStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const parsed = parseUrl(url);
  const logger = options.logger ?? silentLogger;
  const backend = (await backendOf(parsed)).create(parsed, { logger });
  return storeOf(backend, options, redactor(secretsIn(url)));
}

/**
 * The calls of which the engine of a URL has native versions.
 * @throws {StoreError} MISCONFIGURED when the URL is wrong.
 */
export async function nativeCalls(url: string): Promise<readonly NativeCall[]> {
  const parsed = parseUrl(url);
  return nativeCallsOf((await backendOf(parsed)).create(parsed, { logger: silentLogger }));
}

/**
 * The store of an engine, with all that is derived for it. It is not open yet.
 *
 * @param redact removes the secrets of the URL from a message of a driver
 */
export function storeOf(
  backend: Backend,
  options: OpenOptions = {},
  redact = (text: string): string => text,
): Store {
  const { logger = silentLogger, observe = () => {}, clock, guard, derived } = options;
  return wrapStore(complete(backend, derived), {
    logger,
    observe,
    redact,
    ...(clock === undefined ? {} : { clock }),
    ...(guard === undefined ? {} : { guard }),
  });
}

function backendOf({ scheme }: StoreUrl): Promise<BackendModule> {
  const load = Object.hasOwn(BACKENDS, scheme) ? BACKENDS[scheme] : undefined;
  if (load === undefined) {
    throw new StoreError(
      'MISCONFIGURED',
      `there is no store ${JSON.stringify(scheme)}${didYouMean(scheme, STORE_SCHEMES)}`,
      {
        hint: `the scheme is one of ${STORE_SCHEMES.join(', ')}`,
      },
    );
  }
  return loadBackend(scheme, load);
}

/**
 * Checks all files of a store on this machine, without opening it. Others can use it meanwhile.
 *
 * @param pace called after each part
 * @param takesOut whether what cannot be read is taken out, and kept in a file beside the store, so that the rest can be used
 * @returns null for a database server, which has its own checks
 * @throws {StoreError} MISCONFIGURED when the URL is wrong
 */
export async function checkStore(
  url: string,
  pace: CheckPace,
  { takesOut = false }: { readonly takesOut?: boolean } = {},
): Promise<AsyncIterable<Damage> | null> {
  const parsed = parseUrl(url);
  return (await backendOf(parsed)).check?.(parsed, pace, takesOut) ?? null;
}

/**
 * Opens the store of a URL and upgrades its schema. If that fails, nothing is left open.
 *
 * @example
 * const store = await openStore('sqlite:./data/tidegauge.db');
 * await store.readings.write(batch); // The readings are durable when this resolves.
 * await store.close();
 *
 * @throws {StoreError} MISCONFIGURED, UNAVAILABLE or TIMEOUT
 */
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
