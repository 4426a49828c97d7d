import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { CheckPace, Damage } from '../damage.ts';
import type { StoreUrl } from '../url.ts';
import { JsonBackend } from './backend.ts';
import { checkFolder } from './check.ts';
import { JSON_OPTIONS, readConfig } from './config.ts';

export const options = { json: JSON_OPTIONS };

/** @throws {StoreError} MISCONFIGURED */
export function create(url: StoreUrl, context: BackendContext): Backend {
  return new JsonBackend(readConfig(url), context);
}

export function check(url: StoreUrl, pace: CheckPace, takesOut: boolean): AsyncIterable<Damage> {
  return checkFolder(readConfig(url).folder, pace, takesOut);
}
