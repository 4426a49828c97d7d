import { type Logger, pino } from 'pino';
import { readable } from './log-lines.ts';
import { redact } from './secrets.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Creates a structured logger that writes to standard error: an object first, a constant message second. A terminal
 * gets readable lines, anything else one line of JSON per event. Secrets are masked: secret settings, passwords in
 * URLs, and fields with names such as `password`.
 *
 * @example
 * const logger = createLogger('ingest', 'info');
 * logger.info({ store: 'sqlite' }, 'ingest is ready');
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

/** Writes every line, after it has masked its message, errors and fields. */
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
