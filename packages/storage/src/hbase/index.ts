import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreUrl } from '../url.ts';
import { HbaseBackend } from './backend.ts';
import { HBASE_OPTIONS, readConfig } from './config.ts';

export const options = { hbase: HBASE_OPTIONS };

export function create(url: StoreUrl, _context: BackendContext): Backend {
  return new HbaseBackend(readConfig(url));
}
