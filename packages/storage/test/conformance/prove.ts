import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeStore, type StoreTarget } from '../../conformance/index.ts';

/** STORES=sqlite,json: which stores to prove; all of them without it. */
export function isAsked(name: string): boolean {
  const asked = process.env.STORES?.split(',').map((store) => store.trim());
  return asked === undefined || asked.includes(name);
}

/** Registers the conformance suite for a target, if it is asked for. */
export function prove(target: StoreTarget): void {
  if (isAsked(target.name)) describeStore(target);
}

/** A target whose places are temporary folders; `url` makes the URL of one. */
export function embedded(name: string, url: (folder: string) => string): StoreTarget {
  return {
    name,
    async create() {
      const folder = await mkdtemp(join(tmpdir(), `tidegauge-${name}-`));
      return { url: url(folder), cleanup: () => rm(folder, { recursive: true, force: true }) };
    },
  };
}
