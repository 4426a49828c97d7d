import type { BackendContext } from '../context.ts';
import type { Backend } from '../tables.ts';
import type { StoreUrl } from '../url.ts';
import { MongodbBackend } from './backend.ts';
import { readConfig } from './config.ts';

export { MONGODB_OPTIONS } from './config.ts';

export function create(url: StoreUrl, _context: BackendContext): Backend {
  return new MongodbBackend(readConfig(url));
}
