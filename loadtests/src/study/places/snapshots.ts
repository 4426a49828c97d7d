import { createHash } from 'node:crypto';
import type { DatabaseCopies } from '@tidegauge/lab/database-copies';
import type { Snapshots } from '../model.ts';

/** Snapshots as copies of databases on the server. They stay until the deployment stops. */
export function copiesAsSnapshots(copies: DatabaseCopies): Snapshots {
  const saved = new Set<string>();
  return {
    has: async (key) => saved.has(key),
    async save(key, database) {
      await copies.save(copyName(key), database);
      saved.add(key);
    },
    async restore(key, database) {
      if (!saved.has(key)) throw new Error(`there is no snapshot ${key} in this deployment`);
      await copies.restore(copyName(key), database);
    },
  };
}

/** Every store allows a name of this form. */
function copyName(key: string): string {
  return `copy_${createHash('sha256').update(key).digest('hex').slice(0, 24)}`;
}
