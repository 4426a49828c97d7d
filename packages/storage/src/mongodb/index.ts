import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreUrl } from '../url.ts';
import { MongodbBackend } from './backend.ts';
import { MONGODB_OPTIONS, readConfig } from './config.ts';

export const options = { mongodb: MONGODB_OPTIONS };

export function create(url: StoreUrl, _context: BackendContext): Backend {
  return new MongodbBackend(readConfig(url));
}
