import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreTarget } from '../../conformance/index.ts';

/** A target whose places are temporary folders; `url` makes the URL of one. */
function embedded(name: string, url: (folder: string) => string): StoreTarget {
  return {
    name,
    async create() {
      const folder = await mkdtemp(join(tmpdir(), `tidegauge-${name}-`));
      return { url: url(folder), cleanup: () => rm(folder, { recursive: true, force: true }) };
    },
  };
}

export const TARGETS: readonly StoreTarget[] = [
  embedded('sqlite', (folder) => `sqlite:${folder}/tidegauge.db`),
  embedded('json', (folder) => `json:${folder}/readings`),
];
