import { CONFIG } from './config.ts';

/** Values of series in promtool's notation, by series. */
export type Series = Readonly<Record<string, string>>;

/** The test data of one alert: a fault that makes it fire and clear, and values at its limit that must not fire. */
export interface AlertCase {
  readonly alert: string;
  /** Time between samples, seconds. */
  readonly intervalSeconds: number;
  /** Series in promtool's notation: normal values, then the fault, then normal values again. */
  readonly fault: Series;
  /** A sample at which the alert does not fire yet. For an alert that waits, the fault has started by then. */
  readonly quietAt: number;
  readonly firesAt: number;
  readonly clearedAt: number;
  /** A fault at the limit but not beyond it, or too short. */
  readonly edge: Series;
  /** Further data that makes it fire after `firesAt`, and clear at `clearedAt`. */
  readonly first?: Series;
}

const { thresholds: limit } = CONFIG;
const ingest = (metric: string, labels = '') => `${metric}{job="ingest",instance="ingest:9464"${labels}}`;
const api = (metric: string) => `${metric}{job="api",instance="api:8080"}`;
const broker = (metric: string) => `${metric}{job="broker",instance="broker:9465"}`;
const backup = (metric: string) => `${metric}{job="backup",instance="backup:9467"}`;
const node = (metric: string, labels = '') => `${metric}{job="node",instance="pi1:9100"${labels}}`;
/** Alerts on boards have the name of the board. */
const PI1: Series = { [node('node_uname_info', ',nodename="pi1"')]: '1x200' };
/** A process that started shortly before its first scrape. */
const started = (job: string, instance: string): Series => ({
  [`process_start_time_seconds{job="${job}",instance="${instance}"}`]: '_x9 130x120',
});
/** A gauge with 10 normal samples, 60 bad samples, then normal samples. */
const spell = (well: number | string, bad: number | string) => `${well}x9 ${bad}x59 ${well}x90`;
const steady = (value: number | string) => `${value}x159`;

/** A gauge that is beyond its limit from 2:30 to 17:15, with a sample every 15 s. */
function level(
  alert: string,
  series: string,
  { well, bad, edge }: { readonly well: number; readonly bad: number; readonly edge: number },
  firesAt: number,
  clearedAt = 72,
): AlertCase {
  return {
    alert,
    intervalSeconds: 15,
    fault: { ...PI1, [series]: spell(well, bad) },
    quietAt: firesAt - 2,
    firesAt,
    clearedAt,
    edge: { ...PI1, [series]: steady(edge) },
  };
}

const DISK = ',mountpoint="/",fstype="ext4"';
const GB = 1e9;
const DAY_SECONDS = 86_400;

