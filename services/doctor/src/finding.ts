export const LEVELS = ['error', 'warning', 'unknown', 'ok'] as const;
export type Level = (typeof LEVELS)[number];

/** What one check found out about the machine, the swarm or the broker. */
export interface Finding {
  /** Stable, for scripts: area and subject, `memory.cgroup`. */
  readonly check: string;
  /** `unknown`: it could not be found out, and `says` tells why; never taken for ok. */
  readonly level: Level;
  /** The fact and what follows from it, one line. */
  readonly says: string;
  /** What to do about it, one line; null where nothing has to be done. */
  readonly mend: string | null;
}

export function ok(check: string, says: string): Finding {
  return { check, level: 'ok', says, mend: null };
}

export function warning(check: string, says: string, mend: string): Finding {
  return { check, level: 'warning', says, mend };
}

export function error(check: string, says: string, mend: string): Finding {
  return { check, level: 'error', says, mend };
}

export function unknown(check: string, says: string, mend: string | null): Finding {
  return { check, level: 'unknown', says, mend };
}

/** Whether a deploy may go on: no error, and with `strict` neither a warning nor anything left unknown. */
export function passes(findings: readonly Finding[], strict: boolean): boolean {
  return findings.every(({ level }) => level === 'ok' || (!strict && level !== 'error'));
}
