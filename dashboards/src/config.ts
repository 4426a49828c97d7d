/** Every threshold and name that rules and dashboards use; nothing else holds a number of its own. */
export interface WatchConfig {
  /** What a runbook's file name is appended to: a folder of the repository, or the URL it is served at. */
  readonly runbooks: string;
  /** Alerts wait this share of their usual time before they fire; 1 but in the test on live servers. */
  readonly patience: number;
  /** Jobs whose replicas are ours; Prometheus's configuration gives them these names. */
  readonly jobs: {
    readonly ingest: string;
    readonly api: string;
    readonly broker: string;
    readonly node: string;
  };
  readonly thresholds: Thresholds;
}

interface Thresholds {
  /** Age of the oldest reading that waits to be stored, seconds. */
  readonly oldestUnstoredSeconds: number;
  /** Share of the spool's bound that is taken. */
  readonly spoolRatio: number;
  /** Share of readings that end in quarantine. */
  readonly quarantinedRatio: number;
  /** Share of store calls that fail. */
  readonly storeErrorRatio: number;
  /** Time of one batch in the store, p99, seconds. */
  readonly storeSeconds: number;
  /** Share of HTTP requests answered 5xx. */
  readonly httpErrorRatio: number;
  /** Messages that the broker keeps for its clients; well below `max_queued_messages` of the shipped broker. */
  readonly brokerQueuedMessages: number;
  /** Lead of a sensor's clock, seconds: beyond 60 its readings are marked skewed. */
  readonly clockLeadSeconds: number;
  /** Offset of a board's clock, seconds. */
  readonly boardClockOffsetSeconds: number;
  /** At 80 degrees Celsius a Raspberry Pi's firmware begins to lower the clock. */
  readonly boardCelsius: number;
  /** Share of a disk that is free. */
  readonly diskFreeRatio: number;
  /** A disk that will be full in this many days is worth a warning today. */
  readonly diskFullDays: number;
  /** Share of a board's memory that is available. */
  readonly memoryFreeRatio: number;
}

export const CONFIG: WatchConfig = {
  runbooks: 'docs/runbooks',
  patience: 1,
  jobs: { ingest: 'ingest', api: 'api', broker: 'broker', node: 'node' },
  thresholds: {
    oldestUnstoredSeconds: 60,
    spoolRatio: 0.5,
    quarantinedRatio: 0.01,
    storeErrorRatio: 0.01,
    storeSeconds: 2,
    httpErrorRatio: 0.05,
    brokerQueuedMessages: 50_000,
    clockLeadSeconds: 5,
    boardClockOffsetSeconds: 0.1,
    boardCelsius: 80,
    diskFreeRatio: 0.1,
    diskFullDays: 4,
    memoryFreeRatio: 0.05,
  },
};
