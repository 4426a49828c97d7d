import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Structured logs, a JSON line per event that an operator would act on, to standard error: object first,
 * constant message second. Anything named like a secret is redacted.
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
    pino.destination({ fd: 2, sync: true }),
  );
}