export const ALERT_CASES: readonly AlertCase[] = [
  level(
    'TidegaugeReadingsWaiting',
    ingest('tidegauge_oldest_unstored_seconds'),
    { well: 0, bad: limit.oldestUnstoredSeconds + 1, edge: limit.oldestUnstoredSeconds },
    14,
  ),
  {
    // Five readings are missing and never arrive: the alert ends after 15 minutes. At the edge they arrive in 2 minutes.
    alert: 'TidegaugeReadingsMissing',
    intervalSeconds: 15,
    fault: { [ingest('tidegauge_ledger_missing_readings')]: '0x9 5x120' },
    quietAt: 16,
    firesAt: 18,
    clearedAt: 72,
    edge: { [ingest('tidegauge_ledger_missing_readings')]: '0x9 5x6 0x113' },
  },
  {
    alert: 'TidegaugeLedgerUnbalanced',
    intervalSeconds: 15,
    fault: {
      ...books({ stored: '80+8x129' }),
      // One reading is in no other count.
      [ingest('tidegauge_readings_received_total')]: '106+10x9 207+10x59 806+10x59',
    },
    quietAt: 12,
    firesAt: 14,
    clearedAt: 71,
    edge: {
      ...books({ stored: '80+8x129' }),
      [ingest('tidegauge_readings_received_total')]: '106+10x129',
    },
  },
  {
    alert: 'TidegaugeReadingsQuarantined',
    intervalSeconds: 15,
    fault: {
      [ingest('tidegauge_readings_received_total')]: '0+100x200',
      [ingest('tidegauge_readings_quarantined_total', ',reason="malformed"')]: '0x9 5+5x79 400x120',
    },
    quietAt: 20,
    firesAt: 40,
    clearedAt: 120,
    edge: {
      [ingest('tidegauge_readings_received_total')]: '0+100x200',
      [ingest('tidegauge_readings_quarantined_total', ',reason="malformed"')]: '0+1x200',
    },
  },
  level(
    'TidegaugeSensorAlert',
    ingest('tidegauge_alerts_active', ',rule="quiet",severity="warning"'),
    { well: 0, bad: 3, edge: 0 },
    11,
  ),
  level(
    'TidegaugeSensorAlertCritical',
    ingest('tidegauge_alerts_active', ',rule="hot",severity="critical"'),
    { well: 0, bad: 1, edge: 0 },
    11,
  ),
  level('TidegaugeAlertRulesStale', ingest('tidegauge_alert_rules_stale'), { well: 0, bad: 1, edge: 0 }, 31),
  level('TidegaugeAlertsFailing', ingest('tidegauge_alerts_state_failing'), { well: 0, bad: 1, edge: 0 }, 31),
  level(
    'TidegaugeAlertsUndelivered',
    ingest('tidegauge_alert_messages_oldest_seconds', ',channel="webhook"'),
    { well: 0, bad: limit.alertMessageSeconds + 1, edge: limit.alertMessageSeconds },
    14,
  ),
  level('TidegaugeRoutesStale', ingest('tidegauge_routes_stale'), { well: 0, bad: 1, edge: 0 }, 31),
  {
    alert: 'TidegaugeSpoolFilling',
    intervalSeconds: 15,
    fault: spool(spell(0, limit.spoolRatio * GB + 1)),
    quietAt: 12,
    firesAt: 14,
    clearedAt: 72,
    edge: spool(steady(limit.spoolRatio * GB)),
  },
  level('TidegaugeRelayBoardLost', ingest('tidegauge_relay_boards_lost'), { well: 0, bad: 1, edge: 0 }, 14),
  level('TidegaugeRelayFailing', ingest('tidegauge_relay_failing_centres'), { well: 0, bad: 1, edge: 0 }, 31),
  level('TidegaugeRelayUnequal', ingest('tidegauge_relay_unequal_days'), { well: 0, bad: 2, edge: 0 }, 14),
  {
    alert: 'TidegaugeQuarantineDropping',
    intervalSeconds: 15,
    fault: { [ingest('tidegauge_quarantine_dropped_total')]: '0x9 7x120' },
    quietAt: 9,
    firesAt: 11,
    clearedAt: 72,
    first: {
      ...started('ingest', 'ingest:9464'),
      [ingest('tidegauge_quarantine_dropped_total')]: '_x9 7x120',
    },
    edge: { [ingest('tidegauge_quarantine_dropped_total')]: steady(7) },
  },
  {
    alert: 'TidegaugeStoreErrors',
    intervalSeconds: 15,
    fault: {
      [ingest('tidegauge_store_seconds_count', ',backend="sqlite",op="write"')]: '0+100x200',
      [ingest('tidegauge_store_errors_total', ',backend="sqlite",kind="UNAVAILABLE"')]:
        '0x9 50+50x59 3000x130',
    },
    quietAt: 15,
    firesAt: 20,
    clearedAt: 100,
    edge: {
      [ingest('tidegauge_store_seconds_count', ',backend="sqlite",op="write"')]: '0+100x200',
      [ingest('tidegauge_store_errors_total', ',backend="sqlite",kind="UNAVAILABLE"')]: '0+1x200',
      [ingest('tidegauge_store_errors_total', ',backend="sqlite",kind="REJECTED"')]: '0+50x200',
    },
  },
  {
    // All readings take 5 s; at the edge just less than the limit. p99 is interpolated within the bucket.
    alert: 'TidegaugeStoreSlow',
    intervalSeconds: 15,
    fault: buckets({ '1': '0+100x9 900x59 900+100x100', '2': '0+100x9 900x59 900+100x100' }),
    quietAt: 40,
    firesAt: 60,
    clearedAt: 100,
    edge: buckets({ '1': '0x200', '2': '0+100x200' }),
  },
  {
    // Two replicas report the same store.
    alert: 'TidegaugeRollupsOverdue',
    intervalSeconds: 15,
    fault: {
      [ingest('tidegauge_rollup_overdue_seconds')]: spell(0, limit.rollupOverdueSeconds + 1),
      'tidegauge_rollup_overdue_seconds{job="ingest",instance="10.0.1.3:9464"}': steady(0),
    },
    quietAt: 48,
    firesAt: 51,
    clearedAt: 72,
    edge: { [ingest('tidegauge_rollup_overdue_seconds')]: steady(limit.rollupOverdueSeconds) },
  },
  {
    alert: 'TidegaugeBackupFailing',
    intervalSeconds: 60,
    fault: { [backup('tidegauge_backup_failing')]: spell(0, 1) },
    quietAt: 28,
    firesAt: 31,
    clearedAt: 72,
    // The second attempt succeeds.
    edge: { [backup('tidegauge_backup_failing')]: '0x9 1x15 0x100' },
  },
  {
    // promtool starts at time 0, where a backup begins. A backup every five minutes; the next one begins at sample 80.
    alert: 'TidegaugeBackupOverdue',
    intervalSeconds: 60,
    fault: {
      // The service ends, and starts again half an hour later.
      [backup('tidegauge_backup_last_timestamp_seconds')]: `0x30 stale _x29 0x18 ${80 * 60}x20`,
      [backup('tidegauge_backup_interval_seconds')]: '300x30 stale _x29 300x40',
    },
    quietAt: 69,
    firesAt: 72,
    clearedAt: 82,
    // Each backup begins when the one before is two intervals old.
    edge: {
      [backup('tidegauge_backup_last_timestamp_seconds')]:
        `0x10 ${[1, 2, 3, 4, 5, 6, 7].map((count) => `${count * 600}x9`).join(' ')}`,
      [backup('tidegauge_backup_interval_seconds')]: '300x100',
    },
  },
  level('TidegaugeMqttDisconnected', ingest('tidegauge_mqtt_connected'), { well: 1, bad: 0, edge: 1 }, 14),
  level('TidegaugeBrokerUnreachable', broker('mosquitto_up'), { well: 1, bad: 0, edge: 1 }, 14),
  {
    alert: 'TidegaugeBrokerDropping',
    intervalSeconds: 15,
    fault: { [broker('mosquitto_publish_dropped_total')]: '0x9 30x120' },
    quietAt: 9,
    firesAt: 11,
    clearedAt: 40,
    first: { ...started('broker', 'broker:9465'), [broker('mosquitto_publish_dropped_total')]: '_x9 30x120' },
    // Prometheus could not reach the exporter for ten minutes.
    edge: {
      'up{job="broker",instance="broker:9465"}': '1x20 0x40 1x98',
      [broker('process_start_time_seconds')]: '-86400x20 stale _x39 -86400x98',
      [broker('mosquitto_publish_dropped_total')]: '30x20 stale _x39 30x98',
    },
  },
  level(
    'TidegaugeBrokerQueueLong',
    broker('mosquitto_stored_messages'),
    { well: 60, bad: limit.brokerQueuedMessages + 1, edge: limit.brokerQueuedMessages },
    18,
  ),
  {
    alert: 'TidegaugeReplicaDown',
    intervalSeconds: 15,
    fault: { 'up{job="api",instance="api:8080"}': spell(1, 0) },
    quietAt: 12,
    firesAt: 14,
    clearedAt: 72,
    // A restart that takes 45 s, and a job that is not Tidegauge's.
    edge: {
      'up{job="api",instance="api:8080"}': '1x9 0x2 1x100',
      'up{job="elsewhere",instance="x"}': steady(0),
    },
  },
  {
    // One of two replicas leaves the list of targets, and comes back under another address.
    alert: 'TidegaugeReplicaGone',
    intervalSeconds: 15,
    fault: {
      'up{job="ingest",instance="10.0.1.2:9464"}': steady(1),
      'up{job="ingest",instance="10.0.1.3:9464"}': '1x9 stale',
      'up{job="ingest",instance="10.0.1.9:9464"}': '_x70 1x58',
    },
    quietAt: 16,
    firesAt: 20,
    clearedAt: 72,
    edge: {
      'up{job="ingest",instance="10.0.1.2:9464"}': steady(1),
      'up{job="ingest",instance="10.0.1.3:9464"}': '1x9 stale',
      'up{job="ingest",instance="10.0.1.9:9464"}': '_x15 1x100',
    },
  },
  {
    alert: 'TidegaugeApiErrors',
    intervalSeconds: 15,
    fault: requests('0+100x200', '0x9 30+30x79 2400x100'),
    quietAt: 20,
    firesAt: 40,
    clearedAt: 120,
    edge: requests('0+95x200', '0+5x200'),
  },
  {
    // A worker ends every 30 s for 15 minutes. At the edge two end in that time.
    alert: 'TidegaugeApiWorkersEnding',
    intervalSeconds: 15,
    fault: { [api('tidegauge_worker_exits_total')]: '0x9 1+0.5x59 31x140' },
    quietAt: 17,
    firesAt: 24,
    clearedAt: 140,
    edge: { [api('tidegauge_worker_exits_total')]: '0x9 1x59 2x90' },
  },
  level(
    'TidegaugeSensorClockAhead',
    ingest('tidegauge_clock_skew_seconds'),
    { well: 0, bad: limit.clockLeadSeconds + 1, edge: limit.clockLeadSeconds },
    14,
    130,
  ),
  {
    // promtool starts at time 0. The certificate is renewed at sample 70; at the edge it is valid just long enough.
    alert: 'TidegaugeCertificateExpiring',
    intervalSeconds: 15,
    fault: {
      [api('tidegauge_certificate_expiry_timestamp_seconds')]:
        `${2 * limit.certificateDays * DAY_SECONDS}x9 ${limit.certificateDays * DAY_SECONDS}x59 ${800 * DAY_SECONDS}x90`,
    },
    quietAt: 12,
    firesAt: 14,
    clearedAt: 72,
    edge: {
      [api('tidegauge_certificate_expiry_timestamp_seconds')]: steady(
        limit.certificateDays * DAY_SECONDS + 160 * 15,
      ),
    },
  },
  {
    alert: 'TidegaugeBoardClockWrong',
    intervalSeconds: 15,
    fault: {
      ...PI1,
      [node('node_timex_sync_status')]: spell(1, 0),
      [node('node_timex_offset_seconds')]: steady(0),
    },
    quietAt: 49,
    firesAt: 51,
    clearedAt: 72,
    edge: {
      ...PI1,
      [node('node_timex_sync_status')]: steady(1),
      [node('node_timex_offset_seconds')]: steady(limit.boardClockOffsetSeconds),
    },
  },
  level(
    'TidegaugeBoardHot',
    node('node_thermal_zone_temp', ',zone="0",type="cpu-thermal"'),
    { well: 55, bad: limit.boardCelsius, edge: limit.boardCelsius - 0.1 },
    18,
  ),
  {
    alert: 'TidegaugeBoardUndervolted',
    intervalSeconds: 15,
    fault: {
      ...PI1,
      [node('node_hwmon_in_lcrit_alarm_volts', ',chip="rpi_volt",sensor="in0"')]: spell(0, 1),
    },
    quietAt: 9,
    firesAt: 10,
    clearedAt: 72,
    edge: { ...PI1, [node('node_hwmon_in_lcrit_alarm_volts', ',chip="rpi_volt",sensor="in0"')]: steady(0) },
  },
  {
    // 0.02 GB a minute is 1.2 GB an hour: 15 GB last for half a day. Then files are deleted.
    alert: 'TidegaugeDiskFullSoon',
    intervalSeconds: 60,
    fault: {
      ...PI1,
      [node('node_filesystem_avail_bytes', DISK)]: `${15 * GB}-${0.02 * GB}x99 ${28 * GB}x60`,
      [node('node_filesystem_size_bytes', DISK)]: steady(32 * GB),
    },
    quietAt: 58,
    firesAt: 63,
    clearedAt: 110,
    // The disk would be full after a week.
    edge: {
      ...PI1,
      [node('node_filesystem_avail_bytes', DISK)]: `${15 * GB}-${0.0015 * GB}x159`,
      [node('node_filesystem_size_bytes', DISK)]: steady(32 * GB),
    },
  },
  {
    alert: 'TidegaugeDiskNearlyFull',
    intervalSeconds: 15,
    fault: {
      ...PI1,
      [node('node_filesystem_avail_bytes', DISK)]: spell(20 * GB, 3.1 * GB),
      [node('node_filesystem_size_bytes', DISK)]: steady(32 * GB),
    },
    quietAt: 29,
    firesAt: 31,
    clearedAt: 72,
    edge: {
      ...PI1,
      [node('node_filesystem_avail_bytes', DISK)]: steady(limit.diskFreeRatio * 32 * GB),
      [node('node_filesystem_size_bytes', DISK)]: steady(32 * GB),
    },
  },
  {
    alert: 'TidegaugeBoardMemoryLow',
    intervalSeconds: 15,
    fault: {
      ...PI1,
      [node('node_memory_MemAvailable_bytes')]: spell(0.5 * GB, 0.04 * GB),
      [node('node_memory_MemTotal_bytes')]: steady(GB),
    },
    quietAt: 29,
    firesAt: 31,
    clearedAt: 72,
    edge: {
      ...PI1,
      [node('node_memory_MemAvailable_bytes')]: steady(limit.memoryFreeRatio * GB),
      [node('node_memory_MemTotal_bytes')]: steady(GB),
    },
  },
];

