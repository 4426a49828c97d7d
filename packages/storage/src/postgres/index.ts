import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreUrl } from '../url.ts';
import { PostgresBackend } from './backend.ts';
import { citus } from './citus.ts';
import { CITUS_OPTIONS, POSTGRES_OPTIONS, readConfig, readDistribution } from './config.ts';
import { plain } from './dialect.ts';

export const options = { postgres: POSTGRES_OPTIONS, citus: CITUS_OPTIONS };

/** Creates the stores `postgres` and `citus`, which distributes tables over workers. */
export function create(url: StoreUrl, { logger }: BackendContext): Backend {
  const dialect = url.scheme === 'citus' ? citus(readDistribution(url)) : plain;
  return new PostgresBackend(readConfig(url), dialect, logger);
}
