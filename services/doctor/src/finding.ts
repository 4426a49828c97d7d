export const LEVELS = ['error', 'warning', 'unknown', 'ok'] as const;
export type Level = (typeof LEVELS)[number];

/** The result of one check of the machine, the swarm or the broker. */
export interface Finding {
  /** A stable name for scripts: area and subject, such as `memory.cgroup`. */
  readonly check: string;
  /** `unknown`: the check was not possible, and `message` has the reason. It never counts as ok. */
  readonly level: Level;
  /** The fact and its consequence, in one line. */
  readonly message: string;
  /** How to fix it, in one line; null when nothing has to be done. */
  readonly fix: string | null;
}

export function ok(check: string, message: string): Finding {
  return { check, level: 'ok', message, fix: null };
}

export function warning(check: string, message: string, fix: string): Finding {
  return { check, level: 'warning', message, fix };
}

export function error(check: string, message: string, fix: string): Finding {
  return { check, level: 'error', message, fix };
}

export function unknown(check: string, message: string, fix: string | null): Finding {
  return { check, level: 'unknown', message, fix };
}

/** Whether a deployment may continue: no error, and with `strict` neither a warning nor an unknown. */
export function passes(findings: readonly Finding[], strict: boolean): boolean {
  return findings.every(({ level }) => level === 'ok' || (!strict && level !== 'error'));
}
