/** Copies of databases on their server, which stay until it stops. */
export interface DatabaseCopies {
  /** Copies a database. A copy with this name is replaced. */
  save(copy: string, place: string): Promise<void>;
  /**
   * Replaces the content of a database with that of a copy. Clients may stay connected; calls that run meanwhile may
   * fail. Rejects when the numbers of rows differ from those of the copy.
   */
  restore(copy: string, place: string): Promise<void>;
  /** The part of the data folders that copies take, in bytes. */
  bytes(): Promise<number>;
}
