import type { BackendContext } from '../context.ts';
import type { Store } from '../contract.ts';
import type { StoreUrl } from '../url.ts';
import { CassandraBackend } from './backend.ts';
import { readConfig } from './config.ts';

export { CASSANDRA_OPTIONS } from './config.ts';

export function create(url: StoreUrl, { logger }: BackendContext): Store {
  return new CassandraBackend(readConfig(url), logger);
}
