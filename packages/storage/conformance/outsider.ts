/** Another program in the same database, with its own tables. */
export interface Outsider {
  /** Creates a table in another layout, with one row. */
  makeOther(table: string): Promise<void>;
  /** Makes a table in the layout of YCSB's binding, with a record `user1` whose `field0` is `external`. */
  makeYcsb(table: string): Promise<void>;
  /** The content of a table as text, or null if there is no such table. */
  content(table: string): Promise<string | null>;
  drop(table: string): Promise<void>;
  /** All tables of the database, including those of Tidegauge. */
  tables(): Promise<readonly string[]>;
  close(): Promise<void>;
}
