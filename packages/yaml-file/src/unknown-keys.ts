import { didYouMean } from '@tidegauge/text';
import type { Mistake, Path } from './yaml-file.ts';

/**
 * A mistake for each key of a table that is not one of `keys`.
 *
 * @param what what the table is, as the message names it: `a rule`
 */
export function unknownKeys(table: object, path: Path, keys: readonly string[], what: string): Mistake[] {
  return Object.keys(table)
    .filter((key) => !keys.includes(key))
    .map((key) => ({
      path: [...path, key],
      message: `${key} is not a key of ${what} (${keys.join(', ')})${didYouMean(key, keys)}`,
      atKey: true,
    }));
}
