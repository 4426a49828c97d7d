import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import {
  CHOSEN,
  countLastHour,
  lines,
  newlyMissing,
  number,
  orZero,
  quantile,
  RATE,
  READINGS_PER_SECOND,
  rate,
  rateNow,
} from '../panels.ts';
import { onBoard } from '../promql.ts';
import { firingAlerts, tableOf } from '../tables.ts';

const { jobs, thresholds: limit } = CONFIG;
const JOBS = [jobs.ingest, jobs.api, jobs.broker, jobs.backup, jobs.node, ...jobs.stores].join('|');
const DISKS = ', fstype!~"tmpfs|ramfs|overlay|squashfs|vfat"';
const UP = { 0: 'down', 1: 'up' };
/** Jobs with fewer processes than in the last hour, as the alert TidegaugeReplicaGone finds them: a task that ended is no target. */
const COUNT = `sum by (job) (up{${CHOSEN}})`;
const MOST = `max_over_time(${COUNT}[1h:1m])`;
const GONE = `${MOST} unless on (job) (${COUNT} >= on (job) ${MOST})`;
const byBoard = (expression: string) => `max by (nodename) (${onBoard(expression, CHOSEN)})`;
const leastByBoard = (expression: string) => `min by (nodename) (${onBoard(expression, CHOSEN)})`;

