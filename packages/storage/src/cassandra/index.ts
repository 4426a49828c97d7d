import type { BackendContext } from '../context.ts';
import type { Backend } from '../tables.ts';
import type { StoreUrl } from '../url.ts';
import { CassandraBackend } from './backend.ts';
import { readConfig } from './config.ts';

export { CASSANDRA_OPTIONS } from './config.ts';

export function create(url: StoreUrl, { logger }: BackendContext): Backend {
  return new CassandraBackend(readConfig(url), logger);
}
