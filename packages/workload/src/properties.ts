import { WorkloadError } from './errors.ts';

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };
const BLANK = ' \t\f';

/**
 * Parses a Java property file (java.util.Properties.load): `name=value`, `name: value` or `name value`, comments
 * after # and !, a backslash at the end of a line, \t
 *  \r \f \uXXXX. Of equal names the last one counts.
 *
 * @param file the name of the file in errors
 * @throws {WorkloadError} for a \u without four hexadecimal digits
 */
export function parseProperties(text: string, file: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const line of logicalLines(text)) {
    const end = endOfName(line);
    let start = end;
    while (start < line.length && BLANK.includes(line[start]!)) start += 1;
    if (line[start] === '=' || line[start] === ':') start += 1;
    while (start < line.length && BLANK.includes(line[start]!)) start += 1;
    properties.set(unescaped(line.slice(0, end), file), unescaped(line.slice(start), file));
  }
  return properties;
}

/** Logical lines, joined after a backslash, without comments and blank lines. */
function logicalLines(text: string): string[] {
  const lines: string[] = [];
  let open: string | null = null;
  for (const natural of text.split(/\r\n|\n|\r/)) {
    const line = natural.replace(/^[ \t\f]+/, '');
    if (open === null && (line === '' || line[0] === '#' || line[0] === '!')) continue;
    const continued = /(?:^|[^\\])(?:\\\\)*\\$/.test(line);
    const whole: string = (open ?? '') + (continued ? line.slice(0, -1) : line);
    if (continued) open = whole;
    else {
      lines.push(whole);
      open = null;
    }
  }
  if (open !== null) lines.push(open);
  return lines;
}

function endOfName(line: string): number {
  for (let index = 0; index < line.length; index += 1) {
    if (line[index] === '\\') index += 1;
    else if ('=: \t\f'.includes(line[index]!)) return index;
  }
  return line.length;
}

function unescaped(text: string, file: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(u[0-9a-fA-F]{4}|.|$)/g, (_whole, code: string) => {
    if (code.length === 5) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    if (code === 'u') {
      throw new WorkloadError(`${file}: ${text}: \\u must be followed by four hexadecimal digits`);
    }
    return ESCAPES[code] ?? code;
  });
}
