import { createHash } from 'node:crypto';
import type { DatabaseCopies } from '@tidegauge/lab/database-copies';
import type { Snapshots } from '../model.ts';

/** Snapshots as copies on the server. They stay until the deployment stops. */
export function copiesAsSnapshots(copies: DatabaseCopies): Snapshots {
  const saved = new Set<string>();
  return {
    has: async (key) => saved.has(key),
    async save(key, database, table) {
      // Until the copy is complete, it must not be restored.
      saved.delete(key);
      await copies.save(copyName(key), database, table);
      saved.add(key);
    },
    async restore(key, database, table) {
      if (!saved.has(key)) throw new Error(`there is no snapshot ${key} in this deployment`);
      await copies.restore(copyName(key), database, table);
    },
  };
}

/** Every store allows a name of this form. */
function copyName(key: string): string {
  return `copy_${createHash('sha256').update(key).digest('hex').slice(0, 24)}`;
}
