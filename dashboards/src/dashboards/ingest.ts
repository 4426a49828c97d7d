import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import {
  bucketRates,
  CHOSEN,
  count,
  DAYS,
  events,
  heat,
  lines,
  MESSAGES_PER_SECOND,
  ofProcesses,
  orZero,
  quantile,
  RATE,
  READINGS_PER_SECOND,
  rate,
} from '../panels.ts';
import { eventsIn } from '../promql.ts';

const { thresholds: limit } = CONFIG;

const STAGES: Readonly<Record<string, string>> = {
  travel:
    'From the time stamp to ingest. If it is long, the network is slow, or the clock of a sensor is behind.',
  queue:
    'Waiting for a writer. If it is long, the store is the bottleneck: see the next panel and the dashboard Store.',
  store: 'In the store, until the commit. If it is long, see the dashboards Store and Boards.',
  ack: 'From the commit to the acknowledgement. If it is long, the process needs more CPU: see "CPU" below.',
  end_to_end: 'From the time stamp to the commit. If it is long, find the stage that is long too.',
};

export const ingest = dashboard({
  uid: 'tidegauge-ingest',
  title: 'Tidegauge / Ingest and API',
  description: 'Rate, errors and duration of ingest and of the API, and the resources that they use.',
  // Not of other programs on Node.js.
  chosenFrom: 'tidegauge_board_info',
  closed: /^(Duration|Batches|Processes)/,
  variables: { backend: 'tidegauge_store_seconds_count' },
  rows: {
    'Rate and errors': [
      lines({
        title: 'Messages by route',
        description:
          'MQTT messages per second. If a route is at 0, its sensors are off, or their topic changed.',
        unit: MESSAGES_PER_SECOND,
        queries: { '{{route}}': rate('tidegauge_messages_received_total', 'route') },
      }),
      lines({
        title: 'Readings stored by backend',
        description:
          'Readings per second. If far fewer are stored than received, see "Age of the oldest waiting reading".',
        unit: READINGS_PER_SECOND,
        queries: {
          '{{backend}}': rate('tidegauge_readings_stored_total', 'backend', ', backend=~"$backend"'),
          received: rate('tidegauge_readings_received_total'),
        },
      }),
      events({
        title: 'Quarantined readings by reason',
        description:
          'Readings in each interval. Read GET /v1/quarantine?reason=…, fix the sensor or the route, then replay.',
        unit: 'short',
        queries: {
          '{{reason}}': orZero(count('tidegauge_readings_quarantined_total', 'reason'), { reason: 'none' }),
        },
      }),
    ],
    'Shares that alerts watch': [
      lines({
        title: 'Share of readings in quarantine',
        description: 'Over five minutes. The panel "Quarantined readings by reason" shows why.',
        unit: 'percentunit',
        width: 6,
        bad: limit.quarantinedRatio,
        queries: {
          '{{nodename}}': ofProcesses(
            `max by (instance) (instance:tidegauge_readings_quarantined:ratio_rate5m{${CHOSEN}})`,
          ),
        },
      }),
      lines({
        title: 'Share of store calls that fail',
        description: 'Over a minute. The dashboard Store shows the kinds of errors.',
        unit: 'percentunit',
        width: 6,
        bad: limit.storeErrorRatio,
        queries: {
          '{{backend}} {{nodename}}': orZero(
            ofProcesses(
              `max by (backend, instance) (instance_backend:tidegauge_store_errors:ratio_rate1m{${CHOSEN}})`,
            ),
            { backend: 'none' },
          ),
        },
      }),
      lines({
        title: 'Share of server errors',
        description: 'Status 5xx, over five minutes. The log of the API has the reasons.',
        unit: 'percentunit',
        width: 6,
        bad: limit.httpErrorRatio,
        queries: {
          '{{job}}': orZero(
            `sum by (job) (rate(tidegauge_http_request_seconds_count{${CHOSEN}, status=~"5.."}[${RATE}]))` +
              ` / sum by (job) (rate(tidegauge_http_request_seconds_count{${CHOSEN}}[${RATE}]))`,
            { job: 'none' },
          ),
        },
      }),
      lines({
        title: 'Used share of the spool',
        description:
          'At 1 ingest stops receiving, and messages wait in the broker. Fix the store before that.',
        unit: 'percentunit',
        width: 6,
        bad: limit.spoolRatio,
        queries: {
          '{{nodename}}': ofProcesses(
            `max by (instance) (tidegauge_spool_bytes{${CHOSEN}} / tidegauge_spool_limit_bytes{${CHOSEN}})`,
          ),
        },
      }),
    ],
    Duration: Object.entries(STAGES).map(([stage, description]) =>
      heat({
        title: `Stage ${stage}`,
        description,
        unit: 's',
        queries: { readings: bucketRates('tidegauge_stage_seconds', `, stage="${stage}"`) },
      }),
    ),
    'Batches and queue': [
      heat({
        title: 'Readings per write',
        description: 'Batches grow under load. If all have 5,000 readings, the store is at its limit.',
        unit: 'short',
        cells: 'ops',
        queries: { readings: bucketRates('tidegauge_batch_readings') },
      }),
      lines({
        title: 'Age of the oldest waiting reading',
        description:
          'Age of the oldest reading that is not stored. If it grows, see the dashboard Store. The broker queues newer messages.',
        unit: 's',
        bad: limit.oldestUnstoredSeconds,
        queries: {
          '{{nodename}}': ofProcesses(`max by (instance) (tidegauge_oldest_unstored_seconds{${CHOSEN}})`),
        },
      }),
      lines({
        title: 'Readings in flight',
        description:
          'Readings in memory. At MAX_IN_FLIGHT the broker has to wait, because the store is too slow.',
        unit: 'short',
        queries: {
          '{{nodename}}': ofProcesses(`sum by (instance) (tidegauge_in_flight_readings{${CHOSEN}})`),
        },
      }),
      lines({
        title: 'Spool size',
        description:
          'Bytes on the disk of ingest while the store is unavailable. Fix the store before the spool reaches its limit.',
        unit: 'bytes',
        queries: {
          '{{nodename}}': ofProcesses(`sum by (instance) (tidegauge_spool_bytes{${CHOSEN}})`),
          'limit of {{nodename}}': ofProcesses(`sum by (instance) (tidegauge_spool_limit_bytes{${CHOSEN}})`),
        },
      }),
      lines({
        title: 'Age of the spool',
        description:
          'Age of the oldest reading in the spool. If it grows while the store works, the replay is too slow.',
        unit: 's',
        queries: {
          '{{nodename}}': ofProcesses(`max by (instance) (tidegauge_spool_oldest_seconds{${CHOSEN}})`),
        },
      }),
      events({
        title: 'Reconnects to the broker',
        description:
          'Reconnects in each interval. If they are regular, check the network, the keep-alive, and that no other client uses the same client id.',
        unit: 'short',
        queries: {
          '{{nodename}}': ofProcesses(
            `sum by (instance) (${eventsIn('tidegauge_mqtt_reconnects_total', CHOSEN)})`,
          ),
        },
      }),
      lines({
        title: 'Age of the oldest message about an alert',
        description:
          'Messages of alert rules to a webhook or a topic that their receiver has not accepted. See the runbook TidegaugeAlertsUndelivered.',
        unit: 's',
        bad: limit.alertMessageSeconds,
        queries: {
          '{{channel}}': orZero(`max by (channel) (tidegauge_alert_messages_oldest_seconds{${CHOSEN}})`, {
            channel: 'none',
          }),
        },
      }),
    ],
    API: [
      lines({
        title: 'Requests by route',
        description: 'HTTP requests per second. If the rate jumps, the log of the API shows the clients.',
        unit: 'reqps',
        queries: { '{{method}} {{route}}': rate('tidegauge_http_request_seconds_count', 'method, route') },
      }),
      events({
        title: 'HTTP errors',
        description:
          'Answers in each interval. 4xx: a wrong request; the problem document has the reason. 5xx: a server error; the log has the reason.',
        unit: 'short',
        queries: {
          '{{status}} {{route}}': orZero(
            count('tidegauge_http_request_seconds_count', 'status, route', ', status=~"[45].."'),
            { status: 'none' },
          ),
        },
      }),
      lines({
        title: 'Ended API workers',
        description:
          'In 15 minutes. Only with API_WORKERS above 1: an ended worker is replaced, and its clients connect again. See the runbook TidegaugeApiWorkersEnding.',
        unit: 'short',
        bad: limit.workerExits,
        queries: {
          '{{nodename}}': orZero(
            ofProcesses(`round(max by (instance) (increase(tidegauge_worker_exits_total{${CHOSEN}}[15m])))`),
            { nodename: 'none' },
          ),
        },
      }),
      lines({
        title: 'Duration by route (p99)',
        description:
          'If a route is slow, its clients request a long time range without a limit, or the store is slow: see the dashboard Store.',
        unit: 's',
        log: true,
        queries: { '{{route}}': quantile(0.99, 'tidegauge_http_request_seconds', '', 'route') },
      }),
    ],
    Processes: [
      lines({
        title: 'CPU',
        description:
          'Used cores. A process uses one core at most. If ingest is near 1, run more replicas with SHARE_GROUP.',
        unit: 'short',
        queries: { '{{job}} {{nodename}}': ofProcesses(rate('process_cpu_seconds_total', 'job, instance')) },
      }),
      lines({
        title: 'Memory',
        description:
          'Resident memory. It has a limit: growth over days is a bug. See the memory limits in stacks/profiles.',
        unit: 'bytes',
        queries: {
          '{{job}} {{nodename}}': ofProcesses(
            `sum by (job, instance) (process_resident_memory_bytes{${CHOSEN}})`,
          ),
        },
      }),
      lines({
        title: 'Event loop lag (p99)',
        description:
          'How long work waits in the process, beyond the shortest interval of the measurement. If it stays above 0.1 s, the CPU is overloaded.',
        unit: 's',
        queries: {
          '{{job}} {{nodename}}': ofProcesses(
            // A scrape soon after another one finds no interval, and the least of none is 2^63 ns.
            `max by (job, instance) (clamp_min(nodejs_eventloop_lag_p99_seconds{${CHOSEN}}` +
              ` - nodejs_eventloop_lag_min_seconds{${CHOSEN}}, 0))`,
          ),
        },
      }),
      lines({
        title: 'Time until certificates expire',
        description:
          'In days. Renew them before that: see the runbook TidegaugeCertificateExpiring. There is no line without HTTPS.',
        unit: DAYS,
        badBelow: limit.certificateDays,
        queries: {
          '{{job}} {{nodename}}': ofProcesses(
            `(min by (job, instance) (tidegauge_certificate_expiry_timestamp_seconds{${CHOSEN}}) - time()) / 86400`,
          ),
        },
      }),
    ],
  },
});
