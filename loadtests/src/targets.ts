import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { startApiProcess } from './api-process.ts';
import { mistake } from './loadtest-settings.ts';
import { STORES, startStorePlaces } from './store-places.ts';

/** Things to stop when a run is over, the last one first. */
export class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close();
  }
}

/** Whether a store is named by its URL; otherwise it is one of the lab's. */
export function isStoreUrl(store: string): boolean {
  const scheme = store.slice(0, store.indexOf(':'));
  return store.includes(':') && STORE_SCHEMES.includes(scheme);
}

/** @throws {ConfigError} for a store that is neither a URL nor one of the lab's. */
export function checkStore(store: string): void {
  if (isStoreUrl(store) || STORES.includes(store)) return;
  const schemes = STORE_SCHEMES.map((scheme) => `${scheme}:`).join(', ');
  throw mistake(`there is no store ${store}: give a URL (${schemes}) or one of ${STORES.join(', ')}`);
}

/** The URL of a store: the one given, or an empty one that the lab starts. */
export async function provideStore(store: string, closers: Closers): Promise<string> {
  if (isStoreUrl(store)) return store;
  const places = await startStorePlaces(store);
  closers.add(() => places.stop());
  return places.create('loadtest');
}

/** An API over a store, as a process of its own. */
export async function provideApi(
  store: string,
  closers: Closers,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const api = await startApiProcess({ STORE: store, ...env });
  closers.add(() => api.stop());
  return api.url;
}

/** A folder that is gone when the run is over. */
export function provideFolder(closers: Closers): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-loadtest-'));
  closers.add(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
