const COLOURS: Readonly<Record<string, string>> = { warn: '33', error: '31', fatal: '31' };
/** What the head of the line says, or what nobody reads on a terminal. */
const HEAD = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err']);
/** A terminal takes these as commands; JSON leaves them as they are. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** An event of the log as a person reads it: `14:05:09.123 WARN ingest: the broker is away (reason=refused)`. */
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
  const text = `${event.name}: ${event.msg ?? ''}${fields.length === 0 ? '' : ` (${fields.join(', ')})`}${
    error === undefined ? '' : `\n  ${error.replaceAll('\n', '\n  ')}`
  }`;
  return `${time} ${label} ${text.replace(CONTROL, escaped)}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
