import type { RecordWorkload } from '@tidegauge/workload';

/** What a run of k6 does, from `npm run loadtest` to the scripts in loadtests/k6. Plain data. */
export interface Plan {
  readonly parts: readonly Part[];
  readonly seed: number;
  readonly api: { readonly url: string; readonly token: string | null } | null;
  readonly broker: Broker | null;
  /** k6's thresholds by metric: `{ op_read: ['p(99)<20'] }`. */
  readonly thresholds: Readonly<Record<string, readonly string[]>>;
}

/** One of k6's scenarios; those of a plan run side by side. */
export type Part = RecordsPart | IngestPart | DevicesPart | QueriesPart;

export interface RecordsPart {
  readonly profile: 'records';
  readonly model: Model;
  readonly workload: RecordWorkload;
}

/** Readings over MQTT; each thread is a connection with its own devices. */
export interface IngestPart {
  readonly profile: 'ingest';
  readonly model: Model;
  readonly devices: number;
  readonly qos: 0 | 1 | 2;
  /** First segment of the devices' names, and stamp of the readings: nobody else's. */
  readonly run: string;
  /** Threads subscribe to what they publish and wait for it. */
  readonly receive: boolean;
}

export type DeviceOperationType = 'selectOne' | 'selectSome' | 'updateSome';

/** The register of devices: read one, read those of a year, change those of a year. */
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
  /** Of each device. */
  readonly readings: number;
  /** Percent of the devices and of the time that queries cover. */
  readonly share: number;
  /** 1 to 10; null: any of them. */
  readonly query: number | null;
}

export interface Broker {
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  /** Certificate authority to trust, PEM. */
  readonly ca: string | null;
}

/** Threads take the next operation when the last has ended, or when its time has come (`rate`, over all threads). */
export interface ClosedModel {
  readonly kind: 'closed';
  readonly threads: number;
  /** Over all threads; null: until time is up. */
  readonly operations: number | null;
  readonly durationMs: number | null;
  readonly rate: number | null;
}

/** Operations begin when their time has come, whatever became of those before; at most `threads` at once. */
export interface OpenModel {
  readonly kind: 'open';
  readonly threads: number;
  readonly startRate: number;
  readonly stages: readonly Stage[];
}

/** From the rate before to this one, linearly. */
export interface Stage {
  readonly rate: number;
  readonly durationMs: number;
}

export type Model = ClosedModel | OpenModel;