/** A spool with a limit of 1 GB. */
function spool(bytes: string): Series {
  return {
    [ingest('tidegauge_spool_bytes')]: bytes,
    [ingest('tidegauge_spool_limit_bytes')]: steady(GB),
  };
}

/** All counts of ingest's ledger except the received ones: 26 readings that are not stored, and two more per sample. */
function books({ stored }: { readonly stored: string }): Series {
  return {
    [ingest('tidegauge_readings_stored_total', ',backend="sqlite"')]: stored,
    [ingest('tidegauge_readings_duplicate_total')]: '10+1x129',
    [ingest('tidegauge_readings_filtered_total')]: steady(0),
    [ingest('tidegauge_readings_quarantined_total', ',reason="malformed"')]: '6+1x129',
    [ingest('tidegauge_spool_readings')]: steady(0),
    [ingest('tidegauge_in_flight_readings')]: steady(10),
  };
}

/** The stage `store` with 100 readings per sample. Readings that are in none of the given buckets took up to 5 s. */
function buckets(given: Series): Series {
  const all = { ...given, '5': '0+100x200', '+Inf': '0+100x200' };
  return Object.fromEntries(
    Object.entries(all).map(([le, values]) => [
      ingest('tidegauge_stage_seconds_bucket', `,stage="store",le="${le}"`),
      values,
    ]),
  );
}

function requests(fine: string, failed: string): Series {
  const series = (status: number) =>
    `tidegauge_http_request_seconds_count{job="api",instance="api:8080",method="GET",route="/v1/readings",status="${status}"}`;
  return { [series(200)]: fine, [series(503)]: failed };
}
