import { hashText } from './hash.ts';

export type InsertOrder = 'hashed' | 'ordered';

/**
 * The key of record `number`, as YCSB names it: `user`, then the number (`ordered`) or its hash (`hashed`), padded
 * with zeros on the left to `zeroPadding` digits.
 */
export function keyName(number: number, order: InsertOrder = 'hashed', zeroPadding = 1): string {
  const value = order === 'hashed' ? hashText(number) : String(number);
  return `user${value.padStart(zeroPadding, '0')}`;
}
