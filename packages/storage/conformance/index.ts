import { describe } from 'node:test';
import { readingsWrite } from './readings-write.ts';
import type { StoreTarget } from './target.ts';

export type { StorePlace, StoreTarget } from './target.ts';

/**
 * Registers the suite that every store must pass, with node's test runner. It reads differences from the
 * store's capabilities, never from its name, and proves what a capability denies as well.
 */
export function describeStore(target: StoreTarget): void {
  describe(`store ${target.name}`, () => {
    readingsWrite(target);
  });
}
