/** Another program in a place's database, with tables of its own. */
export interface Outsider {
  /** Makes a table in a layout of its own, with one row. */
  makeOther(table: string): Promise<void>;
  /** Makes a table in the layout of YCSB's binding, with a record `user1` whose `field0` is `by hand`. */
  makeYcsb(table: string): Promise<void>;
  /** All that is in a table, as text; null when there is no such table. */
  content(table: string): Promise<string | null>;
  drop(table: string): Promise<void>;
  /** Every table of the place, Tidegauge's own among them. */
  tables(): Promise<readonly string[]>;
  close(): Promise<void>;
}
