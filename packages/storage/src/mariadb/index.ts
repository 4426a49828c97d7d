import type { BackendContext } from '../context.ts';
import type { Backend } from '../tables.ts';
import type { StoreUrl } from '../url.ts';
import { MariadbBackend } from './backend.ts';
import { readConfig } from './config.ts';

export { MARIADB_OPTIONS } from './config.ts';

export function create(url: StoreUrl, context: BackendContext): Backend {
  return new MariadbBackend(readConfig(url), context.logger);
}
