/** How a process of ours ends; scripts and Swarm's restart policy read it. */
export const EXIT = {
  OK: 0,
  /** Something failed that nobody foresaw; a restart may help. */
  FAILED: 1,
  /** A person has to change the configuration; a restart cannot help. */
  MISCONFIGURED: 2,
} as const;
