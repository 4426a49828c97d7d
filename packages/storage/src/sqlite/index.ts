import type { BackendContext } from '../context.ts';
import type { Store } from '../contract.ts';
import type { StoreUrl } from '../url.ts';
import { SqliteBackend } from './backend.ts';
import { readConfig } from './config.ts';

export { SQLITE_OPTIONS } from './config.ts';

export function create(url: StoreUrl, _context: BackendContext): Store {
  return new SqliteBackend(readConfig(url));
}
