/** Prints a line of progress on standard error, so that standard output has figures only. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
