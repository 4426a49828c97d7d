import type { RecordWorkload } from '@tidegauge/workload';

/** The plan of a run of k6. `npm run loadtest` passes it to the scripts in loadtests/k6 as plain data. */
export interface Plan {
  readonly parts: readonly Part[];
  readonly seed: number;
  readonly api: { readonly url: string; readonly token: string | null } | null;
  readonly broker: Broker | null;
  /** k6's thresholds by metric: `{ op_read: ['p(99)<20'] }`. */
  readonly thresholds: Readonly<Record<string, readonly string[]>>;
  /** Whether the script of `records` also makes one sample of the metric `op_row` for each operation. */
  readonly rows?: boolean;
}

/** One scenario of k6. All scenarios of a plan run at the same time. */
export type Part = RecordsPart | IngestPart | DevicesPart | QueriesPart;

export interface RecordsPart {
  readonly profile: 'records';
  readonly model: Model;
  readonly workload: RecordWorkload;
}

/** Readings over MQTT. Each thread is a connection with its own devices. */
export interface IngestPart {
  readonly profile: 'ingest';
  readonly model: Model;
  readonly devices: number;
  readonly qos: 0 | 1 | 2;
  /** First segment of the devices' names, and `boot` of the readings. Unique to the run. */
  readonly run: string;
  /** Threads subscribe to their own messages and wait for them. */
  readonly receive: boolean;
}

export type DeviceOperationType = 'selectOne' | 'selectSome' | 'updateSome';

/** The device register: read one device, read all of a year, update all of a year. */
export interface DevicesPart {
  readonly profile: 'devices';
  readonly model: Model;
  readonly devices: number;
  /** Shares of the operations; they add up to 1. */
  readonly mix: Readonly<Record<DeviceOperationType, number>>;
}

/** Ten reads of growing complexity. */
export interface QueriesPart {
  readonly profile: 'queries';
  readonly model: Model;
  readonly devices: number;
  /** Number of readings of each device. */
  readonly readings: number;
  /** Percent of the devices and of the time that queries cover. */
  readonly share: number;
  /** Number of the only query to run, 1 to 10. null: all of them, at random. */
  readonly query: number | null;
}

export interface Broker {
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  /** Certificate authority to trust, PEM. */
  readonly ca: string | null;
}

/**
 * A thread starts its next operation when the previous one has ended. With `rate`, it also waits until the operation is
 * scheduled.
 */
export interface ClosedModel {
  readonly kind: 'closed';
  readonly threads: number;
  /** Number of operations over all threads. null: until `durationMs` has passed. */
  readonly operations: number | null;
  readonly durationMs: number | null;
  /** Operations per second over all threads. null: no limit. */
  readonly rate: number | null;
}

/** Operations start on schedule, even if earlier ones have not ended. At most `threads` run at once. */
export interface OpenModel {
  readonly kind: 'open';
  readonly threads: number;
  readonly startRate: number;
  readonly stages: readonly Stage[];
}

/** A linear change from the previous rate to this one. */
export interface Stage {
  readonly rate: number;
  readonly durationMs: number;
}

export type Model = ClosedModel | OpenModel;
