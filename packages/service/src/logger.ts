import { type Logger, pino } from 'pino';
import { readable } from './log-lines.ts';
import { redact } from './secrets.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Structured logs, an event that an operator would act on each, to standard error: object first, constant message
 * second. A terminal gets readable lines, anything else a line of JSON. Secrets are replaced: what the configuration
 * names as one, passwords in URLs, and anything called so.
 */
export function createLogger(name: string, level: LogLevel): Logger {
  return pino(
    {
      name,
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['password', '*.password', 'authorization', '*.authorization', 'token', '*.token'],
        censor: '***',
      },
    },
    destination(),
  );
}

/** Every line goes through here, with its message, its errors and what a child logger adds to it. */
function destination() {
  const out = pino.destination({ fd: 2, sync: true });
  const { NO_COLOR } = process.env;
  const show = process.stderr.isTTY
    ? (event: object) => readable(event, NO_COLOR === undefined || NO_COLOR === '')
    : (event: object) => `${JSON.stringify(event)}\n`;
  return { write: (line: string): void => void out.write(show(JSON.parse(line, redacted))) };
}

function redacted(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? redact(value) : value;
}
