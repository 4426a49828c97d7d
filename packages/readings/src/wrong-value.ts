import type { ReadingValue } from './reading.ts';

const WRONG = /^\{"wrong":(-?[0-9.e+-]+)\}$/;

/**
 * The value of a reading that a person marked as wrong: a text with its number. Figures and rollups count numbers only, so
 * they leave it out, and it stays stored.
 */
export function wrongValue(value: number): string {
  return `{"wrong":${Object.is(value, -0) ? '-0' : value}}`;
}

/** The number of a reading that was marked as wrong; null for another value. */
export function rightValue(value: ReadingValue): number | null {
  const [, digits] = WRONG.exec(String(value)) ?? [];
  const number = Number(digits);
  return Number.isFinite(number) ? number : null;
}
