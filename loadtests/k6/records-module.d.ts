/** Types of the module in loadtests/k6-modules/records. The comments there describe the functions. */
declare module 'k6/x/tidegauge/records' {
  import type { RecordWorkload } from '@tidegauge/workload';

  export interface RecordsOptions {
    readonly workload: RecordWorkload;
    readonly seed: number;
    readonly thread: number;
    readonly threads: number;
    readonly url: string;
    readonly token: string;
    readonly rows: boolean;
  }

  export interface Limits {
    readonly operations: number | null;
    readonly durationMs: number | null;
    readonly rate: number | null;
  }

  export class Records {
    constructor(options: RecordsOptions);
    run(limits: Limits): void;
    one(lateMs: number): void;
  }
}
