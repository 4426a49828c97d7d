/**
 * A number of things: `1 reading`, `2 readings`.
 *
 * @param show the number as text. Default: its digits
 */
export function counted(number: number, noun: string, show: (number: number) => string = String): string {
  return `${show(number)} ${noun}${number === 1 ? '' : 's'}`;
}
