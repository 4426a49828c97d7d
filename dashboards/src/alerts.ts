import { CONFIG, type WatchConfig } from './config.ts';
import { countedIn, onBoard } from './promql.ts';

export interface Alert {
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  /** How long the expression must hold before the alert fires, in seconds. */
  readonly forSeconds: number;
  /** One sentence without labels or values. */
  readonly summary: string;
  /** One sentence with the labels and the value of the alert. */
  readonly description: string;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DISKS = 'fstype!~"tmpfs|ramfs|overlay|squashfs|vfat"';

/**
 * Alerts report what a user notices (readings that wait, are lost or are refused; requests that fail), and a few causes
 * that can be seen days before they do harm (disks, clocks, heat, power, certificates). `critical`: readings are lost,
 * or will be soon. `warning`: it can wait until the morning. Each alert has a runbook in docs/runbooks.
 */
export function alerts({ jobs, thresholds: limit }: WatchConfig = CONFIG): readonly Alert[] {
  const ours = `job=~"${[jobs.ingest, jobs.api, jobs.broker, jobs.backup].join('|')}"`;
  return [
    {
      name: 'TidegaugeReadingsWaiting',
      severity: 'critical',
      expr: `tidegauge_oldest_unstored_seconds > ${limit.oldestUnstoredSeconds}`,
      forSeconds: MINUTE,
      summary: 'Readings wait too long for the store.',
      description:
        'The oldest reading in {{ $labels.instance }} has waited for {{ $value | humanizeDuration }}.',
    },
    {
      name: 'TidegaugeReadingsMissing',
      severity: 'critical',
      // A late reading closes its gap. So the rule uses the number of open gaps, not the counter of all gaps.
      expr: 'tidegauge_ledger_missing_readings - min_over_time(tidegauge_ledger_missing_readings[15m]) > 0',
      forSeconds: 2 * MINUTE,
      summary: 'Readings of a sensor did not arrive.',
      description:
        '{{ $labels.instance }} has not received {{ $value }} readings of the last 15 minutes: their sequence numbers are missing.',
    },
    {
      name: 'TidegaugeLedgerUnbalanced',
      severity: 'critical',
      expr:
        'abs(sum by (job, instance) (tidegauge_readings_received_total)' +
        ' - sum by (job, instance) (tidegauge_readings_stored_total)' +
        ' - sum by (job, instance) (tidegauge_readings_duplicate_total)' +
        ' - sum by (job, instance) (tidegauge_readings_filtered_total)' +
        ' - sum by (job, instance) (tidegauge_readings_quarantined_total)' +
        ' - sum by (job, instance) (tidegauge_spool_readings)' +
        ' - sum by (job, instance) (tidegauge_in_flight_readings)) > 0',
      forSeconds: MINUTE,
      summary: 'The counts of ingest do not add up.',
      description: '{{ $labels.instance }} received {{ $value }} readings that are in no other count.',
    },
    {
      name: 'TidegaugeReadingsQuarantined',
      severity: 'warning',
      expr: `instance:tidegauge_readings_quarantined:ratio_rate5m > ${limit.quarantinedRatio}`,
      forSeconds: 5 * MINUTE,
      summary: 'Many readings are quarantined because they cannot be decoded or stored.',
      description:
        '{{ $labels.instance }} quarantines {{ $value | humanizePercentage }} of the readings that it receives.',
    },
    {
      name: 'TidegaugeRoutesStale',
      severity: 'warning',
      expr: 'tidegauge_routes_stale > 0',
      forSeconds: 5 * MINUTE,
      summary: 'Ingest does not use its routes file, because the file has a mistake.',
      description: 'The routes that {{ $labels.instance }} uses are not those of its routes file.',
    },
    {
      name: 'TidegaugeSensorAlert',
      severity: 'warning',
      expr: 'max by (job, rule) (tidegauge_alerts_active{severity="warning"}) > 0',
      forSeconds: 0,
      summary: 'Sensors are quiet, or their values left the range of a rule with the severity warning.',
      description: 'The rule {{ $labels.rule }} has {{ $value }} active alerts. The live page lists them.',
    },
    {
      name: 'TidegaugeSensorAlertCritical',
      severity: 'critical',
      expr: 'max by (job, rule) (tidegauge_alerts_active{severity="critical"}) > 0',
      forSeconds: 0,
      summary: 'Sensors are quiet, or their values left the range of a rule with the severity critical.',
      description: 'The rule {{ $labels.rule }} has {{ $value }} active alerts. The live page lists them.',
    },
    {
      name: 'TidegaugeAlertRulesStale',
      severity: 'warning',
      expr: 'tidegauge_alert_rules_stale > 0',
      forSeconds: 5 * MINUTE,
      summary: 'Ingest does not use its file of alert rules, because the file has a mistake.',
      description: 'The alert rules that {{ $labels.instance }} uses are not those of its file.',
    },
    {
      name: 'TidegaugeAlertsFailing',
      severity: 'warning',
      expr: 'tidegauge_alerts_state_failing > 0',
      forSeconds: 5 * MINUTE,
      summary: 'Ingest cannot read or keep the state of alerts in the store.',
      description:
        '{{ $labels.instance }} evaluates no alert rules, or would raise alerts again after a restart.',
    },
    {
      name: 'TidegaugeAlertsUndelivered',
      severity: 'warning',
      expr: `tidegauge_alert_messages_oldest_seconds > ${limit.alertMessageSeconds}`,
      forSeconds: MINUTE,
      summary: 'Messages about alerts do not reach their receiver.',
      description:
        'The oldest message of {{ $labels.instance }} to {{ $labels.channel }} has waited for {{ $value | humanizeDuration }}.',
    },
    {
      name: 'TidegaugeSpoolFilling',
      severity: 'critical',
      expr: `tidegauge_spool_bytes / tidegauge_spool_limit_bytes > ${limit.spoolRatio}`,
      forSeconds: MINUTE,
      summary: 'The spool fills because the store is unavailable or too slow.',
      description:
        'The spool of {{ $labels.instance }} is {{ $value | humanizePercentage }} full. When it is full, ingest stops receiving and messages wait in the broker.',
    },
    {
      name: 'TidegaugeRelayBoardLost',
      severity: 'warning',
      expr: 'tidegauge_relay_boards_lost > 0',
      forSeconds: MINUTE,
      summary: 'A board that relays to a centre has no contact with it.',
      description: '{{ $labels.instance }} has no contact with {{ $value }} boards.',
    },
    {
      name: 'TidegaugeRelayFailing',
      severity: 'warning',
      expr: 'tidegauge_relay_failing_centres > 0',
      forSeconds: 5 * MINUTE,
      summary: 'A board cannot send its readings to a centre.',
      description:
        '{{ $value }} centres of {{ $labels.instance }} do not take its readings, which wait on its disk.',
    },
    {
      name: 'TidegaugeRelayUnequal',
      severity: 'warning',
      expr: 'tidegauge_relay_unequal_days > 0',
      forSeconds: MINUTE,
      summary: 'Readings of a board differ from those of its centre.',
      description:
        '{{ $value }} days of devices of {{ $labels.instance }} differ from its centre after they were sent again.',
    },
    {
      name: 'TidegaugeQuarantineDropping',
      severity: 'critical',
      expr: `(${countedIn('tidegauge_quarantine_dropped_total', 15 * MINUTE)}) > 0`,
      forSeconds: 0,
      summary: 'The quarantine is full and deletes its oldest messages.',
      description:
        'The quarantine of {{ $labels.instance }} deleted about {{ $value | humanize }} messages in 15 minutes.',
    },
    {
      name: 'TidegaugeStoreErrors',
      severity: 'critical',
      expr: `instance_backend:tidegauge_store_errors:ratio_rate1m > ${limit.storeErrorRatio}`,
      forSeconds: 2 * MINUTE,
      summary: 'Calls to the store fail.',
      description:
        '{{ $value | humanizePercentage }} of the calls of {{ $labels.instance }} to {{ $labels.backend }} fail.',
    },
    {
      name: 'TidegaugeStoreSlow',
      severity: 'warning',
      expr: `instance_stage:tidegauge_stage_seconds:p99_rate5m{stage="store"} > ${limit.storeSeconds}`,
      forSeconds: 10 * MINUTE,
      summary: 'The store commits slowly.',
      description:
        'One reading in a hundred of {{ $labels.instance }} waits at least {{ $value | humanizeDuration }} for its commit.',
    },
    {
      name: 'TidegaugeRollupsOverdue',
      severity: 'warning',
      expr: `max by (job) (tidegauge_rollup_overdue_seconds) > ${limit.rollupOverdueSeconds}`,
      forSeconds: 10 * MINUTE,
      summary: 'Rollups are not computed, or too slowly.',
      description:
        'The oldest hour that is not in rollups could have been computed {{ $value | humanizeDuration }} ago.',
    },
    {
      name: 'TidegaugeBackupFailing',
      severity: 'warning',
      // A failure is followed by another attempt within 15 minutes. So at least two attempts have failed.
      expr: 'max by (job) (tidegauge_backup_failing) > 0',
      forSeconds: 20 * MINUTE,
      summary: 'Backups of the store fail.',
      description: 'The last attempts of {{ $labels.job }} to make a backup failed.',
    },
    {
      name: 'TidegaugeBackupOverdue',
      severity: 'warning',
      // The last hour counts, so that a service that ends and starts again and again does not reset the alert.
      expr:
        'time() - max by (job) (max_over_time(tidegauge_backup_last_timestamp_seconds[1h]))' +
        ` > ${limit.backupIntervals} * max by (job) (max_over_time(tidegauge_backup_interval_seconds[1h]))`,
      // The first backup of a large store takes a while.
      forSeconds: HOUR,
      summary: 'There is no recent backup of the store.',
      description: 'The newest complete backup began {{ $value | humanizeDuration }} ago.',
    },
    {
      name: 'TidegaugeMqttDisconnected',
      severity: 'critical',
      expr: 'tidegauge_mqtt_connected == 0',
      forSeconds: MINUTE,
      summary: 'Ingest is not connected to the broker.',
      description: '{{ $labels.instance }} is not connected. The broker queues its messages up to a limit.',
    },
    {
      name: 'TidegaugeBrokerUnreachable',
      severity: 'critical',
      expr: 'mosquitto_up == 0',
      forSeconds: MINUTE,
      summary: 'The broker is unreachable.',
      description: 'The exporter {{ $labels.instance }} cannot connect to the broker.',
    },
    {
      name: 'TidegaugeBrokerDropping',
      severity: 'critical',
      expr: `(${countedIn('mosquitto_publish_dropped_total', 5 * MINUTE)}) > 0`,
      forSeconds: 0,
      summary: 'The broker drops messages that it has acknowledged.',
      description: 'The broker dropped about {{ $value | humanize }} messages in 5 minutes.',
    },
    {
      name: 'TidegaugeBrokerQueueLong',
      severity: 'warning',
      expr: `mosquitto_stored_messages > ${limit.brokerQueuedMessages}`,
      forSeconds: 2 * MINUTE,
      summary: 'Many messages wait in the broker.',
      description:
        '{{ $value | humanize }} messages wait. At its limit the broker drops messages and reports no error.',
    },
    {
      name: 'TidegaugeReplicaDown',
      severity: 'critical',
      expr: `up{${ours}} == 0`,
      forSeconds: MINUTE,
      summary: 'A replica is down.',
      description: 'Prometheus cannot scrape {{ $labels.job }} on {{ $labels.instance }}.',
    },
    {
      name: 'TidegaugeReplicaGone',
      severity: 'critical',
      // A task that ends leaves the DNS name and so the list of targets. No target remains that could be down.
      expr: `max_over_time(job:up:sum{${ours}}[1h]) unless on (job) (job:up:sum >= on (job) max_over_time(job:up:sum[1h]))`,
      forSeconds: 2 * MINUTE,
      summary: 'A service has fewer replicas than in the last hour.',
      description: '{{ $labels.job }} had {{ $value }} replicas in the last hour and has fewer now.',
    },
    {
      name: 'TidegaugeApiErrors',
      severity: 'warning',
      expr: `job:tidegauge_http_errors:ratio_rate5m > ${limit.httpErrorRatio}`,
      forSeconds: 5 * MINUTE,
      summary: 'The API answers with server errors.',
      description:
        '{{ $value | humanizePercentage }} of the requests to {{ $labels.job }} end with a status of 5xx.',
    },
    {
      name: 'TidegaugeApiWorkersEnding',
      severity: 'warning',
      // A worker that ends once is replaced, and its clients connect again.
      expr: `(${countedIn('tidegauge_worker_exits_total', 15 * MINUTE)}) > ${limit.workerExits}`,
      forSeconds: MINUTE,
      summary: 'Worker processes of the API end again and again.',
      description:
        '{{ $value | humanize }} worker processes of {{ $labels.instance }} ended in the last 15 minutes.',
    },
    {
      name: 'TidegaugeCertificateExpiring',
      severity: 'warning',
      expr: `tidegauge_certificate_expiry_timestamp_seconds - time() < ${limit.certificateDays} * 86400`,
      forSeconds: MINUTE,
      summary: 'A certificate expires soon.',
      description: 'The certificate of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}.',
    },
    {
      name: 'TidegaugeSensorClockAhead',
      severity: 'warning',
      // The gauge holds the largest lead since the last scrape. A sensor may publish only every few minutes.
      expr: `max_over_time(tidegauge_clock_skew_seconds[15m]) > ${limit.clockLeadSeconds}`,
      forSeconds: MINUTE,
      summary: 'The clock of a sensor is ahead.',
      description:
        'A sensor of {{ $labels.instance }} sends times that are {{ $value | humanizeDuration }} in the future.',
    },
    {
      name: 'TidegaugeBoardClockWrong',
      severity: 'warning',
      expr: onBoard(
        `node_timex_sync_status == 0 or abs(node_timex_offset_seconds) > ${limit.boardClockOffsetSeconds}`,
      ),
      forSeconds: 10 * MINUTE,
      summary: 'The clock of a board is wrong or not synchronized.',
      description:
        'The clock of {{ $labels.nodename }} is not synchronized by NTP, or its offset is too large.',
    },
    {
      name: 'TidegaugeBoardHot',
      severity: 'warning',
      expr: onBoard(`max by (job, instance) (node_thermal_zone_temp) >= ${limit.boardCelsius}`),
      forSeconds: 2 * MINUTE,
      summary: 'A board is so hot that its CPU slows down.',
      description: '{{ $labels.nodename }} is at {{ $value }} degrees Celsius.',
    },
    {
      name: 'TidegaugeBoardUndervolted',
      severity: 'warning',
      expr: onBoard('max by (job, instance) (node_hwmon_in_lcrit_alarm_volts) > 0'),
      forSeconds: 0,
      summary: 'A board has too little voltage, so its CPU slows down.',
      description: '{{ $labels.nodename }} measures too little voltage. Its SD card can be damaged.',
    },
    {
      name: 'TidegaugeDiskFullSoon',
      severity: 'warning',
      expr: onBoard(
        `predict_linear(node_filesystem_avail_bytes{${DISKS}}[6h], ${limit.diskFullDays} * 86400) < 0` +
          ` and node_filesystem_avail_bytes / node_filesystem_size_bytes < 0.5`,
      ),
      forSeconds: HOUR,
      summary: `A disk will be full within ${limit.diskFullDays} days.`,
      description:
        '{{ $labels.mountpoint }} of {{ $labels.nodename }} fills. The dashboard Boards shows the time that is left.',
    },
    {
      name: 'TidegaugeDiskNearlyFull',
      severity: 'critical',
      expr: onBoard(
        `node_filesystem_avail_bytes{${DISKS}} / node_filesystem_size_bytes{${DISKS}}` +
          ` < ${limit.diskFreeRatio}`,
      ),
      forSeconds: 5 * MINUTE,
      summary: 'A disk is nearly full.',
      description:
        '{{ $value | humanizePercentage }} of {{ $labels.mountpoint }} on {{ $labels.nodename }} is free.',
    },
    {
      name: 'TidegaugeBoardMemoryLow',
      severity: 'warning',
      expr: onBoard(`node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes < ${limit.memoryFreeRatio}`),
      forSeconds: 5 * MINUTE,
      summary: 'A board has little memory left.',
      description: '{{ $value | humanizePercentage }} of the memory of {{ $labels.nodename }} is available.',
    },
  ];
}
