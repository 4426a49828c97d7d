/** A copy that holds nothing else, for what is kept long: in V8 a part of a text keeps the whole text in memory. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}
