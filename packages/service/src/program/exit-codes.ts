/** How every program ends. Scripts, systemd and Swarm's restart policy depend on these numbers. */
export const EXIT = {
  OK: 0,
  /** The work failed: a server is unavailable, a check or a threshold failed, or the program has a bug. */
  FAILED: 1,
  /** Bad usage or bad configuration. Nothing was done, and a restart cannot help. */
  BAD_USAGE: 2,
  /** A measurement ended, but its figures do not count. Only load tests and experiments end like this. */
  INVALID: 3,
} as const;
