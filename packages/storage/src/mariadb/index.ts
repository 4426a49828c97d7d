import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreUrl } from '../url.ts';
import { MariadbBackend } from './backend.ts';
import { MARIADB_OPTIONS, readConfig } from './config.ts';

export const options = { mariadb: MARIADB_OPTIONS };

export function create(url: StoreUrl, context: BackendContext): Backend {
  return new MariadbBackend(readConfig(url), context.logger);
}
