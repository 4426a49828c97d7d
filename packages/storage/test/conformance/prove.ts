import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { describeStore, type StorePlace, type StoreTarget } from '../../conformance/index.ts';
import { openOutsider } from '../outsiders.ts';
import { describeLayout } from './ycsb-layout.ts';

/** Whether STORES (such as `sqlite,json`) selects the store. Without STORES, all stores are selected. */
export function isSelected(name: string): boolean {
  const selected = process.env.STORES?.split(',').map((store) => store.trim());
  return selected === undefined || selected.includes(name);
}

/** Registers the conformance suite for a target, and the tests of YCSB's layout in it, if STORES selects it. */
export function prove(target: StoreTarget): void {
  if (!isSelected(target.name)) return;
  describeStore(target);
  describeLayout(target);
}

/**
 * As `prove`, for a store that is a server. Starts the server first, and stops it after the tests. If the server is not
 * available, the tests are skipped (see `startOrSkip`).
 *
 * @param targetOn can leave out an outsider that `outsiders.ts` has
 * @param more registers tests that run on the same server after the suite
 */
export async function proveServer<S extends { stop(): Promise<void> }>(
  name: string,
  start: () => Promise<S>,
  targetOn: (server: S) => Omit<StoreTarget, 'name' | 'outsider'> & Partial<Pick<StoreTarget, 'outsider'>>,
  more: (server: S) => void = () => {},
): Promise<void> {
  if (!isSelected(name)) return;
  const started = await startOrSkip(name, start);
  if ('skip' in started) {
    describe(`store ${name}`, { skip: started.skip });
    return;
  }
  const { server } = started;
  after(() => server.stop());
  // CI proves every subject on one node. A cluster of three needs twice as long for each.
  const ofClustersOnly = name.endsWith('-3') && process.env.CI === 'true';
  const target = { name, outsider, ...targetOn(server) };
  describeStore(target, { ofClustersOnly, isShared: true });
  describeLayout(target);
  more(server);
}

const outsider = ({ url }: StorePlace) => openOutsider(url);

/** A target whose places are temporary folders. `url` returns the URL of a folder. */
export function embedded(name: string, url: (folder: string) => string): StoreTarget {
  return {
    name,
    outsider,
    async create() {
      const folder = await mkdtemp(join(tmpdir(), `tidegauge-${name}-`));
      return { url: url(folder), cleanup: () => rm(folder, { recursive: true, force: true }) };
    },
  };
}
