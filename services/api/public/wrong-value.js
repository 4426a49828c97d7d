// Readings that a person marked as wrong: their value is a text with the number. This module does not use the DOM.

const WRONG = /^\{"wrong":(-?[0-9.e+-]+)\}$/;

/** The number of a reading that was marked as wrong; null for another value. */
export function wrongNumber(value) {
  const [, digits] = WRONG.exec(String(value)) ?? [];
  const number = Number(digits);
  return Number.isFinite(number) ? number : null;
}
