/** Copies of loaded data on its server, which stay until it stops. */
export interface DatabaseCopies {
  /**
   * Copies a table of records of a database, or the whole database. A copy with this name, also a part of one, is
   * replaced.
   */
  save(copy: string, place: string, table: string): Promise<void>;
  /**
   * Gives the table, or the whole database, the content of a copy, also when it was dropped. Clients may stay connected;
   * calls that run meanwhile may fail. Rejects when the copy cannot be restored completely.
   */
  restore(copy: string, place: string, table: string): Promise<void>;
  /** The part of the data folders that copies take, in bytes. null: not known. */
  bytes(): Promise<number | null>;
}
