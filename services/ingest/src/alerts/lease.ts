/** Decides which of several ingest processes evaluates the rules. */
export interface Lease {
  /** Whether other processes may evaluate the rules of this store too, one at a time. */
  readonly isShared: boolean;
  /** Takes or renews the lease. Resolves to whether this process has it. @throws {StoreError} */
  renew(): Promise<boolean>;
  /** Lets another process take it. Does not throw. */
  release(): Promise<void>;
}

/** For a single ingest process. */
export const ALONE: Lease = {
  isShared: false,
  renew: () => Promise.resolve(true),
  release: () => Promise.resolve(),
};
