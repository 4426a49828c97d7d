import { parseUrl } from '@tidegauge/storage';
import { postgresClient } from '../drivers/postgres-client.ts';

/**
 * Gathers the statistics that PostgreSQL plans with, after a load. It does so itself within a minute
 * (`autovacuum_naptime`), and until then a query can have another plan. Other stores need nothing.
 *
 * @throws {Error} when the server cannot be reached
 * @see PostgreSQL 15, section 14.4.7, Run ANALYZE Afterwards
 */
export async function gatherStatistics(storeUrl: string): Promise<void> {
  const url = parseUrl(storeUrl);
  if (url.scheme !== 'postgres') return;
  const client = postgresClient(url);
  await client.connect();
  try {
    await client.query('analyze');
  } finally {
    await client.end();
  }
}
