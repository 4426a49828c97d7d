import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { CheckPace, Damage } from '../damage.ts';
import type { StoreUrl } from '../url.ts';
import { SqliteBackend } from './backend.ts';
import { checkFile } from './check.ts';
import { readConfig, SQLITE_OPTIONS } from './config.ts';

export const options = { sqlite: SQLITE_OPTIONS };

export function create(url: StoreUrl, _context: BackendContext): Backend {
  return new SqliteBackend(readConfig(url));
}

export function check(url: StoreUrl, pace: CheckPace, takesOut: boolean): AsyncIterable<Damage> {
  return checkFile(readConfig(url).path, pace, takesOut);
}
