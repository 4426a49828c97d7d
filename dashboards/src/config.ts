/** Every threshold and job name that rules and dashboards use. They have no others. */
export interface WatchConfig {
  /**
   * The URL of a folder with the pages of docs/runbooks. Null: links lead to the dashboard Runbooks of the Grafana that
   * shows the alert.
   */
  readonly runbooks: string | null;
  /**
   * The URL of Grafana, such as `https://board:3000`, for links in e-mails. Empty: links work in Grafana only.
   */
  readonly grafana: string;
  /** Factor on the time that an alert waits before it fires. It is 1, except in the test on live servers. */
  readonly patience: number;
  /** Job names in the configuration of Prometheus. */
  readonly jobs: {
    readonly ingest: string;
    readonly api: string;
    readonly broker: string;
    readonly backup: string;
    readonly node: string;
    /** One for each database. */
    readonly stores: readonly string[];
  };
  readonly thresholds: Thresholds;
}

interface Thresholds {
  /** Age of the oldest reading that waits for the store, seconds. */
  readonly oldestUnstoredSeconds: number;
  /** Used share of the spool's limit. */
  readonly spoolRatio: number;
  /** Share of readings that are quarantined. */
  readonly quarantinedRatio: number;
  /** Share of store calls that fail. */
  readonly storeErrorRatio: number;
  /** 99th percentile of the time that a reading waits for its commit, seconds. */
  readonly storeSeconds: number;
  /** Share of HTTP requests whose status is 5xx. */
  readonly httpErrorRatio: number;
  /** Worker processes of the API that end within 15 minutes. */
  readonly workerExits: number;
  /** Messages in the broker's queues. It is well below `max_queued_messages` of the stack's broker. */
  readonly brokerQueuedMessages: number;
  /** Lead of a sensor's clock, seconds. Beyond 60 s ingest marks the readings as skewed. */
  readonly clockLeadSeconds: number;
  /** Offset of a board's clock, seconds. */
  readonly boardClockOffsetSeconds: number;
  /** Temperature, degrees Celsius. At 80 the firmware of a Raspberry Pi starts to slow the CPU down. */
  readonly boardCelsius: number;
  /** Free share of a disk. */
  readonly diskFreeRatio: number;
  /** Days until a disk is full. */
  readonly diskFullDays: number;
  /** Available share of a board's memory. */
  readonly memoryFreeRatio: number;
  /** Age of the oldest message about an alert that its receiver has not accepted, seconds. */
  readonly alertMessageSeconds: number;
  /** For how long an hour of readings could have been in rollups, seconds. */
  readonly rollupOverdueSeconds: number;
  /** Age of the newest complete backup, in intervals of its schedule. */
  readonly backupIntervals: number;
  /** Days until a certificate expires. */
  readonly certificateDays: number;
}

export const CONFIG: WatchConfig = {
  runbooks: null,
  grafana: '',
  patience: 1,
  jobs: {
    ingest: 'ingest',
    api: 'api',
    broker: 'broker',
    backup: 'backup',
    node: 'node',
    stores: ['postgres', 'mariadb', 'mongodb', 'cassandra', 'hbase'],
  },
  thresholds: {
    oldestUnstoredSeconds: 60,
    spoolRatio: 0.5,
    quarantinedRatio: 0.01,
    storeErrorRatio: 0.01,
    storeSeconds: 2,
    httpErrorRatio: 0.05,
    workerExits: 3,
    brokerQueuedMessages: 50_000,
    clockLeadSeconds: 5,
    boardClockOffsetSeconds: 0.1,
    boardCelsius: 80,
    diskFreeRatio: 0.1,
    diskFullDays: 4,
    memoryFreeRatio: 0.05,
    alertMessageSeconds: 300,
    rollupOverdueSeconds: 21_600,
    backupIntervals: 2,
    certificateDays: 30,
  },
};
