import type { BackendContext } from '../context.ts';
import type { Store } from '../contract.ts';
import { StoreError } from '../errors.ts';
import type { StoreUrl } from '../url.ts';

export function create(_url: StoreUrl, _context: BackendContext): Store {
  throw new StoreError('NOT_SUPPORTED', 'not built yet');
}
