/** Formats 12345.6 as `12,346`. A value below 100 has one decimal digit. */
export function showNumber(value: number): string {
  const digits = Math.abs(value) < 100 ? 1 : 0;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
