import { CONFIG, type WatchConfig } from './config.ts';
import { onBoard } from './promql.ts';

export interface Alert {
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  /** Seconds that the expression must hold before the alert fires. */
  readonly forSeconds: number;
  /** The same for every firing; ends with a period. */
  readonly summary: string;
  /** With this firing's labels and value. */
  readonly description: string;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DISKS = 'fstype!~"tmpfs|ramfs|overlay|squashfs|vfat"';

/**
 * Alerts are on what a user would notice (readings that wait, are lost, are refused; requests that fail), and on
 * the few causes that give notice days ahead (disks, clocks, heat, power). `critical` loses or will soon lose
 * readings; `warning` can wait for the morning. Each has a page in docs/runbooks.
 */
export function alerts({ jobs, thresholds: limit }: WatchConfig = CONFIG): readonly Alert[] {
  const ours = `job=~"${[jobs.ingest, jobs.api, jobs.broker].join('|')}"`;
  return [
    {
      name: 'TidegaugeReadingsWaiting',
      severity: 'critical',
      expr: `tidegauge_oldest_unstored_seconds > ${limit.oldestUnstoredSeconds}`,
      forSeconds: MINUTE,
      summary: 'Readings wait to be stored.',
      description: 'The oldest reading in {{ $labels.instance }} has waited {{ $value | humanizeDuration }}.',
    },
    {
      name: 'TidegaugeReadingsMissing',
      severity: 'critical',
      // What arrives late fills its gap; so the level is asked, not the counter of gaps ever opened.
      expr: 'tidegauge_ledger_missing_readings - min_over_time(tidegauge_ledger_missing_readings[15m]) > 0',
      forSeconds: 2 * MINUTE,
      summary: 'Sequence numbers of sensors were skipped and did not come.',
      description: '{{ $value }} readings went missing before {{ $labels.instance }} within 15 minutes.',
    },
    {
      name: 'TidegaugeLedgerUnbalanced',
      severity: 'critical',
      expr:
        'abs(sum by (job, instance) (tidegauge_readings_received_total)' +
        ' - sum by (job, instance) (tidegauge_readings_stored_total)' +
        ' - sum by (job, instance) (tidegauge_readings_duplicate_total)' +
        ' - sum by (job, instance) (tidegauge_readings_quarantined_total)' +
        ' - sum by (job, instance) (tidegauge_spool_readings)' +
        ' - sum by (job, instance) (tidegauge_in_flight_readings)) > 0',
      forSeconds: MINUTE,
      summary: 'What ingest received and where it says it is differ.',
      description: '{{ $value }} readings of {{ $labels.instance }} are accounted for nowhere.',
    },
    {
      name: 'TidegaugeReadingsQuarantined',
      severity: 'warning',
      expr: `instance:tidegauge_readings_quarantined:ratio_rate5m > ${limit.quarantinedRatio}`,
      forSeconds: 5 * MINUTE,
      summary: 'Many readings cannot be decoded or stored and go to quarantine.',
      description:
        '{{ $value | humanizePercentage }} of what {{ $labels.instance }} receives is quarantined.',
    },
    {
      name: 'TidegaugeSpoolFilling',
      severity: 'critical',
      expr: `tidegauge_spool_bytes / tidegauge_spool_limit_bytes > ${limit.spoolRatio}`,
      forSeconds: MINUTE,
      summary: 'The spool fills while the store is away or too slow.',
      description:
        '{{ $value | humanizePercentage }} of the spool of {{ $labels.instance }} is taken; full, ingest holds the broker back.',
    },
    {
      name: 'TidegaugeQuarantineDropping',
      severity: 'critical',
      expr: 'increase(tidegauge_quarantine_dropped_total[15m]) > 0',
      forSeconds: 0,
      summary: 'The quarantine is full and drops its oldest items.',
      description:
        'About {{ $value | humanize }} items of {{ $labels.instance }} were dropped in 15 minutes.',
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
      summary: 'The store takes long to commit.',
      description:
        'One reading in a hundred of {{ $labels.instance }} takes {{ $value | humanizeDuration }}.',
    },
    {
      name: 'TidegaugeMqttDisconnected',
      severity: 'critical',
      expr: 'tidegauge_mqtt_connected == 0',
      forSeconds: MINUTE,
      summary: 'Ingest has no session with the broker.',
      description: '{{ $labels.instance }} is not connected; the broker keeps its messages while it can.',
    },
    {
      name: 'TidegaugeBrokerUnreachable',
      severity: 'critical',
      expr: 'mosquitto_up == 0',
      forSeconds: MINUTE,
      summary: 'The broker does not answer.',
      description: 'The exporter {{ $labels.instance }} has no session with the broker.',
    },
    {
      name: 'TidegaugeBrokerDropping',
      severity: 'critical',
      expr: 'increase(mosquitto_publish_dropped_total[5m]) > 0',
      forSeconds: 0,
      summary: 'The broker drops messages that it has acknowledged.',
      description: 'About {{ $value | humanize }} messages were dropped within 5 minutes.',
    },
    {
      name: 'TidegaugeBrokerQueueLong',
      severity: 'warning',
      expr: `mosquitto_stored_messages > ${limit.brokerQueuedMessages}`,
      forSeconds: 2 * MINUTE,
      summary: 'Many messages wait in the broker.',
      description: '{{ $value | humanize }} messages wait; at its limit the broker drops without saying so.',
    },
    {
      name: 'TidegaugeReplicaDown',
      severity: 'critical',
      expr: `up{${ours}} == 0`,
      forSeconds: MINUTE,
      summary: 'A replica does not answer.',
      description: '{{ $labels.job }} on {{ $labels.instance }} cannot be scraped.',
    },
    {
      name: 'TidegaugeReplicaGone',
      severity: 'critical',
      // A task that ended leaves the DNS name, and with it the list of targets: nothing is left to be down.
      expr: `max_over_time(job:up:sum{${ours}}[1h]) unless on (job) (job:up:sum >= on (job) max_over_time(job:up:sum[1h]))`,
      forSeconds: 2 * MINUTE,
      summary: 'Fewer replicas run than within the last hour.',
      description: '{{ $labels.job }} had {{ $value }} replicas within the last hour and has fewer now.',
    },
    {
      name: 'TidegaugeApiErrors',
      severity: 'warning',
      expr: `job:tidegauge_http_errors:ratio_rate5m > ${limit.httpErrorRatio}`,
      forSeconds: 5 * MINUTE,
      summary: 'The API answers with errors of its own.',
      description: '{{ $value | humanizePercentage }} of the requests to {{ $labels.job }} end with 5xx.',
    },
    {
      name: 'TidegaugeSensorClockAhead',
      severity: 'warning',
      // The gauge holds the lead since the last scrape; a sensor may report only every few minutes.
      expr: `max_over_time(tidegauge_clock_skew_seconds[15m]) > ${limit.clockLeadSeconds}`,
      forSeconds: MINUTE,
      summary: 'A sensor says times that are yet to come.',
      description: 'A sensor of {{ $labels.instance }} is {{ $value | humanizeDuration }} ahead.',
    },
    {
      name: 'TidegaugeBoardClockWrong',
      severity: 'warning',
      expr: onBoard(
        `node_timex_sync_status == 0 or abs(node_timex_offset_seconds) > ${limit.boardClockOffsetSeconds}`,
      ),
      forSeconds: 10 * MINUTE,
      summary: 'The clock of a board is not kept by NTP, or is off.',
      description: 'The clock of {{ $labels.nodename }} cannot be trusted.',
    },
    {
      name: 'TidegaugeBoardHot',
      severity: 'warning',
      expr: onBoard(`max by (job, instance) (node_thermal_zone_temp) >= ${limit.boardCelsius}`),
      forSeconds: 2 * MINUTE,
      summary: 'A board is so hot that it lowers its clock.',
      description: '{{ $labels.nodename }} is at {{ $value }} degrees Celsius.',
    },
    {
      name: 'TidegaugeBoardUndervolted',
      severity: 'warning',
      expr: onBoard('max by (job, instance) (node_hwmon_in_lcrit_alarm_volts) > 0'),
      forSeconds: 0,
      summary: 'A board has too little voltage, and lowers its clock.',
      description: '{{ $labels.nodename }} says that its supply is too weak; SD cards suffer first.',
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
        '{{ $labels.mountpoint }} of {{ $labels.nodename }} fills; see when on the dashboard Boards.',
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