export const overview = dashboard({
  uid: 'tidegauge-overview',
  title: 'Tidegauge / Overview',
  description: 'Is everything well? If not, the tables lead to the dashboard that shows why.',
  chosenFrom: 'up',
  chosenWhere: `job=~"${JOBS}"`,
  rows: {
    Now: [
      // First on a telephone, where each panel has its own line.
      firingAlerts(24, 8),
      number({
        title: 'Processes',
        description:
          'down: at least one process does not answer, or has ended. The table "Services" shows which.',
        unit: 'short',
        badBelow: 1,
        words: { 0: 'down', 1: 'all up' },
        queries: { up: `min(up{${CHOSEN}} or 0 * (${GONE}))` },
      }),
      number({
        title: 'Alerts',
        description: 'The number of alerts that fire. The table "Alerts firing" has them.',
        unit: 'short',
        bad: 1,
        queries: { firing: orZero('count(ALERTS{alertname=~"Tidegauge.*", alertstate="firing"})') },
      }),
      number({
        title: 'Stored',
        description: 'Readings per second. If it is 0 while sensors send, see the dashboard Live.',
        unit: READINGS_PER_SECOND,
        queries: { stored: rateNow('tidegauge_readings_stored_total') },
      }),
      number({
        title: 'Waiting for',
        description: 'Age of the oldest reading that is not stored. If it grows, see the dashboard Store.',
        unit: 's',
        bad: limit.oldestUnstoredSeconds,
        queries: { oldest: `max(tidegauge_oldest_unstored_seconds{${CHOSEN}})` },
      }),
      number({
        title: 'Missing in 15 minutes',
        description:
          'Readings that sensors numbered and ingest did not receive for two minutes, in the last 15 minutes, as the alert TidegaugeReadingsMissing counts them. See the dashboards Live and Broker.',
        unit: 'short',
        bad: 1,
        queries: { missing: newlyMissing() },
      }),
      number({
        title: 'Dropped in the last hour',
        description: 'Messages that the broker acknowledged and then dropped. See the dashboard Broker.',
        unit: 'short',
        bad: 1,
        // Sensors can connect to ingest itself.
        whenAbsent: 'No broker',
        queries: { dropped: countLastHour('mosquitto_publish_dropped_total') },
      }),
    ],
    Readings: [
      lines({
        title: 'Received and stored',
        description: 'If fewer are stored than received, readings wait: see the dashboard Ingest and API.',
        unit: READINGS_PER_SECOND,
        width: 12,
        queries: {
          received: rate('tidegauge_readings_received_total'),
          stored: rate('tidegauge_readings_stored_total'),
        },
      }),
      lines({
        title: 'From the sensor to the commit',
        description:
          'Time from the time stamp of the sensor to the commit. See "Stages" on the dashboard Live.',
        unit: 's',
        width: 12,
        log: true,
        queries: Object.fromEntries(
          [0.5, 0.99].map((q) => [
            `p${q * 100}`,
            quantile(q, 'tidegauge_stage_seconds', ', stage="end_to_end"'),
          ]),
        ),
      }),
    ],
    Details: [
      tableOf({
        title: 'Boards',
        description: 'Red: an alert fires when it lasts. A click on a board opens the dashboard Boards.',
        label: 'nodename',
        heading: 'Board',
        whenEmpty: 'No node exporter is scraped',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
        link: '/d/tidegauge-boards?${__url_time_range}&var-nodename=${__value.text:percentencode}',
        width: 24,
        columns: {
          CPU: {
            expr: byBoard(
              `1 - avg by (instance) (rate(node_cpu_seconds_total{${CHOSEN}, mode="idle"}[${RATE}]))`,
            ),
            unit: 'percentunit',
          },
          'Memory free': {
            expr: byBoard(
              `max by (instance) (node_memory_MemAvailable_bytes{${CHOSEN}})` +
                ` / max by (instance) (node_memory_MemTotal_bytes{${CHOSEN}})`,
            ),
            unit: 'percentunit',
            badBelow: limit.memoryFreeRatio,
          },
          'Disk free': {
            expr: leastByBoard(
              `min by (instance) (node_filesystem_avail_bytes{${CHOSEN}${DISKS}}` +
                ` / node_filesystem_size_bytes{${CHOSEN}${DISKS}})`,
            ),
            unit: 'percentunit',
            badBelow: limit.diskFreeRatio,
          },
          Temperature: {
            expr: byBoard(`max by (instance) (node_thermal_zone_temp{${CHOSEN}})`),
            unit: 'celsius',
            bad: limit.boardCelsius,
          },
          'Clock offset': {
            expr: byBoard(`max by (instance) (abs(node_timex_offset_seconds{${CHOSEN}}))`),
            unit: 's',
            bad: limit.boardClockOffsetSeconds,
          },
          'Clock in sync': {
            expr: leastByBoard(`min by (instance) (node_timex_sync_status{${CHOSEN}})`),
            unit: 'short',
            badBelow: 1,
            words: { 0: 'no', 1: 'yes' },
          },
        },
      }),
      tableOf({
        title: 'Stores',
        description: 'As ingest and the API measure them. A click on a store opens the dashboard Store.',
        label: 'backend',
        heading: 'Store',
        whenEmpty: 'No store has had a call',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
        link: '/d/tidegauge-store?${__url_time_range}&var-backend=${__value.text:percentencode}',
        width: 12,
        columns: {
          'Calls/s': { expr: rate('tidegauge_store_seconds_count', 'backend'), unit: 'short' },
          'Readings/s': { expr: rate('tidegauge_readings_stored_total', 'backend'), unit: 'short' },
          Failed: {
            expr:
              `max by (backend) (instance_backend:tidegauge_store_errors:ratio_rate1m{${CHOSEN}})` +
              // The ratio of no calls is no number, and the rule is recorded every 15 s.
              ` or 0 * ${rate('tidegauge_store_seconds_count', 'backend')}`,
            unit: 'percentunit',
            bad: limit.storeErrorRatio,
          },
          'Duration (p99)': {
            expr: quantile(0.99, 'tidegauge_store_seconds', '', 'backend'),
            unit: 's',
            bad: limit.storeSeconds,
          },
        },
      }),
      tableOf({
        title: 'Services',
        description:
          'Every process that Prometheus reads, by its job. A click opens the dashboard that shows the job.',
        label: 'job',
        heading: 'Job',
        hidden: 'dashboard',
        whenEmpty: 'No process is scraped',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
        link: '/d/${__data.fields.dashboard}?${__url_time_range}&var-job=${__value.text:percentencode}',
        width: 12,
        columns: {
          State: {
            expr: withDashboard(`min by (job) (up{${CHOSEN}} or 0 * (${GONE}))`),
            unit: 'short',
            badBelow: 1,
            words: UP,
          },
          Processes: { expr: `count by (job) (up{${CHOSEN}})`, unit: 'short' },
          CPU: { expr: rate('process_cpu_seconds_total', 'job'), unit: 'short' },
          Memory: { expr: `sum by (job) (process_resident_memory_bytes{${CHOSEN}})`, unit: 'bytes' },
          'Running for': {
            expr: `time() - max by (job) (process_start_time_seconds{${CHOSEN}})`,
            unit: 's',
          },
        },
      }),
    ],
  },
});

/** The values with the uid of the dashboard that has panels for their job, as the label `dashboard`. */
function withDashboard(expression: string): string {
  const others = {
    'tidegauge-broker': jobs.broker,
    'tidegauge-boards': jobs.node,
    'tidegauge-store': [jobs.backup, ...jobs.stores].join('|'),
  };
  return Object.entries(others).reduce(
    (inner, [uid, job]) => `label_replace(${inner}, "dashboard", "${uid}", "job", "${job}")`,
    `label_replace(${expression}, "dashboard", "tidegauge-ingest", "", "")`,
  );
}
