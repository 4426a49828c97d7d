const UNITS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/**
 * Parses a size as Docker writes it (`430M`, `1g`, `512mb`, `1.5GiB`). Returns bytes, or null when it is not a size.
 */
export function dockerSize(text: string): number | null {
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(text) ?? [];
  return number === undefined ? null : Math.round(Number(number) * UNITS[unit!.toLowerCase()]!);
}

/** Formats bytes for people: `906 MiB`, `3.7 GiB`. */
export function size(bytes: number): string {
  if (bytes >= 2 ** 30) return `${round(bytes / 2 ** 30)} GiB`;
  return bytes >= 2 ** 20 ? `${Math.round(bytes / 2 ** 20)} MiB` : `${Math.round(bytes / 2 ** 10)} KiB`;
}

/** Formats seconds for people: `4.2 ms`, `36 s`, `14 min`, `2.3 h`. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${round(seconds * 1000)} ms`;
  if (seconds < 120) return `${round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${round(seconds / 3600)} h`;
}

/** Formats a count for people: `2,000`. */
export function count(number: number): string {
  return Math.floor(number).toLocaleString('en');
}

function round(number: number): string {
  return number >= 10 ? String(Math.round(number)) : number.toFixed(number >= 1 ? 1 : 2);
}

export function plural(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? '' : 's'}`;
}
