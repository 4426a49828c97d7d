import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { didYouMean, maskUrl } from '@tidegauge/text';
import { HttpClient } from '../drivers/http-client.ts';
import { type Items, load, requireLoaded } from '../loading/load.ts';
import type { Preparation } from '../profiles/profile.ts';
import { type CommonConfig, mistake, refuseForeignHosts } from '../profiles/settings.ts';
import { showNumber } from '../results/show-number.ts';
import type { Closers } from './closers.ts';
import { STORES, startStorePlaces } from './store-places.ts';

/** Whether a store is given by its URL. Otherwise it is the name of a store of the lab. */
function isStoreUrl(store: string): boolean {
  const scheme = store.slice(0, store.indexOf(':'));
  return store.includes(':') && STORE_SCHEMES.includes(scheme);
}

/** @throws {ConfigError} for a store that is neither a URL nor a store of the lab, or that is on another machine */
export function checkStore(store: string, config: Pick<CommonConfig, 'allowHost'>): void {
  if (isStoreUrl(store)) refuseForeignHosts(store, config);
  else if (!STORES.includes(store)) {
    const schemes = STORE_SCHEMES.map((scheme) => `${scheme}:`).join(', ');
    const near = didYouMean(store, STORES);
    throw mistake(
      `there is no store ${maskUrl(store)}: give a URL (${schemes}) or one of ${STORES.join(', ')}${near}`,
    );
  }
}

/** @throws {ConfigError} for anything but a store of the lab */
export function checkLabStore(store: string): void {
  if (STORES.includes(store)) return;
  const near = didYouMean(store, STORES);
  throw mistake(`--store ${maskUrl(store)}: it must be one of ${STORES.join(', ')}${near}`);
}

/** @throws {ConfigError} when a store runs here with fewer nodes only */
export function checkNodes(store: string, nodes: readonly number[]): void {
  const most = Object.hasOwn(STORE_SERVERS, store) ? STORE_SERVERS[store]!.maxNodes : 1;
  const tooMany = nodes.find((number) => number > most);
  if (tooMany === undefined) return;
  throw mistake(`--nodes ${tooMany}: ${maskUrl(store)} runs here as ${most} at most`);
}

/** The URL of a store: the given URL, or the URL of an empty store that the lab starts. */
export async function provideStore(store: string, closers: Closers): Promise<string> {
  if (isStoreUrl(store)) return store;
  const places = await startStorePlaces(store);
  closers.add(() => places.stop());
  return places.create('loadtest');
}

/** Starts an API for a store, in a separate process. */
export async function provideApi(
  store: string,
  closers: Closers,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const api = await startApiProcess({ STORE: store, ...env });
  closers.add(() => api.stop());
  return api.url;
}

/** Makes a folder that is removed at the end of the run. */
export function provideFolder(closers: Closers): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-loadtest-'));
  closers.add(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface ApiTarget extends CommonConfig {
  readonly store: string;
  readonly api: string | null;
  readonly apiToken: string | null;
}

/** @throws {ConfigError} */
export function checkApiTarget(config: ApiTarget): void {
  if (config.api === null) checkStore(config.store, config);
  else refuseForeignHosts(config.api, config);
}

export function provideClient({ threads, apiToken }: ApiTarget, closers: Closers): HttpClient {
  const client = new HttpClient(threads, apiToken);
  closers.add(async () => client.close());
  return client;
}

/**
 * Loads missing items. With --phase run, only checks that the items exist.
 * @throws {NotLoadedError}
 */
export async function fill(
  items: Items,
  { phase, threads }: { readonly phase: 'both' | 'load' | 'run'; readonly threads: number },
  { signal, say }: Preparation,
): Promise<void> {
  if (phase === 'run') return requireLoaded(items);
  const { found, inserted, perSecond } = await load(items, threads, signal);
  const already = found > 0 ? `, ${found.toLocaleString('en')} were there` : '';
  say(`loaded ${inserted.toLocaleString('en')} ${items.name}, ${showNumber(perSecond)}/s${already}`);
}
