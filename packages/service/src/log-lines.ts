const COLOURS: Readonly<Record<string, string>> = { warn: '33', error: '31', fatal: '31' };
/** Fields at the start of the line, and fields that a terminal does not show. */
const HEAD = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err']);
/** Control characters, which a terminal would execute; JSON escapes them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Formats a log event for a terminal: `14:05:09.123 WARN ingest: the broker is unavailable (reason=refused)`. */
export function readable(logged: object, colours: boolean): string {
  const event = logged as Record<string, unknown>;
  const time = new Date(String(event.time)).toISOString().slice(11, 23);
  const level = String(event.level);
  const code = colours ? COLOURS[level] : undefined;
  const label = code === undefined ? level.toUpperCase() : `\u001b[${code}m${level.toUpperCase()}\u001b[0m`;
  const rest = Object.entries(event).filter(([key]) => !HEAD.has(key));
  const fields = rest.map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const { stack, message } = (event.err ?? {}) as { stack?: string; message?: string };
  const error = stack ?? message;
  // A field can be the text of a client. With a newline in it, it could add a line that looks like an event.
  const head = `${event.name}: ${event.msg ?? ''}${fields.length === 0 ? '' : ` (${fields.join(', ')})`}`;
  const text = `${head.replaceAll('\n', '\\n')}${error === undefined ? '' : `\n  ${error.replaceAll('\n', '\n  ')}`}`;
  return `${time} ${label} ${text.replace(CONTROL, escaped)}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
