import type { Closers } from '@tidegauge/loadtests/targets/closers';
import type { Source } from './traffic.ts';

export interface Running {
  /** What writes, and records what was acknowledged. It stops before the process does. */
  readonly source: Source;
  /** null: programs run one after the other. */
  readonly pid: number | null;
  /** Ends the process with SIGKILL, which is sent before the first wait. */
  kill(): Promise<void>;
}

/** A process that is killed, or whose files are on a disk of which the power is cut. */
export interface CutTarget {
  /** Whether a loss is a failure. It is none where the program only measures what another one loses. */
  readonly mustKeep: boolean;
  /** Files that it writes in place, relative to its disk: any of these can get a torn write. */
  readonly files: readonly string[];
  /** The longest pause before a cut, milliseconds. */
  readonly pauseMs: number;
  /** Whether the process is stopped while a disk is read, so that what it does lasts for all cuts. */
  readonly isHeld?: boolean;
  /** Starts it on an empty disk, and begins to publish. */
  start(disk: string, closers: Closers): Promise<Running>;
  /**
   * The numbers of all messages that are found on a disk after the cut or the kill; null when the session is lost.
   *
   * @throws {Error} when what is on the disk cannot be used, or is wrong
   */
  found(disk: string): Promise<ReadonlySet<number> | null>;
  /** A line that the report has in addition. */
  remark?(): string;
}
