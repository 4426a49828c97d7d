import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreUrl } from '../url.ts';
import { CassandraBackend } from './backend.ts';
import { CASSANDRA_OPTIONS, readConfig } from './config.ts';

export const options = { cassandra: CASSANDRA_OPTIONS };

export function create(url: StoreUrl, { logger }: BackendContext): Backend {
  return new CassandraBackend(readConfig(url), logger);
}
